"""A comparison in the forms that others read: the suffix of the file says which."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from runner.errors import RunnerError
from runner.reporting.compare_page import render_comparison
from runner.reporting.comparison import Board, Comparison, Entry
from runner.reporting.latex import Width, to_latex
from runner.reporting.leaderboard import first_tables, other_tables, reading_table
from runner.reporting.table import escape_markdown, folded_markdown, to_markdown
from runner.reporting.tables import ALL
from runner.reporting.words import plain

SCHEMA: Mapping[str, pl.DataType] = {
    "run": pl.String(),
    "model": pl.String(),
    "task": pl.String(),
    "protocol": pl.String(),
    "setting": pl.String(),
    "group": pl.String(),
    "metric": pl.String(),
    "value": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "n": pl.Int64(),
    "coverage": pl.Float64(),
    "floor": pl.String(),
    "note": pl.String(),
    "venue": pl.String(),
    "corpus": pl.String(),
    "cost_usd": pl.Float64(),
    "cost_is_bound": pl.Boolean(),
    "state": pl.String(),
    "rehearsal": pl.Boolean(),
}
"""Columns of a value: one metric of one run (``floor`` is null for the model's own)."""
EFFECTS: Mapping[str, pl.DataType] = {
    "effect": pl.String(),
    "kind": pl.String(),
    "level": pl.Float64(),
    "authors": pl.Float64(),
    "p": pl.Float64(),
    "p_holm": pl.Float64(),
    "family": pl.String(),
}
"""Further columns of an effect or of a pair of models, null for values: a difference, where + is better."""


def exported(comparison: Comparison, path: Path, width: Width = "page") -> bytes:
    """The content of a file of this name; ``width`` is that of a LaTeX table.

    Raises RunnerError for a suffix that there is no writer for.
    """
    return writer_of(path)(comparison, width)


def writer_of(path: Path) -> Callable[[Comparison, Width], bytes]:
    """What writes files of this suffix. Raises RunnerError naming those there are."""
    if path.suffix.lower() not in _WRITERS:
        raise RunnerError(
            f"{path} has a suffix that no table is written for: give it a name that ends with one of "
            f"{', '.join(_WRITERS)}."
        )
    return _WRITERS[path.suffix.lower()]


def long_frame(comparison: Comparison) -> pl.DataFrame:
    """Every value of every run and of its floors, then its effects, then each board's pairs of models: raw numbers."""
    runs = [(board, entry) for board in comparison.boards for entry in board.entries]
    rows = [
        {**_of_run(board, entry), **asdict(score)}
        for board, entry in runs
        for score in (*entry.summary.rows, *entry.summary.floors)
    ]
    rows += [
        {**_of_run(board, entry), **asdict(effect), "effect": effect.name}
        for board, entry in runs
        for effect in entry.summary.effects
    ]
    rows += [
        {**_of_board(board), **asdict(pair), "effect": pair.name, "setting": board.lead, "group": ALL}
        for board in comparison.boards
        for pair in board.pairs
    ]
    return pl.DataFrame(rows, schema={**SCHEMA, **EFFECTS}, orient="row")


def _of_run(board: Board, entry: Entry) -> dict[str, Any]:
    of_summary = ("run", "model", "task", "protocol", "venue", "corpus", "state")
    told = {name: getattr(entry.summary, name) for name in of_summary}
    cost = {"cost_usd": entry.cost_usd, "cost_is_bound": entry.cost_is_bound}
    return {**told, **cost, "rehearsal": board.is_rehearsal}


def _of_board(board: Board) -> dict[str, Any]:
    """What a pair has of its runs: all that they share."""
    summary = board.leading[0].summary
    shared = {name: getattr(summary, name) for name in ("task", "protocol", "corpus")}
    return {**shared, "rehearsal": board.is_rehearsal}


def _markdown(comparison: Comparison) -> bytes:
    below = [table for board in comparison.boards for table in other_tables(board)]
    parts = ["# Leaderboard\n", *map(to_markdown, first_tables(comparison))]
    parts += [folded_markdown("Pairs of models, other runs", below)] if below else []
    parts.append(to_markdown(reading_table(comparison)))
    if comparison.remarks:
        parts.append("\n".join(f"- {escape_markdown(remark)}" for remark in comparison.remarks) + "\n")
    return "\n".join(parts).encode()


def _csv(comparison: Comparison) -> bytes:
    frame = long_frame(comparison)
    texts = [name for name, kind in frame.schema.items() if kind == pl.String()]
    safe = [
        pl.Series(name, [None if text is None else _inert(text) for text in frame[name]], pl.String) for name in texts
    ]
    return frame.with_columns(safe).write_csv().encode()


def _inert(text: str) -> str:
    """What a spreadsheet would take for a formula gets an apostrophe in front."""
    text = plain(text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def _parquet(comparison: Comparison) -> bytes:
    buffer = io.BytesIO()
    long_frame(comparison).write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _json(comparison: Comparison) -> bytes:
    content = {
        "scores": long_frame(comparison).filter(pl.col("effect").is_null()).select(*SCHEMA).to_dicts(),
        "effects": [
            {"run": entry.summary.run, **asdict(effect)}
            for board in comparison.boards
            for entry in board.entries
            for effect in entry.summary.effects
        ],
        "pairs": [
            {"board": board.title, "rehearsal": board.is_rehearsal, **asdict(pair)}
            for board in comparison.boards
            for pair in board.pairs
        ],
        "published": [
            {
                "board": beside.board.title,
                "source": beside.source,
                "footnotes": beside.footnotes,
                "rows": [
                    {"model": model, "setting": setting, "metric": metric, "value": value}
                    for model, setting, metric, value in beside.rows
                ],
            }
            for beside in comparison.published
        ],
        "cautions": _cautions(comparison),
        "remarks": comparison.remarks,
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _cautions(comparison: Comparison) -> dict[str, Any]:
    summaries = (entry.summary for board in comparison.boards for entry in board.entries)
    return {summary.run: summary.caution for summary in summaries if summary.caution}


_WRITERS: Mapping[str, Callable[[Comparison, Width], bytes]] = {
    ".md": lambda comparison, _: _markdown(comparison),
    ".csv": lambda comparison, _: _csv(comparison),
    ".tex": lambda comparison, width: to_latex(comparison, width).encode(),
    ".json": lambda comparison, _: _json(comparison),
    ".parquet": lambda comparison, _: _parquet(comparison),
    ".html": lambda comparison, _: render_comparison(comparison).encode(),
}
