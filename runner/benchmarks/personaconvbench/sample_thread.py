"""One post of the synthetic corpus with its thread: who answers whom, when, and how it is received."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from runner.benchmarks.personaconvbench import sample_text
from runner.benchmarks.personaconvbench.sample_people import Community, Habit, Population, habit_of

_FIRST = datetime(2014, 1, 1, tzinfo=UTC)
_DAYS = 365 * 10
_CALM, _QUARREL = 0.8, 0.35
"""On the chance of a negative score: a factor on everybody's own, and what a quarrel adds to it."""
_BOT_TEXT = "I am a bot, and this action was performed automatically. Please read the rules before you post."


@dataclass
class _Node:
    author: str | None
    body: str
    score: int
    time: datetime
    replies: list[_Node] = field(default_factory=list)


@dataclass(frozen=True)
class _Dice:
    """Separate streams, so that other habits change texts and scores but not who answers whom and when."""

    shape: Random
    words: Random
    votes: Random
    strangers: Random


def make_post(people: Population, number: int, posts: int, habits: bool) -> dict[str, Any]:
    """Post ``number`` as the raw form has it; the same arguments give the same post.

    Without ``habits`` every text and score has those of a random regular of the community, drawn anew each
    time: the same texts and scores overall, but nothing that belongs to an author.
    """
    dice = _Dice(*(Random(f"{people.seed}/{number}/{name}") for name in ("shape", "words", "votes", "stranger")))
    shape = dice.shape
    where = shape.randrange(len(people.communities))
    place = people.communities[where]
    owner = people.regular(where, shape)
    start = _FIRST + timedelta(seconds=shape.randrange(_DAYS * 86_400))
    writer = _Writer(people, where, place, dice, habits, heated=shape.random() < 0.15)
    habit = writer.habit(owner)
    linked = shape.random() < 0.3
    title = sample_text.title(habit, place, dice.words)
    content = "" if linked else sample_text.self_text(habit, place, dice.words)
    top = _thread(writer, owner, content, start, posts)
    slug = f"{number:06x}"
    url = f"https://www.reddit.com/r/{place.name}/comments/{slug}/"
    if linked:
        url = shape.choice((f"https://i.redd.it/{slug}.jpg", f"https://news.example.org/{slug}", url))
    elif shape.random() < 0.02:
        url = f"https://www.reddit.com/r/u_{owner}/comments/{slug}/"
    gone = shape.random()
    return {
        "title": title,
        "url": url,
        "content": "[removed]" if gone < 0.02 and content else content,
        "__sub__": place.domain,
        "__srcfile__": f"{place.domain}_synthetic.json",
        "score": round(math.exp(dice.votes.gauss(5.0, 1.6))),
        "num_comments": _size(top),
        "author": "[deleted]" if gone > 0.99 else owner,
        "timestamp": start.strftime("%Y-%m-%d %H:%M:%S"),
        "comments": [_as_raw(node, shape) for node in _best_first(top)],
    }


@dataclass(frozen=True)
class _Writer:
    people: Population
    where: int
    place: Community
    dice: _Dice
    habits: bool
    heated: bool

    def habit(self, author: str) -> Habit:
        stranger = self.people.regular(self.where, self.dice.strangers)
        return habit_of(self.people.seed, author if self.habits else stranger)

    def write(self, author: str, parent: _Node | None, post_text: str, owner: str, time: datetime) -> _Node:
        habit, votes = self.habit(author), self.dice.votes
        level = self.place.level + habit.level + 0.08 * (time.year - 2019)
        size = round(math.exp(votes.gauss(level, 0.75)))
        chance = habit.negative * self.place.grumpy * _CALM + (_QUARREL if self.heated else 0.0)
        score = -size if votes.random() < min(0.95, chance) else size
        text = sample_text.reply(
            habit,
            self.place,
            score,
            parent.body if parent else post_text,
            (parent.author if parent else None) or owner,
            self.dice.words,
            self.heated,
        )
        return _Node(author, text, score, time)


def _thread(writer: _Writer, owner: str, post_text: str, start: datetime, posts: int) -> list[_Node]:
    """Comments in the order of time, each under the post or under an earlier one; the top-level ones."""
    shape = writer.dice.shape
    duel = shape.random() < 0.004  # two who cannot stop
    count = shape.randint(60, 140) if duel else min(400, int(math.exp(shape.gauss(2.75, 0.85))))
    wide, talkative = shape.uniform(0.15, 0.6), shape.betavariate(2, 6)
    top: list[_Node] = []
    everything: list[_Node] = []
    time = start
    if shape.random() < 0.15:
        bot = _Node("AutoModerator", _BOT_TEXT, 1, start + timedelta(seconds=1))
        top.append(bot)
    for _ in range(count):
        time += timedelta(seconds=round(shape.expovariate(1 / (300 + 20 * len(everything)))))
        by_owner = shape.random() < talkative
        if duel and everything:
            by_owner = everything[-1].author != owner
        parent = _parent(everything, owner, by_owner, wide, duel, shape)
        parent_time = parent.time if parent else start
        moment = max(time, parent_time + timedelta(seconds=shape.randint(5, 600)))
        if shape.random() < 0.003:
            moment = parent_time - timedelta(seconds=shape.randint(0, 90))  # a clock that went wrong
        author = owner if by_owner else _other(writer, owner, parent, posts)
        node = writer.write(author, parent, post_text, owner, moment)
        _wither(node, shape)
        (parent.replies if parent else top).append(node)
        everything.append(node)
    return top


def _parent(
    everything: list[_Node], owner: str, by_owner: bool, wide: float, duel: bool, shape: Random
) -> _Node | None:
    if not everything:
        return None
    if duel and shape.random() < 0.97:
        return everything[-1]
    if shape.random() < (0.08 if by_owner else wide):
        return None
    for _ in range(6):
        back = 1 + int(shape.expovariate(0.12))
        parent = everything[-min(back, len(everything))]
        if not by_owner or parent.author != owner:
            return parent
    return parent if shape.random() < 0.1 else None


def _other(writer: _Writer, owner: str, parent: _Node | None, posts: int) -> str:
    shape = writer.dice.shape
    if shape.random() < 0.006:
        return "helpful_link_bot"
    for _ in range(4):
        if shape.random() < 0.62:
            author = writer.people.regular(writer.where, shape)
        else:
            author = writer.people.passer_by(shape, posts)
        if author != owner and (parent is None or author != parent.author):
            return author
    return writer.people.passer_by(shape, posts)


def _wither(node: _Node, shape: Random) -> None:
    chance = shape.random()
    if chance < 0.02:
        node.body = shape.choice(("[deleted]", "[removed]", "[ Removed by Reddit ]"))
    if chance < 0.015 or chance > 0.99:
        node.author = "[deleted]" if chance < 0.998 else None


def _best_first(nodes: list[_Node]) -> list[_Node]:
    return sorted(nodes, key=lambda node: -node.score)


def _size(nodes: list[_Node]) -> int:
    todo, size = list(nodes), 0
    while todo:
        size += 1
        todo += todo.pop().replies
    return size


def _as_raw(node: _Node, shape: Random) -> dict[str, Any]:
    """The comment as a file has it; iterative, since a duel may be hundreds deep."""
    root = _fields(node, shape)
    todo = [(node, root)]
    while todo:
        parent, raw = todo.pop()
        for reply in _best_first(parent.replies):
            child = _fields(reply, shape)
            raw["replies"].append(child)
            todo.append((reply, child))
    return root


def _fields(node: _Node, shape: Random) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "body": node.body,
        "author": node.author,
        "score": node.score,
        "timestamp": node.time.strftime("%Y-%m-%d %H:%M:%S"),
        "replies": [],
    }
    oddity = shape.random()
    if oddity < 0.003:
        raw["score"] = str(node.score)
    elif oddity < 0.005:
        raw["score"] = None
    elif oddity < 0.0055:
        raw["score"] = node.score > 0
    elif oddity < 0.0065:
        raw["score"] = float(node.score)
    elif oddity < 0.007:
        del raw["score"]
    elif oddity < 0.0085:
        raw["timestamp"] = node.time.strftime("%Y-%m-%dT%H:%M:%SZ")
    elif oddity < 0.0095:
        raw["timestamp"] = node.time.strftime("%Y-%m-%d %H:%M:%S.250")
    elif oddity < 0.01:
        raw["timestamp"] = None
    return raw
