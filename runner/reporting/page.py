"""A run's report: one HTML file that asks nobody for anything, and one markdown file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.reporting.charts import inline_svg
from runner.reporting.explorer import Explorer
from runner.reporting.headline import headline
from runner.reporting.summary import Summary
from runner.reporting.table import Table, escape_markdown, folded_markdown, templates, to_markdown
from runner.reporting.tables import first_tables, other_tables
from runner.reporting.words import billed, count, percent

if TYPE_CHECKING:
    from markupsafe import Markup

    from runner.reporting.charts import Chart

CHARTS = "charts"
"""The folder of the saved charts, beside the page."""
_SCRIPTS = ("texts.js", "explorer_data.js", "explorer.js")


def render_page(
    summary: Summary, charts: Sequence[Chart] = (), explorer: Explorer | None = None, *, saved: bool = True
) -> str:
    """A self-contained HTML page, light or dark, for screen, phone and paper; every text in it is escaped.

    It links to the charts' files in ``charts/`` beside it where they are ``saved``. Its policy allows its own style
    and script, and no request.
    """
    from markupsafe import Markup

    style, script = _asset("page.css"), Markup("\n").join(map(_asset, _SCRIPTS))
    return (
        templates()
        .get_template("page.html.j2")
        .render(
            summary=summary,
            headline=headline(summary),
            facts=_facts(summary),
            tables=_here(summary, first_tables(summary)),
            folded=_here(summary, other_tables(summary)),
            charts=[(chart, Markup(inline_svg(chart))) for chart in charts],
            folder=CHARTS if saved else None,
            explorer=explorer,
            held=_held(explorer) if explorer else None,
            style=style,
            script=script if explorer else None,
            policy=_policy(style, script),
        )
    )


def render_markdown(summary: Summary, charts: Sequence[Chart] = ()) -> str:
    """The same tables as GitHub markdown, folded as in the page, with the saved charts, without answers."""
    parts = [f"# {escape_markdown(' · '.join((*summary.marks, summary.heading)))}\n"]
    said_first = (summary.answered_by, summary.explanation, headline(summary))
    parts += [f"{escape_markdown(said)}\n" for said in said_first if said]
    parts += map(to_markdown, _here(summary, first_tables(summary)))
    for chart in charts:
        title, alt = escape_markdown(chart.title), escape_markdown(chart.alt)
        parts.append(f"## {title}\n\n![{alt}]({CHARTS}/{chart.name}.png)\n\n{escape_markdown(chart.caption)}\n")
    parts.append(folded_markdown("All other tables", _here(summary, other_tables(summary))))
    if summary.remarks:
        remarks = "\n".join(f"- {escape_markdown(remark)}" for remark in summary.remarks)
        parts.append(f"## Remarks on the protocol\n\n{remarks}\n")
    return "\n".join(parts)


def _here(summary: Summary, tables: Sequence[Table]) -> list[Table]:
    """Under the page's own heading a table need not name the run again; its marks and caution stay."""
    tail = f" · {summary.heading}"
    return [replace(table, title=table.title.removesuffix(tail)) for table in tables]


def _facts(summary: Summary) -> list[tuple[str, str]]:
    """What a reader asks first, in few words."""
    requests, cost = summary.requests, summary.cost
    lowest = min((row.coverage for row in summary.rows if row.group == "all"), default=None)
    facts = [
        ("model", f"{summary.model} at {summary.venue}"),
        ("protocol", summary.protocol),
        ("instances", count(summary.instances)),
        ("final answers", f"{count(requests.final)} of {count(requests.total)}"),
    ]
    if lowest is not None:
        facts.append(("usable answers", f"{percent(lowest)}{' or more' if lowest < 1 else ''} in each setting"))
    facts.append(("billed", billed(cost.billed_usd, is_bound=cost.billed_is_bound)))
    if cost.reused_usd:
        facts.append(("reused, paid before", billed(cost.reused_usd, is_bound=cost.reused_is_bound)))
    received = summary.versions.get("answers received")
    return [*facts, ("answers received", received)] if received else facts


def _held(explorer: Explorer) -> str:
    """Which instances can be read here, and how they came in."""
    if explorer.shown == explorer.total:
        return f"All {count(explorer.total)} instances that have a final answer; the same in scores.parquet."
    return (
        f"Showing {count(explorer.shown)} of {count(explorer.total)} instances, as many as this page can hold: the "
        "first in the order of the sample, every fourth place given to the next one with a failed answer. "
        "All of them: scores.parquet beside this file."
    )


def _asset(name: str) -> Markup:
    """The text of a file of ours as it will stand in the page, where its hash has to fit."""
    from markupsafe import Markup

    loader = templates().loader
    assert loader is not None
    return Markup(loader.get_source(templates(), name)[0])


def _policy(style: str, script: str) -> str:
    """Nothing but this style and this script, and no request to anywhere."""

    def allowed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; script-src {allowed(script)}; "
        f"style-src {allowed(style)}"
    )
