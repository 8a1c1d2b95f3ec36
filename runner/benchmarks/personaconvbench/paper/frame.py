"""The instances' table: one row per target, with references into the corpus instead of texts."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import polars as pl

from runner.benchmarks.base import Funnel, Options, Selection
from runner.benchmarks.personaconvbench.emptied import emptied
from runner.benchmarks.personaconvbench.paper.posts import Posts
from runner.benchmarks.personaconvbench.paper.thread import Thread, clean, node_id

Kind = Literal["sign", "value", "text"]
SETTINGS = ("p-conv", "p-nonconv", "np-conv")
IN_SETTINGS = "in the settings asked for"
_WAYS = {IN_SETTINGS: "all of the settings (no `SETTING`)"}

COLUMNS: dict[str, pl.DataType] = {
    "instance_id": pl.String(),
    "kind": pl.String(),  # sign, value or text
    "reference": pl.String(),  # sign: positive or negative; value: the number; text: the cleaned reply
    "domain": pl.String(),
    "user": pl.String(),  # hash of the owner's name
    "time": pl.Datetime("us", "UTC"),
    "weight": pl.Float64(),  # 1: nothing is weighted here
    "score": pl.Float64(),  # the target's votes; null in text
    "target": pl.String(),  # positional id, u4p4-c1-c5
    "in_settings": pl.List(pl.String()),
    "few_shot": pl.String(),  # p-conv's example: dynamic or default; null outside p-conv
    "place": pl.UInt32(),  # of the post, in Posts
    "donor": pl.UInt32(),  # place of np-conv's other post; null outside np-conv
    "example": pl.String(),  # sign, value: the answer that p-conv's example shows
    "donor_example": pl.String(),  # sign, value: the answer that np-conv's example shows
    "parent": pl.String(),  # text: what the target answers
}


@dataclass
class Row:
    """A selected target before it is a row; ``donor`` and ``in_settings`` are known last."""

    identity: str
    kind: Kind
    reference: str
    domain: str
    user: str
    time: datetime | None
    score: float | None
    target: str
    place: int
    in_settings: tuple[str, ...] = SETTINGS
    few_shot: str | None = None
    donor: int | None = None
    example: str | None = None
    donor_example: str | None = None
    parent: str | None = None


def describe(kind: Kind, posts: Posts, place: int, thread: Thread, target: int, reference: str) -> Row:
    """The row of one target, without what depends on examples. Identity is content, never position in a file."""
    node, post = thread[target], thread[0].fields
    path = node_id(thread, target, "")
    of_post = [clean(post.get(key)) for key in ("timestamp", "title", "url")]
    of_reply = [clean(node.fields.get(key)) for key in ("timestamp", "body")]
    domain = post.get("__sub__")
    return Row(
        identity="\x1f".join((kind, posts.owners[place], *of_post, path, *of_reply)),
        kind=kind,
        reference=reference,
        domain=domain if isinstance(domain, str) and domain else "unknown",
        user=_hash(posts.owners[place]),
        time=node.time,
        score=None if node.score is None or kind == "text" else float(node.score),
        target=posts.ids[place] + path,
        place=place,
    )


def selection(rows: list[Row], options: Options, funnel: Funnel) -> Selection:
    """Rows in the reference's order as a Selection: those of the settings asked for, cut to the limit."""
    asked = set(options.settings)
    rows = found = [row for row in rows if asked & set(row.in_settings)]
    steps = [*funnel.steps, (IN_SETTINGS, len(rows))]
    if options.limit is not None:
        rows = rows[: options.limit]
        steps.append((f"first {options.limit} in the reference's order", len(rows)))
    seen: Counter[str] = Counter()
    table: dict[str, list[object]] = {column: [] for column in COLUMNS}
    for row in rows:
        seen[row.identity] += 1
        values = vars(row) | {
            "instance_id": _hash(f"{row.identity}\x1f{seen[row.identity]}"),
            "in_settings": list(row.in_settings),
            "weight": 1.0,
        }
        for column, cells in table.items():
            cells.append(values[column])
    explanation = None if rows else f"Of the paper's rules: {emptied(steps, _WAYS)}"
    caution = _one_class(found, len(rows))
    return Selection(pl.DataFrame(table, schema=COLUMNS), Funnel(tuple(steps), funnel.notes), explanation, caution)


def _one_class(rows: Sequence[Row], n: int) -> str | None:
    """What is to be said where the first ``n`` are of one class and the others are not."""
    signs = [(row.score or 0) > 0 for row in rows if row.kind != "text"]
    if not 0 < n < len(signs) or len(set(signs[:n])) > 1 or len(set(signs)) == 1:
        return None
    other = signs.index(not signs[0])
    kind, rest = ("positive", "negatives") if signs[0] else ("negative", "positives")
    return (
        f"LIMIT took {n:,} instances of one class, all {kind}: this protocol's order has the negatives first, and "
        f"{rest} begin after {other:,} instances; nothing here says how well a model tells the classes apart"
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
