"""The published table, as printed, with what a reader has to know before comparing."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from runner.benchmarks.base import Published

_SETTINGS = ("p-conv", "p-nonconv")
_RADAR_MODEL = "GPT-4.1"


def published() -> Published:
    """All cells of the main table and the np-conv figures of one model, in the names of our metrics."""
    printed = tomllib.loads(files(__package__).joinpath("published.toml").read_text(encoding="utf-8"))
    return Published(printed["source"], printed["protocol"], tuple(_rows(printed)), tuple(printed["footnotes"]))


def _rows(printed: dict[str, Any]) -> Iterator[tuple[str, str, str, str, float]]:
    f1 = {model: name for name, models in printed["models"].items() for model in models}
    for task, metrics in printed["table"].items():
        for metric, models in metrics.items():
            for model, values in models.items():
                name = f1[model] if metric == "f1" else metric
                for setting, value in zip(_SETTINGS, values, strict=True):
                    yield model, task, setting, name, float(value)
    for task, metrics in printed["np_conv"].items():
        for metric, value in metrics.items():
            yield _RADAR_MODEL, task, "np-conv", metric, float(value)
