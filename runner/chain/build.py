"""instances and requests: select what to predict and write down, by content, everything that would be asked."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import islice

import polars as pl

from runner import models, providers, tokens
from runner.benchmarks import find_task
from runner.benchmarks.base import Context, Corpus, Selection, Task, Variant
from runner.caching import beginning, rules_of
from runner.chain.data import open_corpus
from runner.chain.files import write_frame, write_frames
from runner.chain.journal import Point, reached
from runner.chain.provenance import digests_of
from runner.chain.runs import Asked, Folders, Run, Workspace, read_run, touch, write_run
from runner.errors import RunnerError
from runner.reporting.steps import steps
from runner.request import Body, Request, RequestId, request_id
from runner.venues import rehearsal

Say = Callable[[str], None]

REQUESTS: dict[str, pl.DataType] = {
    "instance_id": pl.String(),
    "setting": pl.String(),
    "draw": pl.Int32(),
    "n": pl.Int32(),
    "request_id": pl.String(),
    "tokens": pl.Int64(),
}
BODIES: dict[str, pl.DataType] = {
    "request_id": pl.String(),
    "body": pl.String(),
    "tokens": pl.Int64(),
    "input_bound": pl.Int64(),
    "max_output": pl.Int64(),
    "instance": pl.Int64(),
    "beginning": pl.Int64(),
}
"""``tokens`` expected and ``input_bound`` never exceeded; ``max_output`` over all choices; ``instance`` numbers
the first instance that asks, in sample order, so that a batch need not split one; ``beginning`` stands for the shortest
beginning that a provider keeps when told to: who shares it with nobody will not be told, and pays for no writing."""

_CHUNK = 500
_SURE = 0.9
"""Of the characters that the shortest kept beginning is likely to have: those with which it surely begins."""


@dataclass(frozen=True)
class Wanted:
    """A run as the user names it, before names and defaults are resolved. ``env`` decides the venue.

    ``as_of`` is the day whose catalogue a rehearsal replays; ``fresh`` numbers the times that all is asked anew.
    """

    task: str
    model: str
    source: str | None
    protocol: str = "strict"
    settings: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0
    samples: int | None = None
    variants: Mapping[str, Variant] = field(default_factory=dict)
    effort: str | None = None
    temperature: bool = True
    looks: int | None = None
    fresh: int = 0
    emulate: bool = False
    as_of: date | None = None
    env: Mapping[str, str] = field(default_factory=dict)


def build(workspace: Workspace, wanted: Wanted, now: datetime, say: Say) -> Run:
    """Select and write ``batches/<run>``; a run that is already built is only looked up.

    Raises RunnerError for an unknown model, task or setting, an unreadable corpus, and a window too small.
    """
    found = resolve(workspace, wanted, now, say)
    model, task, corpus, asked = found.model, found.task, found.corpus, found.asked
    folders = Folders(workspace, asked.name)
    if folders.run_json.exists():
        touch(workspace, asked.name)
        return read_run(workspace, asked.name)
    say(f"Building {asked.name}: selecting instances.")
    selection = task.instances(corpus, asked.options)
    write_frame(folders.instances, selection.frame)
    counter = tokens.counter(model)
    context = Context(corpus, asked.options, counter.count, model.window_tokens)
    written = build_stage(folders, 1, task, selection.frame, None, context, model, counter, asked)
    run = _describe(folders, asked, task, selection, written, model, counter, wanted.source or "", now)
    write_run(workspace, run)
    reached(Point.BUILT)
    return run


@dataclass(frozen=True)
class Resolved:
    """A wanted run with its names looked up."""

    model: models.Model
    task: Task
    corpus: Corpus
    asked: Asked


def resolve(workspace: Workspace, wanted: Wanted, now: datetime, say: Say) -> Resolved:
    """Look up model, task, settings and corpus. Raises RunnerError for what is unknown, before any long work."""
    model = models.find_model(wanted.model, as_of=wanted.as_of or now.date())
    model.reasoning_allowance_of(wanted.effort)  # an effort that it does not take is said before any work
    benchmark, task = find_task(wanted.task, wanted.protocol)
    settings = _settings(task, wanted.settings)
    _venue(model, wanted)  # likewise what cannot be rehearsed
    corpus = open_corpus(workspace, benchmark, wanted.source, say)
    return Resolved(model, task, corpus, asked_of(wanted, model, benchmark.name, task, settings, corpus))


def asked_of(
    wanted: Wanted, model: models.Model, benchmark: str, task: Task, settings: tuple[str, ...], corpus: Corpus
) -> Asked:
    """What makes the wanted run this run, names and defaults resolved."""
    return Asked(
        benchmark=benchmark,
        task=task.name,
        model=model.id,
        provider=model.provider,
        venue=_venue(model, wanted),
        protocol=task.protocol,
        version=task.version,
        corpus=corpus.fingerprint,
        settings=settings,
        limit=wanted.limit,
        seed=wanted.seed,
        samples=wanted.samples or task.default_samples,
        variants=dict(wanted.variants),
        effort=wanted.effort,
        temperature=wanted.temperature,
        looks=wanted.looks,
        fresh=wanted.fresh,
    )


@dataclass(frozen=True)
class Written:
    """How many requests a stage wrote, how many were unique, and the parameters they share (those of ``first``)."""

    requests: int
    unique: int
    first: Body | None

    @property
    def parameters(self) -> dict[str, float | int | str | None]:
        """Output limit and sampling, as sent."""
        body = self.first
        if body is None:
            return {}
        said = ("max_output_tokens", "temperature", "top_p", "n", "effort")
        return {name: getattr(body, name) for name in said}


def build_stage(
    folders: Folders,
    number: int,
    task: Task,
    instances: pl.DataFrame,
    answers: pl.DataFrame | None,
    context: Context,
    model: models.Model,
    counter: tokens.Counter,
    asked: Asked,
) -> Written:
    """Write one stage's ``requests.parquet`` and ``bodies.parquet``, streaming, identical bodies once."""
    rows: list[pl.DataFrame] = []
    seen: set[str] = set()
    instance_numbers: dict[str, int] = {}
    first: list[Body] = []

    rules = rules_of(model.provider, model.id)
    kept_chars = round(_SURE * rules.from_tokens * counter.bytes_per_token) if rules and rules.is_told else None

    def bodies() -> Iterator[pl.DataFrame]:
        plain = task.stages[number - 1].requests(instances, answers, context)
        adapted = for_model(plain, model, asked)
        while chunk := list(islice(adapted, _CHUNK)):
            ids, texts = [], []
            for request in chunk:
                text = request.body.to_json()
                ids.append(request_id(asked.venue, model.id, asked.first_draw + request.draw, text))
                texts.append(text)
                instance_numbers.setdefault(request.instance_id, len(instance_numbers))
            counts = counter.count_bodies([request.body for request in chunk])
            rows.append(
                pl.DataFrame(
                    {
                        "instance_id": [request.instance_id for request in chunk],
                        "setting": [request.setting for request in chunk],
                        "draw": [request.draw for request in chunk],
                        "n": [request.body.n for request in chunk],
                        "request_id": ids,
                        "tokens": counts,
                    },
                    schema=REQUESTS,
                )
            )
            first[:] = first or [chunk[0].body]
            new = [i for i, is_new in enumerate(_firsts(ids, seen)) if is_new]
            yield pl.DataFrame(
                {
                    "request_id": [ids[i] for i in new],
                    "body": [texts[i] for i in new],
                    "tokens": [counts[i] for i in new],
                    "input_bound": [counter.bound_body(chunk[i].body) for i in new],
                    "max_output": [chunk[i].body.max_output_tokens * chunk[i].body.n for i in new],
                    "instance": [instance_numbers[chunk[i].instance_id] for i in new],
                    "beginning": [None if kept_chars is None else beginning(chunk[i].body, kept_chars) for i in new],
                },
                schema=BODIES,
            )

    expected = instances.height * len(context.options.settings)
    with steps("Writing requests", expected) as count:
        write_frames(folders.bodies(number), _counted(bodies(), rows, count), BODIES)
    requests = pl.concat(rows) if rows else pl.DataFrame(schema=REQUESTS)
    _check_window(folders, number, model, task)
    write_frame(folders.requests(number), requests)
    return Written(requests.height, len(seen), first[0] if first else None)


def _counted(
    frames: Iterator[pl.DataFrame], rows: list[pl.DataFrame], count: Callable[[int], None]
) -> Iterator[pl.DataFrame]:
    for frame in frames:
        count(rows[-1].height)
        yield frame


def _firsts(ids: list[RequestId], seen: set[str]) -> Iterator[bool]:
    """Whether each id is met for the first time; ``seen`` remembers."""
    for name in ids:
        yield name not in seen
        seen.add(name)


def for_model(requests: Iterator[Request], model: models.Model, asked: Asked) -> Iterator[Request]:
    """Drop what the model refuses and add its reasoning allowance; choices it cannot give become draws."""
    allowance, refused = model.reasoning_allowance_of(asked.effort), model.refused_at(asked.effort)
    for request in requests:
        body = request.body
        body = replace(
            body,
            max_output_tokens=min(body.max_output_tokens + allowance, model.max_output_tokens),
            temperature=body.temperature if asked.temperature and "temperature" not in refused else None,
            top_p=body.top_p if asked.temperature and "top_p" not in refused else None,
            effort=asked.effort,
        )
        if body.n > 1 and "n" in refused:
            single = replace(body, n=1)
            for draw in range(body.n):
                yield replace(request, body=single, draw=request.draw * body.n + draw)
        else:
            yield replace(request, body=body)


def _venue(model: models.Model, wanted: Wanted) -> str:
    if not wanted.emulate:
        if wanted.as_of is not None:
            raise RunnerError("`AS_OF` replays a day on the emulator: give EMULATE=1 with it.")
        return providers.venue_of(model.provider, wanted.env)
    return rehearsal(model.provider, wanted.as_of)


def _check_window(folders: Folders, number: int, model: models.Model, task: Task) -> None:
    worst = (
        pl.scan_parquet(folders.bodies(number)).select((pl.col("tokens") + pl.col("max_output")).max()).collect().item()
    )
    if worst is not None and worst > model.window_tokens:
        raise RunnerError(
            f"{model.id} cannot hold task {task.name}: its window is {model.window_tokens:,} tokens and the "
            f"longest request needs {worst:,}; choose a model with a larger window."
        )


def _settings(task: Task, wanted: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [setting for setting in wanted if setting not in task.all_settings]
    if unknown:
        raise RunnerError(
            f"Task {task.name} ({task.protocol}) has no setting {', '.join(unknown)}; "
            f"it has: {', '.join(task.all_settings)}."
        )
    return tuple(setting for setting in task.all_settings if setting in wanted) or task.settings


def _describe(
    folders: Folders,
    asked: Asked,
    task: Task,
    selection: Selection,
    written: Written,
    model: models.Model,
    counter: tokens.Counter,
    source: str,
    now: datetime,
) -> Run:
    names = ("persona-runner", "polars", "openai", "tiktoken", "orjson")
    return Run(
        asked=asked,
        source=source,
        instances=selection.frame.height,
        requests=written.requests,
        unique=written.unique,
        funnel=selection.funnel,
        explanation=selection.explanation,
        parameters=written.parameters,
        token_counter=counter.name,
        tokens_exact=counter.exact,
        assumptions=model.assumptions,
        test_family=task.family(asked.settings),
        caution="; ".join(word for word in (task.caution, selection.caution) if word) or None,
        versions={name: importlib.metadata.version(name) for name in names},
        created_at=now.isoformat(timespec="seconds"),
        dialect=providers.dialect(model.provider, model.id, written.first) if written.first else "",
        digests=digests_of(folders),
    )
