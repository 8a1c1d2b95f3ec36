"""A value with its interval, drawn the same in every chart: hollow where there is no interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.reporting.charts.style import DIM, PAPER, SOLID, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_SIZE = 5.0


def dot(
    axes: Axes, y: float, value: float | None, low: float | None, high: float | None, look: Look, size: float = _SIZE
) -> None:
    """Draw it on line ``y``; an undefined value draws nothing."""
    if value is None:
        return
    bounded = low is not None and high is not None
    if low is not None and high is not None:
        axes.plot([low, high], [y, y], color=look.colour, linewidth=1.5, solid_capstyle="butt", zorder=2)
    axes.plot(
        [value],
        [y],
        marker=look.marker,
        markersize=size,
        markerfacecolor=look.colour if bounded else PAPER,
        markeredgecolor=look.colour,
        linestyle="none",
        zorder=3,
    )


def said(axes: Axes, y: float, text: str, *, size: float = 7.0, dim: bool = False) -> None:
    """Words to the right of line ``y``, outside the axes."""
    shown = axes.text(1.02, y, text, transform=axes.get_yaxis_transform(), va="center", fontsize=size)
    if dim:
        shown.set_color(DIM)


def handle(label: str, look: Look, *, hollow: bool = False) -> Line2D:
    """Its entry in a legend."""
    from matplotlib.lines import Line2D

    face = PAPER if hollow else look.colour
    return Line2D(
        [], [], color=look.colour, marker=look.marker, markersize=_SIZE, markerfacecolor=face, label=label,
        linestyle="none" if hollow else "-",
    )  # fmt: skip


def hollow() -> Line2D:
    """The legend's entry for values without an interval."""
    return handle("no interval", Look(DIM, "o", SOLID), hollow=True)


def floor_mark(axes: Axes, y: float, value: float | None, half: float = 0.38) -> None:
    """A floor: a short dashed stroke across line ``y``."""
    if value is not None:
        axes.plot([value, value], [y - half, y + half], color=DIM, linestyle=(0, (2, 1.2)), linewidth=1.2, zorder=1)


def floor_handle(label: str) -> Line2D:
    """The legend's entry for floors."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=DIM, linestyle=(0, (2, 1.2)), linewidth=1.2, label=label)
