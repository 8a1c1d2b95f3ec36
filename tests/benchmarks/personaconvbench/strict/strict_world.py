"""A small corpus by hand in which exactly one reply is an instance, until a test changes one thing."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from runner.benchmarks.base import Context, Options, Selection
from runner.benchmarks.personaconvbench import strict
from runner.benchmarks.personaconvbench.convert import load
from runner.benchmarks.personaconvbench.corpus import PersonaCorpus

OP, PARENT, DONOR, HOST = "ann_op_1", "ben_parent_2", "dan_donor_3", "hal_host_4"
TARGET_TEXT = "Nobody in our village ever repaired that old stone bridge properly"
Node = dict[str, Any]
_numbers = count()


def at(day: float) -> str:
    return (datetime(2020, 1, 1) + timedelta(days=day)).strftime("%Y-%m-%d %H:%M:%S")


def comment(author: str | None, body: str, day: float, *replies: Node, score: Any = 10) -> Node:
    return {"author": author, "body": body, "timestamp": at(day), "score": score, "replies": list(replies)}


def post(author: str | None, title: str, day: float, *comments: Node, **fields: Any) -> Node:
    made = {"author": author, "title": title, "timestamp": at(day), "score": 50, "comments": list(comments)}
    return made | {"content": f"About {title}.", "url": "", "__sub__": "books"} | fields


def written(author: str, days: list[float], *, host: str = HOST, text: str = "habit", **fields: Any) -> list[Node]:
    """One post per day by ``host`` in which ``author`` answers the post: history items."""
    return [
        post(host, f"{text} {author} {day}", day - 1, comment(author, f"{text} {author} wrote on {day}", day), **fields)
        for day in days
    ]


def target(body: str = TARGET_TEXT, day: float = 100, **fields: Any) -> Node:
    return comment(OP, body, day, **fields)


def parent(
    *replies: Node, author: str | None = PARENT, body: str = "Is the bridge safe for carts?", day: float = 99
) -> Node:
    return comment(author, body, day, *replies)


def bystander(day: float = 98.5) -> Node:
    return comment("eve_other_5", "I crossed it twice last winter.", day)


def world(
    *comments: Node, own: list[Node] | None = None, donors: list[Node] | None = None, **fields: Any
) -> list[Node]:
    """The target's post, three own history items, one donor with three."""
    own = written(OP, [60, 70, 80]) if own is None else own
    donors = written(DONOR, [61, 71, 81], host="ivy_host_6") if donors is None else donors
    day = fields.pop("day", 98)
    author, title = fields.pop("author", OP), fields.pop("title", "The old bridge")
    return [post(author, title, day, *(comments or (parent(target()), bystander())), **fields), *own, *donors]


def open_corpus(posts: Any, folder: Path) -> PersonaCorpus:
    number = next(_numbers)
    source = folder / f"corpus-{number}.json"
    source.write_text(json.dumps(posts))
    return load(source, folder / f"opened-{number}")


def options(
    limit: int | None = None, seed: int = 0, settings: tuple[str, ...] = strict.SETTINGS, **variants: Any
) -> Options:
    return Options(settings, limit=limit, seed=seed, variants=variants)


def select(posts: Any, folder: Path, kind: Any = "sign", *, all_scores: bool = False, **variants: Any) -> Selection:
    return strict.select(open_corpus(posts, folder), options(**variants), kind, all_scores=all_scores)


def prompts(
    corpus: PersonaCorpus, selection: Selection, settings: tuple[str, ...] = strict.SETTINGS
) -> list[dict[str, str]]:
    """The prompts of each instance, by setting, in order."""
    context = Context(corpus, options(settings=settings), len, 100_000)
    found: dict[str, dict[str, str]] = {}
    for request in strict.requests(selection.frame, context):
        (message,) = request.body.messages
        found.setdefault(request.instance_id, {})[request.setting] = message.content
    return list(found.values())


def taken_by(selection: Selection) -> str:
    """The rule that took the last reply, or "" when one is left."""
    return next((rule for rule, left in selection.funnel.steps if left == 0), "")
