"""How every chart looks: for a paper's column, in colours that the colour-blind and a grey printer can tell apart.

Figures are drawn in the light colours below. Each is used for one thing only, so that ``files`` can replace it by
the page's variable of that name. Colours: Okabe & Ito (2008), "Color Universal Design"; settings also differ by marker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.reporting.charts.names import short
from runner.reporting.summary import REHEARSAL

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Dashes = tuple[float, tuple[float, ...]]

INK, DIM, LINE, PAPER, WARN = "#1c1e21", "#5d636b", "#d8dce1", "#fffffe", "#7a4b00"
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
VARIABLES = {INK: "--ink", DIM: "--dim", LINE: "--line", PAPER: "--paper", WARN: "--warn"} | {
    colour: f"--c{number}" for number, colour in enumerate(SERIES, 1)
}
"""The page's name of each colour."""

WIDTH = 6.5
SMALL = 7.0
_MARKERS = "osD^vP"
SOLID: Dashes = (0, ())
_DASHES: tuple[Dashes, ...] = (SOLID, (0, (5, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
_SETTINGS = ("p-conv", "p-nonconv", "np-conv", "np-nonconv", "none-conv", "none-nonconv")
_RULES = {
    "axes.edgecolor": DIM,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlesize": 8.5,
    "figure.facecolor": PAPER,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "legend.fontsize": SMALL + 0.5,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,  # a model's name may hold two dollar signs
    "xtick.color": DIM,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 7.5,
    "ytick.color": DIM,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8,
}


@dataclass(frozen=True, slots=True)
class Look:
    """How one setting is drawn, in every chart alike."""

    colour: str
    marker: str
    dashes: Dashes


@contextmanager
def drawing(**rules: str) -> Iterator[None]:
    """Inside, figures are made and written with our rules, whatever the reader's own matplotlib settings."""
    from matplotlib import rc_context, rcParamsDefault

    ours: dict[Any, Any] = {name: value for name, value in rcParamsDefault.items() if not name.startswith("backend")}
    ours |= {**_RULES, **rules}
    with rc_context(ours):
        yield


def looks(settings: Sequence[str]) -> dict[str, Look]:
    """A look per setting; one that is known has its own in every run, others take what is free."""
    free = [number for number, name in enumerate(_SETTINGS) if name not in settings] or [0]
    others = [name for name in settings if name not in _SETTINGS]
    number = {name: free[place % len(free)] for place, name in enumerate(others)}
    number |= {name: place for place, name in enumerate(_SETTINGS)}
    return {name: Look(SERIES[number[name]], _MARKERS[number[name]], _DASHES[number[name] % 4]) for name in settings}


def canvas(
    marks: Sequence[str],
    source: str,
    *,
    height: float,
    rows: int = 1,
    columns: int = 1,
    share_x: bool = False,
    share_y: bool = False,
    widths: Sequence[float] | None = None,
    heights: Sequence[float] | None = None,
) -> tuple[Figure, list[Axes]]:
    """An empty figure of ``height`` inches and its axes, row by row.

    ``marks`` (a rehearsal, a partial run) stand over it and lie across it, so that no crop of a saved file can pass
    for a result; ``source`` says under it where it comes from.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height))
    figure.set_layout_engine("constrained", w_pad=0.07, h_pad=0.05)
    grid = figure.subplots(
        rows, columns, sharex=share_x, sharey=share_y, squeeze=False, width_ratios=widths, height_ratios=heights
    )
    if marks:
        figure.suptitle(" · ".join(marks), x=0.02, ha="left", fontsize=9, fontweight="bold", color=WARN)
        figure.text(
            0.5,
            0.5,
            "REHEARSAL" if REHEARSAL in marks else "PARTIAL",
            fontsize=52,
            fontweight="bold",
            color=WARN,
            alpha=0.16,
            zorder=-1,
            ha="center",
            va="center",
            rotation=20,
            in_layout=False,
        )
    figure.supxlabel(short(source, 120), fontsize=6.5, color=DIM)
    return figure, [axes for row in grid for axes in row]


def rows_from_top(axes: Axes, labels: Sequence[str]) -> None:
    """A line of the y axis for each label, the first on top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def key(figure: Figure, handles: Sequence[Artist], columns: int = 6) -> None:
    """The legend, over the axes and out of their way, read line by line; the figure's marks become its title."""
    by_column = [handle for column in range(columns) for handle in handles[column::columns]]
    marks = figure.get_suptitle()
    figure.suptitle("")
    legend = figure.legend(
        handles=by_column, loc="outside upper left", ncols=columns, columnspacing=1.4, title=marks, alignment="left"
    )
    legend.get_title().set(fontsize=9, fontweight="bold", color=WARN)
