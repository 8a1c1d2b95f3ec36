"""Small corpora for the tests of the paper protocol: by hand, or at random with every quirk."""

import json
import random
from pathlib import Path
from typing import Any

from runner.benchmarks.base import Context, Options, Selection
from runner.benchmarks.personaconvbench import paper
from runner.benchmarks.personaconvbench.convert import load
from runner.benchmarks.personaconvbench.corpus import PersonaCorpus
from runner.request import Request

Json = dict[str, Any]


def at(minute: float) -> str:
    """A naive time, so many minutes after midnight."""
    return f"2022-03-04 {int(minute) // 60:02}:{int(minute) % 60:02}:{int(minute * 60) % 60:02}"


def comment(
    author: str | None, body: str | None, score: Any = 1, minute: float = 1, *replies: Json, **other: Any
) -> Json:
    """One comment with its replies."""
    mine = {"body": body, "author": author, "score": score, "timestamp": at(minute), "replies": list(replies)}
    return mine | other


def post(*comments: Json, author: str = "op", **other: Any) -> Json:
    """One post; its time is midnight."""
    mine = {"title": "The title", "url": "https://example.org", "content": "The content", "__sub__": "books"}
    mine |= {"score": 50, "author": author, "timestamp": at(0), "comments": list(comments)}
    return mine | other


def opened(tmp_path: Path, posts: list[Json]) -> PersonaCorpus:
    """The corpus made of these posts."""
    source = tmp_path / "corpus.json"
    source.write_text(json.dumps(posts))
    return load(source, tmp_path / "corpora" / "c")


def selected(corpus: PersonaCorpus, kind: paper.Kind, *settings: str, **options: Any) -> Selection:
    """Select for these settings (all when none is named)."""
    return paper.select(corpus, Options(settings=settings or paper.SETTINGS, **options), kind)


def sent(corpus: PersonaCorpus, kind: paper.Kind, *settings: str, window: int = 10**6, **options: Any) -> list[Request]:
    """The requests of the whole selection."""
    chosen = Options(settings=settings or paper.SETTINGS, **options)
    context = Context(corpus, chosen, count_tokens=lambda text: len(text.split()), window_tokens=window)
    return list(paper.requests(paper.select(corpus, chosen, kind).frame, context))


def prompts(corpus: PersonaCorpus, kind: paper.Kind, setting: str, **options: Any) -> list[str]:
    """What is sent in one setting, in order."""
    return [request.body.messages[0].content for request in sent(corpus, kind, setting, **options)]


_BODIES = ["[deleted]", "[removed]", "[Deleted]", "", None, "  \n ", "line\r\nline"]
_TIMES = [
    None,
    "yesterday",
    "",
    1646352000,
    "2022-03-04T05:06:07Z",
    "2022-03-04T05:06:07.25",
    "2022-03-04T05:06:07+02:00",
]
_SCORES = [None, "7", True, False, 2.5, -3, 0, 40, -40]


def random_corpus(seed: int, size: int = 25) -> list[Json]:
    """Posts with nulls, odd scores and times, deleted text, missing keys, and members that are no comments."""
    rng = random.Random(seed)
    authors = [f"user{n}" for n in range(6)]

    def one(op: str, depth: int) -> Any:
        if rng.random() < 0.02:
            return rng.choice([None, "more", 7])
        author = rng.choice([op, op, *authors, "[deleted]", "", None]) if rng.random() < 0.9 else op
        body = rng.choice(_BODIES) if rng.random() < 0.15 else f"words {rng.randrange(10**6)}"
        score = rng.choice(_SCORES) if rng.random() < 0.3 else rng.randrange(-30, 31)
        made = comment(author, body, score, rng.randrange(0, 60))  # equal times happen
        if rng.random() < 0.15:
            made["timestamp"] = rng.choice(_TIMES)
        made["replies"] = [one(op, depth + 1) for _ in range(rng.choice([0, 0, 1, 1, 2]))] if depth < 6 else None
        if rng.random() < 0.05:
            del made[rng.choice(list(made))]
        return made

    posts = []
    for _ in range(size):
        op = rng.choice(authors)
        content = rng.choice(["Some content", "", "[removed]", None])
        posts.append(post(*(one(op, 0) for _ in range(rng.randrange(7))), author=op, content=content))
        posts[-1]["title"] = f"Title {len(posts)}"
    return posts
