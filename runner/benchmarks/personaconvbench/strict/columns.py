"""The instance frame: identities and scalars of each target, and what floors, penalties and the reference rank need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from runner.benchmarks.personaconvbench.clean import normalise
from runner.benchmarks.personaconvbench.strict.limits import DAY_US, NONE_ARM_STEP, Kind
from runner.benchmarks.personaconvbench.strict.others import Others
from runner.benchmarks.personaconvbench.strict.overlap import without_quotes
from runner.benchmarks.personaconvbench.strict.prompts import history_parent, history_reply, message_text
from runner.benchmarks.personaconvbench.strict.rules import Eligible
from runner.benchmarks.personaconvbench.strict.threads import Ints, Threads
from runner.benchmarks.personaconvbench.strict.visible import shown_rows

_TEXTS = pl.List(pl.String())
_IDENTITIES = ("own_items", "donor_items", "thread")
COMMON: dict[str, Any] = {
    "instance_id": pl.String(),  # the target reply's content hash
    "kind": pl.String(),  # sign, value, value-all, text: which prompts are made
    "reference": pl.String(),  # 3.1 positive or negative, 3.2 the integer, 3.3 the text
    "domain": pl.String(),
    "subreddit": pl.String(),  # null where the address does not tell
    "user": pl.String(),  # content hash of the author's name
    "time": pl.Datetime("us", "UTC"),
    "label": pl.String(),  # 3.1, 3.2: positive, negative (3.2-all also zero); null in 3.3
    "score": pl.Int64(),
    "parent": pl.String(),  # comment id, or the post's where the reply answers it
    "post": pl.String(),
    "own_items": _TEXTS,  # comment ids, oldest first
    "donor": pl.String(),  # content hash of the donor's name
    "donor_items": _TEXTS,
    "donor_level": pl.Int8(),
    "dose": pl.Int8(),  # K, items in either history
    "thread": _TEXTS,  # comment ids in time order, as printed
    "thread_gap": pl.Int32(),  # ancestors dropped between the first comment and the next
    "thread_kept": pl.Int32(),
    "thread_dropped": pl.Int32(),
    "thread_kept_chars": pl.Int32(),
    "thread_dropped_chars": pl.Int32(),
    "own_visible": pl.Int32(),  # replies by the author himself in the thread shown
    "own_chars": pl.List(pl.Int32()),  # of each item's reply as printed; likewise below
    "own_scores": pl.List(pl.Int64()),
    "own_ages": pl.List(pl.Float64()),  # days before the target
    "donor_chars": pl.List(pl.Int32()),
    "donor_scores": pl.List(pl.Int64()),
    "donor_ages": pl.List(pl.Float64()),
}
SCORED: dict[str, Any] = {
    "newest_own_score": pl.Int64(),
    "newest_donor_score": pl.Int64(),
    "prior_median_score": pl.Float64(),  # of the own items
    "prior_positive_rate": pl.Float64(),  # share of the own items with a score over 0
}
WRITTEN: dict[str, Any] = {
    "parent_text": pl.String(),
    "newest_own_reply": pl.String(),
    "newest_donor_reply": pl.String(),
    "similar_own_reply": pl.String(),
    "similar_donor_reply": pl.String(),
    "stranger_replies": _TEXTS,
    "own_elsewhere": _TEXTS,
}


def population(threads: Threads, found: Eligible, kind: Kind) -> pl.DataFrame:
    """One row per eligible reply: ``row``, ``instance_id``, ``user``, ``domain``, ``label``, and the domain medians.

    ``domain_median_score`` and ``domain_median_abs_score`` (m of the 3.2 penalty) are over the eligible replies of
    all others in the domain; where there are none, of all others anywhere; where there are none, of all.
    """
    comments, posts = threads.comments, threads.posts
    rows = found.rows
    domain = posts.domain[comments.post[rows]]
    author = comments.author[rows]
    score = comments.score[rows]
    frame = pl.DataFrame(
        {
            "row": rows,
            "instance_id": comments.ids.gather(rows),
            "user": threads.author_ids.gather(author),
            "domain": pl.Series([threads.domains[code] for code in domain], dtype=pl.String),
            "label": pl.Series([_label(s, kind) for s in score.tolist()], dtype=pl.String),
        }
    )
    if kind == "text":
        return frame
    return frame.with_columns(
        domain_median_score=_medians_of_others(score, domain, author),
        domain_median_abs_score=_medians_of_others(np.abs(score), domain, author),
    )


def _label(score: float, kind: Kind) -> str | None:
    if kind == "text":
        return None
    return "negative" if score < 0 else "positive" if score > 0 else "zero"


def _medians_of_others(values: NDArray[np.float64], domain: Ints, author: Ints) -> pl.Series:
    result = np.zeros(len(values))
    for d in np.unique(domain):
        inside = np.flatnonzero(domain == d)
        for a in np.unique(author[inside]):
            others = values[inside[author[inside] != a]]
            if not len(others):
                others = values[author != a]
            result[inside[author[inside] == a]] = np.median(others if len(others) else values)
    return pl.Series(result, dtype=pl.Float64)


def instance_frame(threads: Threads, found: Eligible, sample: pl.DataFrame, kind: Kind, seed: int) -> pl.DataFrame:
    """The frame of the sampled replies, in their order: ``sample``'s columns and all of the above."""
    schema = COMMON | (WRITTEN if kind == "text" else SCORED)
    rows = sample["row"].to_list()
    others = Others(threads, seed) if kind == "text" else None
    columns: dict[str, list[Any]] = {name: [] for name in schema}
    for row in rows:
        for name, value in _values(threads, found, row, kind, others):
            columns[name].append(value)
    for name in _IDENTITIES:
        columns[name] = _identities(threads, columns[name])
    table = pl.DataFrame({name: pl.Series(name, columns[name], dtype=dtype) for name, dtype in schema.items()})
    extra = [name for name in sample.columns if name not in schema and name != "row"]
    return table.with_columns(
        *(sample[name] for name in extra),
        none_arm=pl.int_range(pl.len()) % NONE_ARM_STEP == 0,
    )


def _identities(threads: Threads, lists: list[Ints]) -> list[list[str]]:
    """The comment ids of lists of rows, looked up at once."""
    flat = np.concatenate(lists) if lists else np.zeros(0, dtype=np.int64)
    ids = threads.comments.ids.gather(flat).to_list()
    ends = np.cumsum([len(rows) for rows in lists]).tolist()
    return [ids[end - len(rows) : end] for end, rows in zip(ends, lists, strict=True)]


def _values(
    threads: Threads, found: Eligible, row: int, kind: Kind, others: Others | None
) -> Iterator[tuple[str, object]]:
    comments, posts = threads.comments, threads.posts
    post, parent, score = int(comments.post[row]), int(comments.parent[row]), comments.score[row]
    label = _label(score, kind)
    pair = found.pairs[row]
    own, donor = found.items.row[pair.own], found.items.row[pair.donor.items]
    place = threads.places[posts.place[post]]
    shown = shown_rows(threads, row)
    yield "instance_id", comments.ids[row]
    yield "kind", kind
    yield "domain", threads.domains[posts.domain[post]]
    yield "subreddit", None if place.startswith("domain ") else place
    yield "user", threads.author_ids[int(comments.author[row])]
    yield "time", int(comments.time[row])
    yield "label", label
    yield "score", None if np.isnan(score) else int(score)
    yield "parent", comments.ids[parent] if parent >= 0 else posts.ids[post]
    yield "post", posts.ids[post]
    yield "own_items", own  # rows, made ids for all instances at once
    yield "donor", threads.author_ids[pair.donor.author]
    yield "donor_items", donor
    yield "donor_level", pair.donor.level
    yield "dose", len(own)
    yield "thread", shown.rows
    yield "thread_gap", shown.gap
    yield "thread_kept", len(shown.rows)
    yield "thread_dropped", shown.dropped
    yield "thread_kept_chars", shown.kept_chars
    yield "thread_dropped_chars", shown.dropped_chars
    yield "own_visible", int((comments.author[shown.rows] == comments.author[row]).sum())
    for who, items in (("own", own), ("donor", donor)):
        yield f"{who}_chars", [len(history_reply(threads, item)) for item in items.tolist()]
        yield f"{who}_scores", [None if np.isnan(s) else int(s) for s in comments.score[items].tolist()]
        yield f"{who}_ages", ((comments.time[row] - comments.time[items]) / DAY_US).tolist()
    if others is None:
        yield "reference", label if kind == "sign" else str(int(score))
        yield "newest_own_score", int(comments.score[own[-1]])
        yield "newest_donor_score", int(comments.score[donor[-1]])
        yield "prior_median_score", float(np.median(comments.score[own]))
        yield "prior_positive_rate", float((comments.score[own] > 0).mean())
        return
    message = message_text(threads, row)
    yield "reference", without_quotes(comments.text[row])
    yield "parent_text", message
    for who, items in (("own", own), ("donor", donor)):
        yield f"newest_{who}_reply", without_quotes(history_reply(threads, int(items[-1])))
        yield f"similar_{who}_reply", without_quotes(history_reply(threads, _most_similar(threads, items, message)))
    yield "stranger_replies", others.by_strangers(row, np.concatenate([own, donor, shown.rows]))
    yield "own_elsewhere", others.by_author(row, np.concatenate([own, donor, shown.rows]))


def _most_similar(threads: Threads, items: Ints, message: str) -> int:
    """The history item whose parent, as printed, shares most different words with the message; the newest of equals."""
    words = set(normalise(message).split())
    shared = [len(words & set(normalise(history_parent(threads, row)).split())) for row in items.tolist()]
    return int(items[max(range(len(shared)), key=lambda at: (shared[at], at))])
