"""One chart: a figure with the words that belong to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Chart:
    """``name`` is the file's; ``caption`` says what is counted and how; ``alt`` tells it to who cannot see it."""

    name: str
    title: str
    caption: str
    alt: str
    figure: Figure
