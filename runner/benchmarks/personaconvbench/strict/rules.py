"""The six rules of an instance, one after the other, with what was left after each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from runner.benchmarks.personaconvbench.clean import normalise
from runner.benchmarks.personaconvbench.emptied import emptied
from runner.benchmarks.personaconvbench.strict.donors import Donor, Donors
from runner.benchmarks.personaconvbench.strict.history import Items, history_items, own_history, wanted_items
from runner.benchmarks.personaconvbench.strict.limits import (
    DAY_US,
    MAX_ITEMS,
    MAX_PER_AUTHOR,
    MIN_ABS_SCORE,
    MIN_AUTHORS_FOR_DEV,
    MIN_WORDS,
    NEVER,
    Kind,
    Switches,
    draw,
)
from runner.benchmarks.personaconvbench.strict.overlap import may_overlap, overlaps, without_quotes
from runner.benchmarks.personaconvbench.strict.prompts import Sources, blocks, visible_texts
from runner.benchmarks.personaconvbench.strict.threads import Bools, Ints, Threads
from runner.benchmarks.personaconvbench.strict.visible import shown_rows, shows_another

A_DONOR = "4 a donor"
FAR_SCORE = f"5 |score| of at least {MIN_ABS_SCORE}"


@dataclass(frozen=True, eq=False)
class Pair:
    """A target's two histories: indices into Items."""

    own: Ints
    donor: Donor


@dataclass(frozen=True, eq=False)
class Eligible:
    """The replies that every rule left, with their histories, and the steps of the funnel."""

    rows: Ints
    pairs: dict[int, Pair]
    items: Items
    steps: tuple[tuple[str, int], ...]
    clock: int


@dataclass
class _Funnel:
    rows: Ints
    steps: list[tuple[str, int]] = field(default_factory=list)

    def keep(self, rule: str, mask: Bools) -> None:
        self.rows = self.rows[mask]
        self.steps.append((rule, len(self.rows)))


def eligible(threads: Threads, kind: Kind, switches: Switches, seed: int) -> Eligible:
    """Apply the rules in their order. Rows come back in the order of posts' identities and of the tree."""
    comments, posts = threads.comments, threads.posts
    histories = _Histories(threads, kind, switches, seed)
    op = posts.author[comments.post]
    person = np.append(threads.is_person, False)[comments.author]
    funnel = _Funnel(np.arange(len(threads)))
    funnel.steps.append(("comments", len(threads)))
    funnel.keep("replies by the post's author", (comments.author == op) & person)
    split = "dev split" if switches.dev else "report split"
    funnel.keep(split, _in_dev(threads)[comments.author[funnel.rows]] == switches.dev)
    funnel.keep("1 reply and parent usable, parent not his own", _rule1(threads, funnel.rows))
    before = len(funnel.rows)
    late = (comments.time[funnel.rows] == NEVER) | (comments.latest[funnel.rows] >= comments.time[funnel.rows])
    funnel.keep("2 every ancestor earlier", ~late)
    clock = before - len(funnel.rows)
    funnel.keep("3 the thread shows another's comment", _rule3(threads, funnel.rows, kind))
    pairs = histories.pairs(funnel.rows)
    own_enough = [own is not None for own in histories.own.values()]
    funnel.keep(_enough(switches), np.array(own_enough, dtype=bool))
    funnel.keep(A_DONOR, np.array([int(row) in pairs for row in funnel.rows], dtype=bool))
    if kind == "text":
        references = [without_quotes(text) for text in comments.text.gather(funnel.rows)]
        long_enough = [len(normalise(reference).split()) >= MIN_WORDS for reference in references]
        funnel.keep(f"5 a reference of at least {MIN_WORDS} words", np.array(long_enough, dtype=bool))
        funnel.keep("5 the overlap rule", ~_overlapping(threads, funnel.rows, histories, pairs))
    elif kind == "value-all":
        funnel.keep("5 a numeric score", ~np.isnan(comments.score[funnel.rows]))
    else:
        far = np.abs(comments.score[funnel.rows]) >= MIN_ABS_SCORE  # false for NaN
        funnel.keep(FAR_SCORE, far)
    funnel.keep("6 a text not used before by its author", ~_used_before(threads)[funnel.rows])
    funnel.keep(f"6 at most {MAX_PER_AUTHOR} per author", _capped(threads, funnel.rows, seed))
    return Eligible(funnel.rows, pairs, histories.items, tuple(funnel.steps), clock)


def _in_dev(threads: Threads) -> Bools:
    """Per author: a tenth by hash where 200 persons or more wrote posts, nobody otherwise. No seed enters it."""
    people = np.unique(threads.posts.author[threads.posts.author >= 0])
    dev = np.zeros(len(threads.author_ids), dtype=bool)
    if threads.is_person[people].sum() >= MIN_AUTHORS_FOR_DEV:
        dev[people] = [draw("dev", threads.author_ids[int(code)]) % 10 == 0 for code in people]
    return dev


def _rule1(threads: Threads, rows: Ints) -> Bools:
    comments, posts = threads.comments, threads.posts
    parent = comments.parent[rows]
    to_post = parent < 0
    by_other = to_post | (comments.author[parent] != comments.author[rows])
    usable = np.where(to_post, posts.usable[comments.post[rows]], comments.usable[parent])
    result: Bools = comments.usable[rows] & usable & by_other
    return result


def _rule3(threads: Threads, rows: Ints, kind: Kind) -> Bools:
    """A parent that is a comment is always shown, and by rule 1 usable and another's; 3.3 needs one more."""
    besides = kind == "text"
    return np.array(
        [
            (threads.comments.parent[row] >= 0 and not besides)
            or shows_another(threads, row, shown_rows(threads, row).rows, besides_parent=besides)
            for row in rows.tolist()
        ],
        dtype=bool,
    )


class _Histories:
    """The histories of targets; the own ones are kept by row, None where they are too short."""

    def __init__(self, threads: Threads, kind: Kind, switches: Switches, seed: int) -> None:
        self.threads, self.kind, self.switches, self.seed = threads, kind, switches, seed
        self.items = history_items(threads, scored=kind != "text")
        self.own: dict[int, Ints | None] = {}

    def pairs(self, rows: Ints) -> dict[int, Pair]:
        switches, posts, comments = self.switches, self.threads.posts, self.threads.comments
        lag = switches.history_lag_days * DAY_US
        donors = Donors(self.threads, self.items)
        found: dict[int, Pair] = {}
        post, in_post = -1, frozenset[int]()
        for row in rows.tolist():
            own = own_history(self.threads, self.items, row, lag, wanted_items(switches.min_history))
            self.own[row] = own[-MAX_ITEMS:] if len(own) >= switches.min_history else None
            if len(own) < switches.min_history:
                continue
            if comments.post[row] != post:
                post = int(comments.post[row])
                in_post = frozenset(comments.author[posts.first[post] : posts.first[post + 1]].tolist())
            own = own[-MAX_ITEMS:]
            donor = donors.find(row, own, in_post, lag, self.seed, match_length=switches.match_length)
            if donor is not None:
                found[row] = Pair(own, donor)
        return found


def sources_of(threads: Threads, items: Items, row: int, pair: Pair) -> Sources:
    """What an instance's prompts are made of."""
    shown = shown_rows(threads, row)
    return Sources(row, shown.rows, shown.gap, items.row[pair.own], items.row[pair.donor.items])


def _overlapping(threads: Threads, rows: Ints, histories: _Histories, pairs: dict[int, Pair]) -> Bools:
    out = may_overlap(threads, rows)
    for at in np.flatnonzero(out):
        row = int(rows[at])
        parts = blocks(threads, sources_of(threads, histories.items, row, pairs[row]), "text")
        out[at] = overlaps(without_quotes(threads.comments.text[row]), visible_texts(parts))
    return out


def _used_before(threads: Threads) -> Bools:
    """Per comment: whether its author used the same normalised text in an earlier usable comment, anywhere.

    Texts of the same instant are told apart by identity, then by place in the tree.
    """
    comments = threads.comments
    rows = np.flatnonzero(comments.usable & (comments.author >= 0))
    identity = comments.ids.gather(rows).rank("dense").to_numpy() if len(rows) else rows
    order = rows[np.lexsort((rows, identity, comments.time[rows], comments.norm[rows], comments.author[rows]))]
    again = (comments.author[order][1:] == comments.author[order][:-1]) & (
        comments.norm[order][1:] == comments.norm[order][:-1]
    )
    used = np.zeros(len(threads), dtype=bool)
    used[order[1:][again]] = True
    return used


def _capped(threads: Threads, rows: Ints, seed: int) -> Bools:
    """The 10 lowest hashes per author."""
    hashes = np.array([draw(seed, "cap", identity) for identity in threads.comments.ids.gather(rows)], dtype=np.uint64)
    author = threads.comments.author[rows]
    order = np.lexsort((hashes, author))
    rank = np.arange(len(rows)) - np.searchsorted(author[order], author[order], side="left")
    kept = np.zeros(len(rows), dtype=bool)
    kept[order[rank < MAX_PER_AUTHOR]] = True
    return kept


def why_none(steps: Sequence[tuple[str, int]], kind: Kind, switches: Switches) -> str:
    """What left no reply, and by which option more would be left."""
    (_, comments), (_, replies) = steps[:2]
    if not comments:
        return "The corpus has no comments, so there is nothing to predict."
    # That only replies by the post's author are asked for takes most comments of any corpus, and is no fault of it.
    return emptied(steps[1:] if replies else steps, _ways(kind, switches))


def _ways(kind: Kind, switches: Switches) -> dict[str, str]:
    """By rule, the options that relax it."""
    lag = [f"--history-lag 0 (now {switches.history_lag_days})"] if switches.history_lag_days else []
    fewer = [f"--min-history 1 (now {switches.min_history})"] if switches.min_history > 1 else []
    ways = {
        _enough(switches): [*fewer, *lag],
        A_DONOR: [*(["leaving out --match-length"] if switches.match_length else []), *lag],
        FAR_SCORE: ["TASK=3.2-all"] if kind == "value" else [],
    }
    return {rule: " or ".join(options) for rule, options in ways.items() if options}


def _enough(switches: Switches) -> str:
    return f"4 at least {switches.min_history} own history items"
