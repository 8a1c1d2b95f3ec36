"""The file of ``--config``: the options of the command line in TOML or JSON, and the faults as a table."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any


def arguments(path: Path) -> list[str]:
    """What the file says as command-line arguments: ``seed = 7`` is ``--seed=7``, a list is one option each.

    ``faults`` is a table of name and rate. Raises ValueError with a sentence.
    """
    try:
        text = path.read_text(encoding="utf-8")
        raw = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} is no readable TOML or JSON file: {error}") from error
    if not isinstance(raw, dict):
        raise ValueError(f"{path} must hold a table of options")
    faults = raw.pop("faults", {})
    if not isinstance(faults, dict):
        raise ValueError(f"'faults' in {path} must be a table of names and rates")
    found = [f"--fault={name}:{rate}" for name, rate in faults.items()]
    for key, value in raw.items():
        found += [_argument(key, one) for one in (value if isinstance(value, list) else [value]) if one is not False]
    return found


def _argument(key: str, value: Any) -> str:
    name = "--" + key.replace("_", "-")
    return name if value is True else f"{name}={value}"
