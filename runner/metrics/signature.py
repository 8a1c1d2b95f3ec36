"""What produced a number, in one line that is printed beside it (the idea is sacrebleu's)."""

from __future__ import annotations

from importlib.metadata import version


def signature(name: str, by: str, **facts: str | int | float) -> str:
    """``name:…|by:…|fact:…``. ``by`` is ``own`` or the libraries with their versions (see ``library``)."""
    return "|".join(f"{key}:{value}" for key, value in {"name": name, "by": by, **facts}.items())


def library(*packages: str) -> str:
    """Installed packages with their versions, joined by ``+``: ``rouge-score 0.1.2+rapidfuzz 3.14.6``."""
    return "+".join(f"{package} {version(package)}" for package in packages)
