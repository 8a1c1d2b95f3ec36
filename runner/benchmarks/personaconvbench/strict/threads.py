"""The corpus made ready: cleaned and masked texts in columns, everything else as arrays, in an order of content.

Posts stand by their identity and comments in preorder within them, so that nothing depends on the order of the
file: its raw and its processed form give the same arrays. Duplicate posts are gone, with their comments.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from runner.benchmarks.personaconvbench.clean import clean_text, is_deleted, is_person, is_usable, normalise
from runner.benchmarks.personaconvbench.corpus import PersonaCorpus
from runner.benchmarks.personaconvbench.strict.limits import COMMENT_CHARS, NEVER
from runner.benchmarks.personaconvbench.strict.names import DELETED, OP, Names, telling_names

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_POST_COLUMNS = ["post", "post_id", "author", "title", "content", "domain", "subreddit", "time", "duplicate"]
_COMMENT_COLUMNS = ["comment", "comment_id", "post", "parent", "order", "author", "body", "score", "time"]
_CHUNK = 50_000


@dataclass(frozen=True, eq=False)
class Posts:
    """One entry per post. ``time`` in microseconds (NEVER when unreadable), ``author`` a code or -1."""

    ids: pl.Series
    author: Ints
    time: Ints
    usable: Bools
    title: pl.Series
    body: pl.Series
    domain: Ints
    place: Ints
    first: Ints
    """Row of the post's first comment; the post's comments are ``first[p] … first[p + 1] - 1``."""


@dataclass(frozen=True, eq=False)
class Comments:
    """One entry per comment; ``parent`` is a row or -1 for the post, ``text`` is cleaned and masked, uncut."""

    ids: pl.Series
    post: Ints
    parent: Ints
    author: Ints
    time: Ints
    score: NDArray[np.float64]
    text: pl.Series
    usable: Bools
    norm: NDArray[np.uint64]
    """Hash of the cleaned text, normalised: equal for two texts that the protocol calls duplicates."""
    number: Ints
    """Time rank in the post, from 1; ties by tree order, unreadable times last."""
    label: Ints
    """0 for OP, n for ``user<n>``, -1 for a deleted author."""
    entry_chars: Ints
    """Characters of the comment as the thread block prints it, with its line end."""
    depth: Ints
    latest: Ints
    """Latest time of any ancestor, the post included; NEVER when one is unreadable."""
    end: Ints
    """One past the last descendant: the descendants of row r are ``r + 1 … end[r] - 1``."""


@dataclass(frozen=True, eq=False)
class Threads:
    """A corpus ready for the protocol. Author codes are ranks of content hashes (``author_ids``)."""

    posts: Posts
    comments: Comments
    author_ids: pl.Series
    is_person: Bools
    telling: frozenset[str]
    domains: tuple[str, ...]
    places: tuple[str, ...]
    edits_cut: int

    def __len__(self) -> int:
        return len(self.comments.post)


def clip(text: str, chars: int) -> str:
    """At most ``chars`` characters, cut between words where there is a gap, with ``…`` where something is gone."""
    if len(text) <= chars:
        return text
    head = text[: chars - 1]
    gap = max(head.rfind(" "), head.rfind("\n"))
    return (head[:gap] if gap > chars // 2 else head).rstrip() + "…"


def label_name(label: int) -> str:
    """The name that stands for a participant."""
    return OP if label == 0 else f"user{label}" if label > 0 else DELETED


def entry(number: int, parent_number: int, label: int, text: str) -> str:
    """A comment as the thread block prints it; further lines are indented, so that no text can pass for an entry."""
    shown = clip(text, COMMENT_CHARS).replace("\n", "\n  ") if text else DELETED
    return f"#{number} (to #{parent_number}) {label_name(label)}: {shown}"


@lru_cache(maxsize=1)
def ready(corpus: PersonaCorpus) -> Threads:
    """The corpus's threads, prepared once per process: select and requests both read them."""
    return prepare(corpus.posts(_POST_COLUMNS), corpus.comments(_COMMENT_COLUMNS))


def prepare(posts: pl.DataFrame, comments: pl.DataFrame) -> Threads:
    """Threads of the corpus tables (schemas POSTS and COMMENTS)."""
    posts = posts.filter(~pl.col("duplicate")).unique("post_id", keep="first", maintain_order=True)
    posts = posts.sort("post_id").with_row_index("p")
    comments = comments.join(posts.select("post", "p"), on="post").sort("p", "order").with_row_index("row")
    codes, author_ids, is_a_person = _authors(posts, comments)
    posts, comments = (table.join(codes, on="author", how="left", maintain_order="left") for table in (posts, comments))
    post = _ints(comments["p"])
    first = np.searchsorted(post, np.arange(len(posts) + 1))
    parent = _parents(comments)
    time, post_time = _times(comments["time"]), _times(posts["time"])
    depth, latest, end = _tree(parent, time, post_time[post])
    domain = posts["domain"].fill_null("unknown")
    place = posts["subreddit"].fill_null("domain " + domain)
    domains, places = sorted(set(domain)), sorted(set(place))
    telling = telling_names(codes["author"])
    texts = _Texts(posts, comments, first, parent, time, telling)
    return Threads(
        posts=Posts(
            ids=posts["post_id"],
            author=_ints(posts["code"].fill_null(-1)),
            time=post_time,
            usable=(texts.title.str.len_bytes() + texts.body.str.len_bytes() > 0).to_numpy(),
            title=texts.title,
            body=texts.body,
            domain=np.searchsorted(np.array(domains, dtype=object), domain.to_numpy()).astype(np.int64),
            place=np.searchsorted(np.array(places, dtype=object), place.to_numpy()).astype(np.int64),
            first=first,
        ),
        comments=Comments(
            ids=comments["comment_id"],
            post=post,
            parent=parent,
            author=_ints(comments["code"].fill_null(-1)),
            time=time,
            score=comments["score"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
            text=texts.text,
            usable=(texts.text.str.len_bytes() > 0).to_numpy(),
            norm=texts.norm,
            number=texts.number,
            label=texts.label,
            entry_chars=texts.entry_chars,
            depth=depth,
            latest=latest,
            end=end,
        ),
        author_ids=author_ids,
        is_person=is_a_person,
        telling=telling,
        domains=tuple(domains),
        places=tuple(places),
        edits_cut=texts.edits_cut,
    )


def _ints(series: pl.Series) -> Ints:
    return series.cast(pl.Int64).to_numpy()


def _times(series: pl.Series) -> Ints:
    return series.dt.epoch("us").fill_null(NEVER).to_numpy()


def _authors(posts: pl.DataFrame, comments: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series, Bools]:
    """``(author, code)`` of every name that is not deleted, the hashes by code, and who is a person."""
    names = pl.concat([posts["author"], comments["author"]]).drop_nulls().unique()
    names = pl.Series("author", [name for name in names if is_usable(name)], dtype=pl.String)
    hashes = [hashlib.sha256(f"author\x1f{name}".encode("utf-8", "surrogatepass")).hexdigest()[:24] for name in names]
    table = pl.DataFrame({"author": names, "hash": pl.Series(hashes, dtype=pl.String)}).sort("hash")
    people = np.array([is_person(name) for name in table["author"]], dtype=bool)
    codes = table.select("author").with_row_index("code").with_columns(pl.col("code").cast(pl.Int64))
    return codes, table["hash"], people


def _parents(comments: pl.DataFrame) -> Ints:
    """Row of each comment's parent, -1 for the post, from the file's own numbers."""
    if comments.is_empty():
        return np.zeros(0, dtype=np.int64)
    number, parent = _ints(comments["comment"]), _ints(comments["parent"])
    row_of = np.full(int(number.max()) + 1, -1, dtype=np.int64)
    row_of[number] = np.arange(len(number))
    return np.where(parent < 0, -1, row_of[np.maximum(parent, 0)])


def _tree(parent: Ints, time: Ints, post_time: Ints) -> tuple[Ints, Ints, Ints]:
    """Depth (0 = top level), latest ancestor's time, and subtree end of every row; one pass per level."""
    depth = np.zeros(len(parent), dtype=np.int64)
    latest = post_time.copy()
    size = np.ones(len(parent), dtype=np.int64)
    active = np.flatnonzero(parent >= 0)
    ancestor = parent[active]
    while active.size:
        depth[active] += 1
        latest[active] = np.maximum(latest[active], time[ancestor])
        np.add.at(size, ancestor, 1)
        ancestor = parent[ancestor]
        deeper = ancestor >= 0
        active, ancestor = active[deeper], ancestor[deeper]
    return depth, latest, np.arange(len(parent)) + size


class _Texts:
    """The one pass over all texts: clean, mask, number, name and measure, post by post."""

    def __init__(
        self,
        posts: pl.DataFrame,
        comments: pl.DataFrame,
        first: Ints,
        parent: Ints,
        time: Ints,
        telling: frozenset[str],
    ) -> None:
        n = len(comments)
        self.norm = np.zeros(n, dtype=np.uint64)
        self.number, self.label, self.entry_chars = (np.zeros(n, dtype=np.int64) for _ in range(3))
        self.edits_cut = 0
        titles: list[str] = []
        bodies: list[str] = []
        chunks: list[pl.Series] = []
        held: list[str] = []
        for p, (author, title, content) in enumerate(posts.select("author", "title", "content").iter_rows()):
            low, high = int(first[p]), int(first[p + 1])
            rows = comments[low:high]
            authors = rows["author"].to_list()
            self.number[low:high] = _ranks(time[low:high])
            labels = _labels(author, authors, self.number[low:high])
            since = _since(labels, authors, self.number[low:high])
            names = Names({name: label_name(label) for name, label in labels.items()}, telling, since)
            self.label[low:high] = [labels.get(name, -1) for name in authors]
            titles.append(names.mask(_title(title), 0))
            bodies.append(names.mask(self._clean(content), 0))
            for row, body in enumerate(rows["body"].to_list(), low):
                text = self._clean(body)
                shown = names.mask(text, int(self.number[row]))
                up = int(parent[row])
                self.norm[row] = _hash64(normalise(text))
                self.entry_chars[row] = 1 + len(
                    entry(int(self.number[row]), int(self.number[up]) if up >= 0 else 0, int(self.label[row]), shown)
                )
                held.append(shown)
            if len(held) >= _CHUNK:
                chunks.append(pl.Series(held, dtype=pl.String))
                held = []
        chunks.append(pl.Series("text", held, dtype=pl.String))
        self.text = pl.concat(chunks, rechunk=True)
        self.title = pl.Series("title", titles, dtype=pl.String)
        self.body = pl.Series("body", bodies, dtype=pl.String)

    def _clean(self, raw: str | None) -> str:
        text, was_cut = clean_text(raw)
        self.edits_cut += was_cut
        return text if is_usable(text) else ""


def _title(raw: str | None) -> str:
    """One line. Titles are not cut at edit markers: reddit's cannot be edited, and many begin with "Update:"."""
    text = " ".join((raw or "").split())
    return "" if is_deleted(text) else text


def _ranks(time: Ints) -> Ints:
    ranks = np.empty(len(time), dtype=np.int64)
    ranks[np.argsort(time, kind="stable")] = np.arange(1, len(time) + 1)
    return ranks


def _labels(op: str | None, authors: list[str | None], number: Ints) -> dict[str, int]:
    """0 for OP, 2, 3, … for the others by first appearance in time; the deleted have none."""
    labels: dict[str, int] = {op: 0} if is_usable(op) and op is not None else {}
    following = 2
    for at in np.argsort(number):
        name = authors[int(at)]
        if name is not None and name not in labels and is_usable(name):
            labels[name] = following
            following += 1
    return labels


def _since(labels: dict[str, int], authors: list[str | None], number: Ints) -> dict[str, int]:
    """The time rank of each participant's first comment, by shown name; OP is known from the post on."""
    since: dict[str, int] = {}
    for name, rank in zip(authors, number.tolist(), strict=True):
        label = labels.get(name, 0) if name is not None else 0
        if label > 0:
            shown = label_name(label)
            since[shown] = min(since.get(shown, rank), rank)
    return since


def _hash64(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
