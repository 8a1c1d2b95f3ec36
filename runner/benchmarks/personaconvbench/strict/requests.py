"""Instances to requests: every prompt is rendered again from the corpus, by identity, and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np
import polars as pl

from runner.benchmarks.base import Context
from runner.benchmarks.personaconvbench.corpus import PersonaCorpus
from runner.benchmarks.personaconvbench.strict.checks import check_bytes, check_identities
from runner.benchmarks.personaconvbench.strict.limits import ANSWER_TOKENS, ARMS, SETTINGS, Kind, Switches
from runner.benchmarks.personaconvbench.strict.prompts import Sources, blocks, prompt
from runner.benchmarks.personaconvbench.strict.threads import Threads, ready
from runner.errors import RunnerError
from runner.request import Body, Message, Request

_SAMPLING_TEMPERATURE = 0.7
_COLUMNS = ["instance_id", "thread", "thread_gap", "own_items", "donor_items", "none_arm"]


def requests(instances: pl.DataFrame, context: Context) -> Iterator[Request]:
    """The requests in sample order, all settings of an instance together; ``n`` answers each where asked.

    All four settings are rendered and checked whichever were asked for. Raises RunnerError at the first violation.
    """
    options = context.options
    unknown = [setting for setting in options.settings if setting not in SETTINGS + ARMS]
    if unknown:
        raise RunnerError(f"There is no setting {unknown[0]!r}; SETTINGS are {', '.join(SETTINGS + ARMS)}.")
    if instances.is_empty():
        return
    kind = cast(Kind, instances["kind"][0])
    threads = ready(cast(PersonaCorpus, context.corpus))
    switches = Switches.of(options.variants)
    for sources, none_arm in sources_of_instances(threads, instances):
        prompts = checked_prompts(threads, sources, kind, switches)
        for setting in options.settings:
            if setting in ARMS and not none_arm:
                continue
            body = Body(
                messages=(Message("user", prompts[setting]),),
                max_output_tokens=ANSWER_TOKENS[kind],
                temperature=0.0 if options.samples == 1 else _SAMPLING_TEMPERATURE,
                n=options.samples,
            )
            _check_window(body, context)
            yield Request(threads.comments.ids[sources.row], setting, body)


def _check_window(body: Body, context: Context) -> None:
    """Limits are in characters and the same for all models, so a model whose window is too small is refused."""
    text = body.messages[0].content
    room = context.window_tokens - body.max_output_tokens
    if len(text.encode()) <= room:  # a token has at least one byte
        return
    tokens = context.count_tokens(text)
    if tokens > room:
        raise RunnerError(
            f"The model's window of {context.window_tokens:,} tokens cannot hold the prompts of this task: one has "
            f"{tokens:,}, with {body.max_output_tokens:,} more for the answer. Choose a model with a larger window.",
            code="window",
        )


def checked_prompts(threads: Threads, sources: Sources, kind: Kind, switches: Switches) -> dict[str, str]:
    """The prompt of every setting and arm. Raises RunnerError when one would break the protocol."""
    check_identities(threads, sources, kind, switches)
    parts = blocks(threads, sources, kind)
    prompts = {setting: prompt(parts, setting) for setting in SETTINGS + ARMS}
    check_bytes(threads, sources, parts, prompts, kind)
    return prompts


def sources_of_instances(threads: Threads, instances: pl.DataFrame) -> Iterator[tuple[Sources, bool]]:
    """What each instance's prompts are made of, by identity, and whether it belongs to the optional arms.

    Raises RunnerError when an identity is not in the corpus.
    """
    rows = _rows_by_identity(threads, instances)

    def found(identities: list[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([rows[identity] for identity in identities], dtype=np.int64)

    for target, thread, gap, own, donor, none_arm in instances.select(_COLUMNS).iter_rows():
        try:
            sources = Sources(rows[target], found(thread), gap, found(own), found(donor))
        except KeyError as missing:
            raise RunnerError(
                f"Instance {target} names the comment {missing.args[0]}, which the corpus does not have; "
                "build the run again from the corpus that is there."
            ) from None
        yield sources, none_arm


def _rows_by_identity(threads: Threads, instances: pl.DataFrame) -> Mapping[str, int]:
    lists = [instances[name].explode() for name in ("thread", "own_items", "donor_items")]
    wanted = pl.concat([instances["instance_id"], *lists]).unique().drop_nulls()
    known = pl.DataFrame({"id": threads.comments.ids, "row": np.arange(len(threads))})
    table = known.filter(pl.col("id").is_in(wanted.implode())).unique("id", keep="first", maintain_order=True)
    return dict(table.iter_rows())
