"""``python -m runner`` is ``persona-runner``."""

from runner.cli import main

main()
