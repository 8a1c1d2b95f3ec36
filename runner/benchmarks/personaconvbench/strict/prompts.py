"""The words and the layout of the prompts: blocks that are byte-identical wherever they appear.

Order: instruction, post, thread, history, item, question; what the four prompts share stands first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from runner.benchmarks.personaconvbench.strict.limits import (
    BODY_CHARS,
    HISTORY_PARENT_CHARS,
    HISTORY_REPLY_CHARS,
    HISTORY_TITLE_CHARS,
    ITEM_CHARS,
    MIN_ABS_SCORE,
    POST_TITLE_CHARS,
    Kind,
)
from runner.benchmarks.personaconvbench.strict.names import OP, STRANGER
from runner.benchmarks.personaconvbench.strict.threads import Ints, Threads, clip, entry

Block = Literal["instruction", "post", "thread", "own", "donor", "item", "question"]

BLOCKS: dict[str, tuple[Block, ...]] = {
    "p-conv": ("instruction", "post", "thread", "own", "item", "question"),
    "p-nonconv": ("instruction", "post", "own", "item", "question"),
    "np-conv": ("instruction", "post", "thread", "donor", "item", "question"),
    "np-nonconv": ("instruction", "post", "donor", "item", "question"),
    "none-conv": ("instruction", "post", "thread", "item", "question"),
    "none-nonconv": ("instruction", "post", "item", "question"),
}
"""The declared blocks of each setting, in order: nothing else may differ between the prompts of an instance."""

_SCORE = "A reply's score is its upvotes minus its downvotes. "
_FAR = f"The score in question is {MIN_ABS_SCORE} or more, or -{MIN_ABS_SCORE} or less. "
_BY_OP = "The author of the post, called OP here, wrote the reply."
_ASK: dict[Kind, str] = {
    "sign": f"Predict whether the final score of a reply on Reddit is positive or negative. {_SCORE}{_FAR}{_BY_OP}",
    "value": f"Predict the final score of a reply on Reddit. {_SCORE}{_FAR}{_BY_OP}",
    "value-all": f"Predict the final score of a reply on Reddit. {_SCORE}{_BY_OP}",
    "text": "Write the reply that the author of a post on Reddit, called OP here, gave to a message.",
}
_PARTS = (
    "\n\nWhat you are given (the thread and the history are not always there):"
    "\n- post: its title and text. In the thread it is #0."
    "\n- thread: comments written before the reply, oldest first, as "
    '"#number (to #number of what it answers) name: text". Other users are called user2, user3 and so on.'
    "\n- history: earlier replies of one author in other posts, oldest first, each with the title of that post, "
    "the text that it answered (parent), {reply}. The tag names the author: OP or another user. "
    "The names inside an item are those of that item's post."
    "\n- {item}"
    '\nLinks are replaced by <link>; "…" marks where a text was cut.'
)
_REPLY: dict[bool, str] = {False: "and the reply itself", True: "the reply itself and its score"}
_ITEM: dict[bool, str] = {False: "message: what the reply answers.", True: "target: the reply in question."}
_QUESTION: dict[Kind, str] = {
    "sign": "Answer with one word: positive or negative.",
    "value": "Answer with one integer and nothing else.",
    "value-all": "Answer with one integer and nothing else.",
    "text": "Write only the text of the reply.",
}


@dataclass(frozen=True)
class Sources:
    """What one instance's prompts are made of, as rows: ``thread`` in time order, histories oldest first.

    ``gap`` ancestors between the thread's first comment and the next were dropped.
    """

    row: int
    thread: Ints
    gap: int
    own: Ints
    donor: Ints


def _tag(name: str, text: str, attributes: str = "") -> str:
    return f"<{name}{attributes}>{text}</{name}>"


def instruction(kind: Kind) -> str:
    """The same in every setting, and true in every setting."""
    scored = kind != "text"
    return _tag("instruction", _ASK[kind] + _PARTS.format(reply=_REPLY[scored], item=_ITEM[scored]))


def post_text(threads: Threads, post: int) -> str:
    """Title and body as the prompt shows them."""
    title = clip(threads.posts.title[post], POST_TITLE_CHARS)
    return f"{title}\n\n{clip(threads.posts.body[post], BODY_CHARS)}".strip()


def message_text(threads: Threads, row: int) -> str:
    """3.3: the text that the reply answers; the post itself where it answers the post."""
    parent = int(threads.comments.parent[row])
    if parent < 0:
        return clip(post_text(threads, int(threads.comments.post[row])), ITEM_CHARS)
    return clip(threads.comments.text[parent], ITEM_CHARS)


def history_parent(threads: Threads, row: int) -> str:
    """The text that a history reply answers: a comment, or the post's body (its title where it has none)."""
    parent = int(threads.comments.parent[row])
    if parent >= 0:
        return clip(threads.comments.text[parent], HISTORY_PARENT_CHARS)
    post = int(threads.comments.post[row])
    return clip(threads.posts.body[post] or threads.posts.title[post], HISTORY_PARENT_CHARS)


def history_reply(threads: Threads, row: int) -> str:
    """A history reply as the prompt shows it."""
    return clip(threads.comments.text[row], HISTORY_REPLY_CHARS)


def _thread(threads: Threads, sources: Sources) -> str:
    comments = threads.comments
    lines = []
    for at, row in enumerate(sources.thread.tolist()):
        parent = int(comments.parent[row])
        answered = int(comments.number[parent]) if parent >= 0 else 0
        lines.append(entry(int(comments.number[row]), answered, int(comments.label[row]), comments.text[row]))
        if at == 0 and sources.gap:
            lines.append(f"({sources.gap} comments between this one and the next are left out.)")
    parent = int(comments.parent[sources.row])
    lines.append(f"The reply answers #{int(comments.number[parent]) if parent >= 0 else 0}.")
    return _tag("thread", "\n" + "\n".join(lines) + "\n")


def _history(threads: Threads, rows: Ints, author: str, kind: Kind) -> str:
    items = []
    for row in rows.tolist():
        title = clip(threads.posts.title[int(threads.comments.post[row])], HISTORY_TITLE_CHARS)
        lines = [
            _tag("title", title),
            _tag("parent", history_parent(threads, row)),
            _tag("reply", history_reply(threads, row)),
        ]
        if kind != "text":
            lines.append(_tag("score", str(int(threads.comments.score[row]))))
        items.append(_tag("item", "\n" + "\n".join(lines) + "\n"))
    return _tag("history", "\n" + "\n".join(items) + "\n", f' author="{author}"')


def blocks(threads: Threads, sources: Sources, kind: Kind) -> dict[Block, str]:
    """Every block of an instance, once."""
    if kind == "text":
        item = _tag("message", message_text(threads, sources.row))
    else:
        item = _tag("target", clip(threads.comments.text[sources.row], ITEM_CHARS))
    return {
        "instruction": instruction(kind),
        "post": _tag("post", post_text(threads, int(threads.comments.post[sources.row]))),
        "thread": _thread(threads, sources),
        "own": _history(threads, sources.own, OP, kind),
        "donor": _history(threads, sources.donor, STRANGER, kind),
        "item": item,
        "question": _tag("question", _QUESTION[kind]),
    }


def prompt(parts: Mapping[Block, str], setting: str) -> str:
    """The one user message of a setting."""
    return "\n".join(parts[block] for block in BLOCKS[setting])


def visible_texts(parts: Mapping[Block, str]) -> Sequence[str]:
    """What users wrote, as the four prompts show it: every block but the instruction and the question."""
    return [text for block, text in parts.items() if block not in ("instruction", "question")]
