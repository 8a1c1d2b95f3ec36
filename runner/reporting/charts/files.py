"""A chart as part of a page, and as files for a paper. The same chart gives the same bytes."""

from __future__ import annotations

import re
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from runner.reporting.charts.chart import Chart
from runner.reporting.charts.style import VARIABLES, drawing

_DPI = 200
_FONTS = "system-ui, sans-serif"
_NO_DATES = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}, "png": {}}
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_NOT_ROUNDED = frozenset({"opacity", "fill-opacity", "stroke-opacity"})
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"


def save(chart: Chart, folder: Path) -> tuple[Path, ...]:
    """Write ``<name>.svg``, ``.png`` (200 dpi) and ``.pdf`` (fonts embedded), in light colours, without a date."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = tuple(folder / f"{chart.name}.{kind}" for kind in ("svg", "png", "pdf"))
    for path in paths:
        path.write_bytes(_written(chart, path.suffix[1:]))
    return paths


def inline_svg(chart: Chart) -> str:
    """An ``<svg>`` to stand inside HTML: scalable, with the page's colours (see ``style.VARIABLES``) and fonts.

    It refers to nothing outside itself, has no style element or attribute (a strict Content-Security-Policy lets
    it through), and its ids begin with the chart's name. Title and ``alt`` are its name for screen readers.
    """
    drawn = ElementTree.fromstring(_written(chart, "svg", facecolor="none"))  # the page shows through, and its shadows
    svg = ElementTree.Element(
        "svg",
        {
            "viewBox": drawn.attrib["viewBox"],
            "role": "img",
            "aria-labelledby": f"{chart.name}-title {chart.name}-alt",
            "font-family": _FONTS,
            "stroke-linejoin": "round",  # what matplotlib's style element says
            "stroke-linecap": "butt",
        },
    )
    for tag, text in (("title", chart.title), ("desc", chart.alt)):
        said = ElementTree.SubElement(svg, tag, {"id": f"{chart.name}-{'alt' if tag == 'desc' else tag}"})
        said.text = text
    svg.extend(_plainer(part, chart.name) for part in drawn.findall(f"{_SVG}g"))
    return ElementTree.tostring(svg, encoding="unicode", short_empty_elements=True)


def _written(chart: Chart, kind: str, **look: Any) -> bytes:
    _settle(chart)
    buffer = BytesIO()
    with drawing(**{"svg.hashsalt": chart.name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a stranger's letters that the font lacks
        chart.figure.savefig(buffer, format=kind, dpi=_DPI, metadata=_NO_DATES[kind], **look)
    return buffer.getvalue()


def _settle(chart: Chart) -> None:
    """Lay it out once: the engine would move things a little each time that the figure is drawn."""
    if chart.figure.get_layout_engine() is None:
        return
    with drawing():
        chart.figure.draw_without_rendering()
        chart.figure.set_layout_engine(None)


def _plainer(drawn: ElementTree.Element, prefix: str) -> ElementTree.Element:
    """Without namespaces, styles as attributes, ids only where they are referred to."""
    made = ElementTree.Element(drawn.tag.removeprefix(_SVG))
    for name, value in _attributes(drawn).items():
        if name == _LINK:
            made.set("href", f"#{prefix}-{value[1:]}")
        elif name == "id":
            if made.tag != "g":
                made.set("id", f"{prefix}-{value}")
        elif name == "transform" and value.startswith("rotate(-0 "):
            continue
        elif name not in ("font-family", "clip-path"):  # all is drawn inside its axes: a clip is only a reference more
            made.set(name, value if name in _NOT_ROUNDED else _LONG_NUMBER.sub(_two_digits, value))
    if made.tag == "text":
        made.text = drawn.text
    made.extend(_plainer(part, prefix) for part in drawn if part.tag != f"{_SVG}clipPath")
    return made


def _attributes(drawn: ElementTree.Element) -> dict[str, str]:
    found = {name: value for name, value in drawn.attrib.items() if name != "style"}
    for rule in filter(None, drawn.get("style", "").split("; ")):
        name, _, value = rule.partition(": ")
        colour = VARIABLES.get(value)
        found[name] = f"var({colour})" if colour else value
    if "d" in found:
        found["d"] = " ".join(found["d"].split())
    return found


def _two_digits(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
