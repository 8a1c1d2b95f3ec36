"""A run's report: one HTML file that asks nobody for anything, and one markdown file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from runner.reporting.summary import Summary
from runner.reporting.table import Table, escape_markdown, templates, to_markdown
from runner.reporting.tables import report_tables


@dataclass(frozen=True, slots=True)
class Example:
    """One instance in one setting, as the model saw it. ``answer`` is None where there is none yet."""

    instance_id: str
    setting: str
    prompt: str
    answer: str | None
    reference: str
    verdict: str


def render_page(summary: Summary, examples: Sequence[Example] = ()) -> str:
    """A self-contained HTML page, light or dark, for screen, phone and paper; every text in it is escaped."""
    page = templates().get_template("page.html.j2")
    return page.render(summary=summary, tables=_tables(summary), examples=examples)


def render_markdown(summary: Summary) -> str:
    """The same tables as GitHub markdown, without examples."""
    parts = [f"# {escape_markdown(' · '.join((*summary.marks, summary.heading)))}\n"]
    if summary.explanation:
        parts.append(f"{escape_markdown(summary.explanation)}\n")
    return "\n".join([*parts, *map(to_markdown, _tables(summary))])


def _tables(summary: Summary) -> list[Table]:
    """Under the page's own heading a table need not name the run again; its marks and caution stay."""
    tail = f" · {summary.heading}"
    return [replace(table, title=table.title.removesuffix(tail)) for table in report_tables(summary)]
