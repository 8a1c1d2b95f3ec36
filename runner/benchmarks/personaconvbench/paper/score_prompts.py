"""Tasks 3.1 and 3.2 in words: what is sent is this text alone, never the data store that it speaks of."""

from __future__ import annotations

from typing import NamedTuple

from runner.benchmarks.personaconvbench.paper.frame import Kind
from runner.benchmarks.personaconvbench.paper.thread import Thread, clean, flatten, node_id

CONTENT_CHARS = 500
PARENT_CHARS = 100
NP_CONTENT_CHARS = {"sign": 150, "value": 300}

_QUESTION = {
    "sign": "Is the score of this reply positive or negative?",
    "value": "What is the exact score of this reply?",
}
_FORM = {
    "sign": "Answer with one word only: positive or negative.",
    "value": "The absolute value of the score is at least 3. Answer with one integer only, and no other text.",
}
_UNRELATED = (
    "EXAMPLE. It comes from another conversation that has nothing to do with the task below; it only shows the "
    "form of the question. Do not use its facts or its people for the task."
)


def _synthetic(domain: str, title: str, content: str, op: str, other: str, remark: str, reply: str) -> Thread:
    """A post, a comment and its author's reply, of our own invention."""
    answer = {"body": reply, "author": op, "timestamp": "2024-01-01 12:30:00"}
    comment = {"body": remark, "author": other, "timestamp": "2024-01-01 12:10:00", "replies": [answer]}
    post = {"title": title, "content": content, "author": op, "score": 120, "__sub__": domain}
    return flatten({**post, "timestamp": "2024-01-01 12:00:00", "comments": [comment]})


DEFAULT = _synthetic(
    "technology",
    "Who should answer for what an AI system decides?",
    "Software now takes part in decisions about loans, treatments and jobs. I wonder where the duty of its makers "
    "ends and that of its users begins.",
    "DefaultAuthorOP",
    "UserBeta",
    "Rules always come too late. Why should they work this time?",
    "Fair point, but audits before release would already catch the worst cases, and we know how to do them.",
)
DEFAULT_IDS = {"sign": "default_fs_post1", "value": "default_fs_post1_with_convo"}
PRINTING = _synthetic(
    "history",
    "How did the printing press change the way people learned?",
    "I am reading about the first century of printing and would like to hear what surprised you most.",
    "DefaultAuthorOP",
    "UserBeta",
    "That it took so long to be noticed.",
    "What surprised me is how fast small towns got presses of their own, and how many of the first books were "
    "school grammars.",
)
PRINTING_ANSWER = 18


class Case(NamedTuple):
    """A reply to be asked about; ``post_id`` is the prefix of all ids in the text."""

    thread: Thread
    post_id: str
    reply: int


def p_conv(kind: Kind, task: Case, example: Case | None, answer: str, hint: str) -> str:
    """The labelled example (the same author's reply under the same post, or the default), then the task."""
    if example is None:
        shown = _case(kind, Case(DEFAULT, DEFAULT_IDS[kind], 2), DEFAULT_IDS[kind])
    else:
        shown = _case(kind, example, _printed_id(kind, example))
    asked = _case(kind, task, _printed_id(kind, task))
    return "\n\n".join(["EXAMPLE", *shown, f"Answer: {answer}", "YOUR TASK", *asked, *_closing(kind, hint)])


def p_nonconv(kind: Kind, task: Case, hint: str) -> str:
    """Title, content and reply, without parent, score or time; for the value a fixed example stands in front."""
    asked = [*_bare(kind, task), *_closing(kind, hint)]
    if kind == "sign":
        return "\n\n".join(asked)
    shown = _bare(kind, Case(PRINTING, "default_fs_post1", 2))
    return "\n\n".join(["EXAMPLE", *shown, f"Answer: {PRINTING_ANSWER}", "YOUR TASK", *asked])


def np_conv(kind: Kind, task: Case, example: Case, answer: str, hint: str) -> str:
    """An example of another post, then the task with the whole parent, its score and its time."""
    limit = NP_CONTENT_CHARS[kind]
    thread, post_id, reply = task
    node, parent = thread[reply], thread[reply].parent
    shown = _case(kind, example, _printed_id(kind, example), limit)
    asked = [
        _summary(thread, _printed_id(kind, task), limit),
        f"The reply answers this text by {thread[parent].author or 'N/A'} "
        f"(score {_shown(thread[parent].fields.get('score'))}, {_moment(thread, parent)}):\n{thread[parent].text}",
        f"Reply {node_id(thread, reply, post_id)} by {_op(thread)}, {_moment(thread, reply)}:\n{node.text}",
        _QUESTION[kind],
        *_closing(kind, hint),
    ]
    return "\n\n".join([_UNRELATED, *shown, f"Answer: {answer}", "YOUR TASK. Judge only what follows.", *asked])


def sign_hint(kind: Kind, score: float) -> str:
    """3.2 tells the true sign, as the reference does; 3.1 nothing."""
    return "" if kind == "sign" else f"The true score is {'positive' if score > 0 else 'negative'}."


def _case(kind: Kind, case: Case, printed_id: str, limit: int = CONTENT_CHARS) -> list[str]:
    """Summary, pointer to the store, the parent's first 100 characters, the reply, the claim of a hidden score."""
    thread, post_id, reply = case
    parent = thread[thread[reply].parent]
    return [
        _summary(thread, printed_id, limit),
        f"The whole conversation is in the data store under the id {post_id}.",
        f'{_op(thread)} replied to a comment by {parent.author or "N/A"}: "{parent.text[:PARENT_CHARS]}..."',
        f"Reply {node_id(thread, reply, post_id)}, {_moment(thread, reply)}:\n{thread[reply].text}",
        "The score of this reply is hidden in the data store.",
        _QUESTION[kind],
    ]


def _bare(kind: Kind, case: Case) -> list[str]:
    thread, post_id, reply = case
    post = thread[0]
    return [
        f"Domain: {_shown(post.fields.get('__sub__'))}\nPost id: {post_id}\nAuthor: {_op(thread)}\n"
        f"Title: {clean(post.fields.get('title'))}\nContent: {_cut(post.text, CONTENT_CHARS)}",
        f"A reply by {_op(thread)} under this post:\n{thread[reply].text}",
        _QUESTION[kind],
    ]


def _summary(thread: Thread, printed_id: str, limit: int) -> str:
    post = thread[0]
    return (
        f"Post id: {printed_id}\nDomain: {_shown(post.fields.get('__sub__'))}\nAuthor: {_op(thread)}\n"
        f"Score: {_shown(post.fields.get('score'))}\nTime: {_moment(thread, 0)}\n"
        f"Title: {clean(post.fields.get('title'))}\nContent: {_cut(post.text, limit)}"
    )


def _closing(kind: Kind, hint: str) -> list[str]:
    return [text for text in (hint, _FORM[kind]) if text]


def _printed_id(kind: Kind, case: Case) -> str:
    """In 3.2 the reference's summary reads a copy of the post that has no ids."""
    return case.post_id if kind == "sign" else "N/A"


def _op(thread: Thread) -> str:
    return thread[0].author or "N/A"


def _moment(thread: Thread, index: int) -> str:
    time = thread[index].time
    return "N/A" if time is None else time.isoformat().replace("+00:00", "Z")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "..."


def _shown(value: object) -> str:
    return "N/A" if value is None else str(value)
