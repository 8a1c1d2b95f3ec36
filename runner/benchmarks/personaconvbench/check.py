"""What a corpus holds, said for the user before anything is bought."""

from __future__ import annotations

import polars as pl

from runner.benchmarks.base import Corpus
from runner.benchmarks.personaconvbench.clean import is_person
from runner.benchmarks.personaconvbench.corpus import PersonaCorpus

_FORMS = {
    "raw": "raw (a list of posts)",
    "processed": "processed ({author: posts})",
    "lines": "JSON lines",
}
_MOST = 8  # subreddits named in full


def check(corpus: Corpus) -> dict[str, object]:
    """Label and value, in the order of a table: what was found, then what cannot be used and why, with counts.

    Authors are people that can be told apart: deleted names and bots are not among them.
    """
    assert isinstance(corpus, PersonaCorpus)
    about = corpus.about()
    posts = corpus.posts(["author", "domain", "subreddit", "time"])
    comments = corpus.comments(["author", "time"])
    writers, repliers = _people(posts["author"]), _people(comments["author"])
    packed = "" if about["compression"] == "none" else f", {about['compression']}"
    lines: dict[str, object] = {
        "form": f"{_FORMS[about['form']]}{packed}, {about['bytes']:,} bytes",
        "posts": about["posts"],
        "comments": about["comments"],
        "post authors": len(writers),
        "comment authors": len(repliers),
        "authors": len(writers | repliers),
        "domains": _counted(posts["domain"], None),
        "subreddits": _counted(posts["subreddit"], _MOST),
        "first text": _day(pl.concat([posts["time"], comments["time"]]).min()),
        "last text": _day(pl.concat([posts["time"], comments["time"]]).max()),
        "deepest reply": about["depth"],
    }
    lines.update({f"note: {reason}": count for reason, count in about["notes"].items()})
    return lines


def _people(authors: pl.Series) -> set[str]:
    return {author for author in authors.unique() if is_person(author)}


def _counted(names: pl.Series, most: int | None) -> str:
    """``art 120, books 90 and 3 more; none 14``: most frequent first, equals by name."""
    found = names.drop_nulls().value_counts().sort(["count", names.name], descending=[True, False])
    shown = ", ".join(f"{name} {count:,}" for name, count in found.head(most or len(found)).iter_rows())
    rest = f" and {len(found) - most:,} more" if most and len(found) > most else ""
    missing = f"; none {names.null_count():,}" if names.null_count() else ""
    return f"{shown}{rest}{missing}".removeprefix("; ")


def _day(time: object) -> str:
    return "unknown" if time is None else str(time)[:10]
