"""The command ``persona-runner``, also ``python -m runner``."""

import sys


def main() -> None:
    """Run it. Loading takes a moment, and Ctrl-C in it is no error of ours either."""
    try:
        from runner.cli import main as begin
    except KeyboardInterrupt:
        print("Stopped; nothing had begun.", file=sys.stderr)
        sys.exit(130)
    begin()


if __name__ == "__main__":
    main()
