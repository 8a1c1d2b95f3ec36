"""Scored runs beside each other: which numbers may share a table, and which models are shown to differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import polars as pl

from runner.benchmarks import find_task
from runner.benchmarks.base import Benchmark, Design, Task
from runner.chain.files import write_bytes
from runner.chain.runs import Asked, Folders, Workspace, read_run
from runner.errors import RunnerError
from runner.metrics.multiplicity import ALPHA, holm
from runner.metrics.score import Effect
from runner.reporting.comparison import Beside, Board, Comparison, Entry, best_first
from runner.reporting.exports import exported, writer_of
from runner.reporting.latex import Width
from runner.reporting.steps import steps
from runner.reporting.summary import Summary
from runner.venues import is_rehearsal

PAPER = "paper"
FEWEST = 20
"""Instances below which a run stands apart: its numbers say little of a model, and rank none."""
_EMPTY = "is left out, it has no instance"
_TEXTS = ("request_id", "text", "reference")
_APART = f"runs of fewer than {FEWEST} instances stand apart: too few to say which model is better, and none is tested"
_NOT_BESIDE = (
    "Published numbers are of the paper protocol (its selection, prompts and aggregation): they are not set beside "
    "strict runs; make runs of the same task with PROTOCOL=paper."
)


@dataclass(frozen=True)
class _Scored:
    """A scored run with what was asked of it."""

    asked: Asked
    summary: Summary
    benchmark: Benchmark
    task: Task

    @property
    def is_rehearsal(self) -> bool:
        """Whether an emulator answered: by its venue, or by the name with which it signs."""
        return is_rehearsal(self.asked.venue) or self.summary.is_rehearsal

    @property
    def is_small(self) -> bool:
        """Whether there are too few instances for a place among models."""
        return self.summary.instances < FEWEST

    @property
    def design(self) -> tuple[object, ...]:
        """What runs must share for their numbers to share a table. A smaller LIMIT is the same sample's beginning."""
        asked = self.asked
        variants = tuple(sorted(asked.variants.items()))
        shared = (asked.benchmark, asked.task, asked.protocol, asked.corpus, asked.version, asked.seed, asked.samples)
        measured_by = self.summary.signatures.get(self.task.primary)
        return (self.is_rehearsal, self.is_small, *shared, asked.judge, variants, measured_by)


def compare(
    workspace: Workspace,
    names: Sequence[str] = (),
    *,
    task: str | None = None,
    protocol: str | None = None,
    published: bool = False,
) -> Comparison:
    """The named scored runs (all of ``results/``), those of ``task`` and ``protocol`` where they are given.

    Reads files only. A run that cannot be read is left out and a remark says so; raises RunnerError where none is left.
    """
    chosen = _chosen(workspace, names)
    remarks: list[str] = []
    found = [run for name in chosen if (run := _read(workspace, name, remarks)) is not None]
    wanted = [run for run in found if task in (None, run.task.name) and protocol in (None, run.task.protocol)]
    if not wanted:
        is_empty = not found and any(_EMPTY in remark for remark in remarks)
        raise RunnerError(" ".join([*remarks, *_none_of(found, task, protocol)]), exit_code=1 if is_empty else 2)
    groups: dict[tuple[object, ...], list[_Scored]] = {}
    for run in wanted:
        groups.setdefault(run.design, []).append(run)
    ordered = sorted(
        groups.values(),
        key=lambda group: (group[0].is_rehearsal, group[0].is_small, group[0].task.name, str(group[0].design)),
    )
    titles = _titles([group[0] for group in ordered])
    boards = [_board(workspace, group, title, remarks) for group, title in zip(ordered, titles, strict=True)]
    beside = _published(ordered, boards, remarks) if published else ()
    return Comparison(tuple(boards), tuple(beside), tuple(remarks))


def check_target(path: Path) -> None:
    """Say before any work that a file of this name cannot be written."""
    writer_of(path)
    if path.is_dir():
        raise RunnerError(f"{path} is a folder: name a file in it, {path / 'table.md'}.")


def write_comparison(comparison: Comparison, path: Path, width: Width = "page") -> None:
    """Write it in the form that the suffix says, whole or not at all; a LaTeX table as wide as a column or the page."""
    try:
        write_bytes(path, exported(comparison, path, width))
    except OSError as error:
        raise RunnerError(f"{path} cannot be written ({error.strerror}): name another place by --to.") from error


def _chosen(workspace: Workspace, names: Sequence[str]) -> list[str]:
    scored = sorted(path.parent.name for path in workspace.results.glob("*/summary.json"))
    if not scored:
        raise RunnerError(f"No run was scored in {workspace.results} yet: `make run` or `make score` makes one.")
    for name in names:
        if name not in scored:
            built = Folders(workspace, name).run_json.is_file()
            why = f"Run {name!r} is not scored yet: `make score RUN={name}`" if built else f"There is no run {name!r}"
            raise RunnerError(f"{why}; scored are: {', '.join(scored)}.")
    return list(dict.fromkeys(names)) or scored


def _read(workspace: Workspace, name: str, remarks: list[str]) -> _Scored | None:
    try:
        summary = Summary.from_json(Folders(workspace, name).summary.read_bytes())
        asked = read_run(workspace, name).asked
        benchmark, task = find_task(asked.task, asked.protocol)
    except (RunnerError, OSError, ValueError, KeyError, TypeError) as error:
        remarks.append(f"{name} is left out, it cannot be read: `make score RUN={name}` writes it anew ({error}).")
        return None
    if not summary.instances:
        remarks.append(f"{name} {_EMPTY}: {summary.explanation or 'no instance was selected.'}")
        return None
    return _Scored(asked, summary, benchmark, task)


def _none_of(found: Sequence[_Scored], task: str | None, protocol: str | None) -> list[str]:
    said = " ".join(word for word in (task and f"task {task}", protocol and f"protocol {protocol}") if word)
    there = sorted({f"{run.task.name} {run.task.protocol}" for run in found})
    return [f"No scored run is of {said}; there are runs of: {', '.join(there)}."] if there else []


def _titles(runs: Sequence[_Scored]) -> list[str]:
    """Task, protocol, corpus and whatever else tells boards apart; the version where nothing else does."""

    def title(run: _Scored) -> str:
        asked = run.asked
        parts = [f"{run.task.name} {run.task.title}", f"{run.task.protocol} protocol", f"corpus {asked.corpus[:8]}"]
        parts += [f"fewer than {FEWEST} instances"] if run.is_small else []
        parts += [f"seed {asked.seed}"] if asked.seed else []
        parts += [f"{asked.samples} samples"] if asked.samples > 1 else []
        parts += [f"judge {asked.judge}"] if asked.judge else []
        parts += [f"{name} {value}" for name, value in sorted(asked.variants.items())]
        return " · ".join(parts)

    plain = [title(run) for run in runs]
    often = Counter((run.is_rehearsal, text) for run, text in zip(runs, plain, strict=True))
    return [
        f"{text} · rules {run.asked.version}" if often[run.is_rehearsal, text] > 1 else text
        for run, text in zip(runs, plain, strict=True)
    ]


def _board(workspace: Workspace, runs: Sequence[_Scored], title: str, remarks: list[str]) -> Board:
    task = runs[0].task
    asked = {setting for run in runs for setting in run.asked.settings}
    settings = tuple(setting for setting in task.all_settings if setting in asked)
    labels = _labels([run.asked for run in runs])
    leading = _leading(runs, settings[0])
    entries = [
        Entry(label, run.summary, is_superseded=leading[run.asked.series] is not run)
        for label, run in zip(labels, runs, strict=True)
    ]
    board = Board(
        title=title,
        primary=task.primary,
        is_rehearsal=runs[0].is_rehearsal,
        settings=settings,
        entries=best_first(entries, settings[0]),
        notes=(f"prompts and rules: {runs[0].asked.version}", *([_APART] if runs[0].is_small else [])),
    )
    return board if runs[0].is_small else replace(board, pairs=_pairs(workspace, task, board, remarks))


def _leading(runs: Iterable[_Scored], lead: str) -> dict[str, _Scored]:
    """Of the runs that ask one model the same, the one that says most; of equal ones the first that was asked.

    Complete is more than partial, the leading setting more than none of it, then the larger sample, then more settings.
    Which of two has the better value plays no part.
    """

    def says(run: _Scored) -> tuple[object, ...]:
        asked, summary = run.asked, run.summary
        complete = summary.state == "complete"
        return complete, lead in asked.settings, summary.instances, len(asked.settings), -asked.fresh

    ordered = sorted(runs, key=says)
    return {run.asked.series: run for run in ordered}


def _labels(asked: Sequence[Asked]) -> list[str]:
    """Each model's name, with what differs where a board has it more than once."""
    often = Counter(each.model for each in asked)

    def facts(each: Asked) -> Iterator[tuple[str, str]]:
        yield "venue", each.venue
        yield "effort", f"effort {each.effort}" if each.effort else ""
        yield "temperature", "" if each.temperature else "no temperature"
        yield "fresh", f"fresh {each.fresh}" if each.fresh else ""
        yield "limit", f"first {each.limit:,}" if each.limit else ""
        yield "settings", "+".join(each.settings)
        yield "hash", each.name.rpartition("__")[2]

    def label(each: Asked) -> str:
        if often[each.model] == 1:
            return each.model
        twins = [dict(facts(other)) for other in asked if other.model == each.model]
        said: list[str] = []
        for fact, words in facts(each):
            if fact == "hash" and sum(_same(twin, dict(facts(each))) for twin in twins) == 1:
                continue
            if words and len({twin[fact] for twin in twins}) > 1:
                said.append(words)
        return f"{each.model} ({', '.join(said)})" if said else each.model

    return [label(each) for each in asked]


def _same(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return all(one[fact] == other[fact] for fact in one if fact != "hash")


def _pairs(workspace: Workspace, task: Task, board: Board, remarks: list[str]) -> tuple[Effect, ...]:
    """Two complete runs each, on the instances that both have, on the leading setting: a family of its own."""
    whole = [entry for entry in board.entries if not entry.is_partial and not entry.is_superseded]
    whole = [entry for entry in whole if entry.score(board.lead) is not None]
    items = _items(workspace, whole, board.lead, remarks) if len(whole) > 1 else {}
    found: list[Effect] = []
    twos = list(combinations([entry for entry in whole if entry.label in items], 2))
    with steps("comparing models", len(twos)) as advance:
        for one, other in twos:
            name = f"{one.label} - {other.label}"
            try:
                found += task.versus(items[one.label], items[other.label], name, _design(one, other))
            except pl.exceptions.PolarsError as error:
                remarks.append(
                    f"{name} is not tested, the scores are of another version ({type(error).__name__}: {error}): "
                    f"`make score RUN={one.summary.run}` and `make score RUN={other.summary.run}` write them anew."
                )
            advance(1)
    return _adjusted(found, board)


def _design(one: Entry, other: Entry) -> Design:
    """Who has looked more often at a growing sample tests more strictly; beyond the looks planned, not at all."""
    looks = [entry.summary.look for entry in (one, other) if entry.summary.look is not None]
    alphas = [look.alpha for look in looks]
    if None in alphas:
        return Design(tested=False)
    return Design(1 - min((alpha for alpha in alphas if alpha is not None), default=ALPHA))


def _items(workspace: Workspace, entries: Iterable[Entry], setting: str, remarks: list[str]) -> dict[str, pl.DataFrame]:
    """The models' own items of a setting by label, without their texts."""
    items = {}
    for entry in entries:
        try:
            stored = pl.scan_parquet(Folders(workspace, entry.summary.run).scores).drop(_TEXTS, strict=False)
            own = stored.filter(pl.col("setting") == setting).with_columns(floor=pl.lit(None, pl.String()))
            items[entry.label] = own.collect()
        except (OSError, pl.exceptions.PolarsError):
            run = entry.summary.run
            remarks.append(f"{run} is not tested, its scores.parquet cannot be read: `make score RUN={run}`.")
    return items


def _adjusted(effects: Sequence[Effect], board: Board) -> tuple[Effect, ...]:
    """Holm's p inside the family of these pairs, where all of them could be tested."""
    tested = [effect.p for effect in effects if effect.p is not None]
    adjusted = holm(tested) if len(tested) == len(effects) else [None] * len(effects)
    family = f"model pairs on {board.lead}: {board.primary}"
    return tuple(replace(effect, family=family, p_holm=p) for effect, p in zip(effects, adjusted, strict=True))


def _published(groups: Sequence[list[_Scored]], boards: Sequence[Board], remarks: list[str]) -> Iterator[Beside]:
    if all(group[0].task.protocol != PAPER for group in groups):
        remarks.append(_NOT_BESIDE)
    for group, board in zip(groups, boards, strict=True):
        offer = group[0].benchmark.published
        table = offer() if offer is not None else None
        if table is None or table.protocol != group[0].task.protocol:
            continue
        rows = tuple(
            (model, setting, metric, value)
            for model, task, setting, metric, value in table.rows
            if task == group[0].task.name
        )
        if rows:
            yield Beside(board, table.source, rows, table.footnotes)
