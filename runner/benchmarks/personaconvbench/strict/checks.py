"""Before writing: nothing hidden is in what is sent, by identity and on the final bytes. A violation stops all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from runner.benchmarks.personaconvbench.strict.limits import DAY_US, MAX_ITEMS, THREAD_CHARS, Kind, Switches
from runner.benchmarks.personaconvbench.strict.names import holds_link
from runner.benchmarks.personaconvbench.strict.overlap import overlaps, without_quotes
from runner.benchmarks.personaconvbench.strict.prompts import BLOCKS, Block, Sources, visible_texts
from runner.benchmarks.personaconvbench.strict.threads import Ints, Threads
from runner.errors import RunnerError

_TAGS: Mapping[Block, str] = {
    "instruction": "instruction",
    "post": "post",
    "thread": "thread",
    "own": 'history author="OP"',
    "donor": 'history author="another user"',
    "question": "question",
}
_HISTORY_TAGS = {"history", "item", "title", "parent", "reply", "score"}
_OUR_TAG = re.compile(
    r"<\s*/?\s*(instruction|post|thread|history|item|title|parent|reply|score|target|message|question)\b", re.IGNORECASE
)
_RUN = re.compile(r"[a-zA-Z0-9]+")
_TEXTS_KEPT = 16_384
"""Texts whose answer is remembered: an author's instances share most of their history."""


def check_identities(threads: Threads, sources: Sources, kind: Kind, switches: Switches) -> None:
    """Every node that the prompts show was there before the target, belongs where it stands, and is not the target.

    Raises RunnerError naming the instance and what is wrong.
    """
    comments, posts = threads.comments, threads.posts
    row, own, donor = sources.row, sources.own, sources.donor
    post, author, time = int(comments.post[row]), int(comments.author[row]), int(comments.time[row])
    lag = switches.history_lag_days * DAY_US
    descendants = range(row, int(comments.end[row]))
    thread = sources.thread
    parent = int(comments.parent[row])
    shown = np.concatenate([thread, own, donor])
    shown = np.concatenate([shown, _parents(threads, shown), _parents(threads, np.array([row]))])
    donors = set(comments.author[donor].tolist())
    wrote_in_post = set(comments.author[posts.first[post] : posts.first[post + 1]].tolist())
    history_posts = comments.post[np.concatenate([own, donor])]
    problems = {
        "a comment at or after the reply is shown": (comments.time[shown] >= time).any()
        or (posts.time[history_posts] >= time).any()
        or posts.time[post] >= time,
        "the reply or something below it is shown": any(int(node) in descendants for node in shown),
        "a comment of another post is in the thread": (comments.post[thread] != post).any(),
        "the parent is missing from the thread": parent >= 0 and parent not in thread,
        "the own history is not the author's": (comments.author[own] != author).any(),
        "a history holds a reply of the same post": (history_posts == post).any(),
        "a history item is too recent": (comments.time[np.concatenate([own, donor])] > time - lag).any(),
        "the histories differ in number or exceed the limit": len(own) != len(donor) or len(own) > MAX_ITEMS,
        "the history is shorter than min_history": len(own) < min(switches.min_history, MAX_ITEMS),
        "the donor is not one other author": len(donors) != 1 or author in donors or -1 in donors,
        "the donor wrote in the post": bool(donors & (wrote_in_post | {int(posts.author[post])})),
        "the donor wrote a text in the own history": bool(donors & _text_authors(threads, own)),
        "the donor's history holds a text by the author": author in _text_authors(threads, donor),
        "a history item has no score": kind != "text" and np.isnan(comments.score[np.concatenate([own, donor])]).any(),
    }
    _refuse_any(threads, row, problems)


def check_bytes(
    threads: Threads, sources: Sources, parts: Mapping[Block, str], prompts: Mapping[str, str], kind: Kind
) -> None:
    """The final texts, whatever made them: layout, budget, scores, links, names, the reference of 3.3.

    ``prompts`` by setting. They must consist of the declared blocks and nothing else, so that the same block is
    byte-identical wherever it appears. Raises RunnerError naming the instance and what is wrong.
    """
    dose = len(sources.own)
    for setting, prompt in prompts.items():
        if prompt.encode() != "\n".join(parts[block] for block in BLOCKS[setting]).encode():
            _refuse(threads, sources.row, f"the prompt of {setting} is not made of its declared blocks")
    wanted = {**_TAGS, "item": "message" if kind == "text" else "target"}
    for block, text in parts.items():
        tag = wanted[block]
        name = tag.split()[0]
        inner = text[len(tag) + 2 : -len(name) - 3]
        tags = [found.lower() for found in _OUR_TAG.findall(inner)]
        problems: dict[str, object] = {
            f"the {block} block does not stand in its tag": not (
                text.startswith(f"<{tag}>") and text.endswith(f"</{name}>")
            ),
            f"the {block} block holds a tag that is not its own": bool(
                set(tags) - (_HISTORY_TAGS - {"history"} if name == "history" else set())
            ),
        }
        if name == "history":
            scores = 0 if kind == "text" else dose
            problems["a history does not hold one reply and one score per item"] = (
                tags.count("item"),
                tags.count("reply"),
                tags.count("score"),
                inner.count("<score>"),
            ) != (2 * dose, 2 * dose, 2 * scores, scores)
        if name == "thread":
            problems["the thread is longer than its budget"] = len(inner.strip("\n")) > THREAD_CHARS
        _refuse_any(threads, sources.row, problems)
    texts = visible_texts(parts)
    _check_names(threads, sources, texts)
    if kind == "text" and overlaps(without_quotes(threads.comments.text[sources.row]), texts):
        _refuse(threads, sources.row, "the text to be written can be read in a prompt")


def _check_names(threads: Threads, sources: Sources, texts: Sequence[str]) -> None:
    for text in texts:
        link = holds_link(text)
        if link is not None:
            _refuse(threads, sources.row, f"a prompt holds the link {link!r}")
        name = known_name(text, threads.telling)
        if name is not None:
            _refuse(threads, sources.row, f"a prompt holds the name {name!r}")


@lru_cache(maxsize=_TEXTS_KEPT)
def known_name(text: str, telling: frozenset[str]) -> str | None:
    """A telling name that stands in the text between non-alphanumerics, or None; not by the masker's ways."""
    by_run = _by_first_run(telling)
    text = text.replace("\\_", "_").replace("\\-", "-")
    for seen, lower in ((text, False), (text.casefold(), True)):
        for run in _RUN.finditer(seen):
            for offset, length in by_run.get(run[0], ()):
                low = run.start() - offset
                name = seen[low : low + length] if low >= 0 else ""
                if name not in telling or lower is not (name == name.lower()):
                    continue
                if not _alphanumeric(seen[low - 1 : low]) and not _alphanumeric(seen[low + length : low + length + 1]):
                    return name
    return None


def _alphanumeric(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


@lru_cache(maxsize=1)
def _by_first_run(telling: frozenset[str]) -> Mapping[str, frozenset[tuple[int, int]]]:
    """By a name's first run of letters and digits: where in the name it stands, and how long the name is."""
    found: dict[str, set[tuple[int, int]]] = {}
    for name in telling:
        run = _RUN.search(name)
        if run is not None:
            found.setdefault(run[0], set()).add((run.start(), len(name)))
    return {run: frozenset(places) for run, places in found.items()}


def _parents(threads: Threads, rows: Ints) -> Ints:
    parents = threads.comments.parent[rows]
    return parents[parents >= 0]


def _text_authors(threads: Threads, rows: Ints) -> set[int]:
    """Who wrote the titles and the parents of history items."""
    parents = _parents(threads, rows)
    found = set(threads.posts.author[threads.comments.post[rows]].tolist())
    return (found | set(threads.comments.author[parents].tolist())) - {-1}


def _refuse_any(threads: Threads, row: int, problems: Mapping[str, object]) -> None:
    for problem, holds in problems.items():
        if holds:
            _refuse(threads, row, problem)


def _refuse(threads: Threads, row: int, problem: str) -> None:
    raise RunnerError(
        f"Instance {threads.comments.ids[row]} would break the strict protocol: {problem}; "
        "nothing was written. Build from an unchanged corpus, or report this.",
        code="leak",
    )
