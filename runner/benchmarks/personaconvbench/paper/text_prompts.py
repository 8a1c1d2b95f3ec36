"""Task 3.3 in words: whole conversations as JSON, cut where the reference cuts them."""

from __future__ import annotations

from runner.benchmarks.personaconvbench.paper.thread import Thread, flatten, node_id
from runner.benchmarks.personaconvbench.paper.trees import as_object, before_reply, pretty, subtrees

# In the reference one sentence of each block is no f-string: every prompt says these words, braces included.
_UNFORMATTED = "Keep to the voice of {main_author_name}."
_FORM = "Write only the text of the reply, with nothing before or after it."

_DEFAULT = flatten(
    {
        "author": "DefaultAuthorOP",
        "comments": [
            {
                "body": "Which part of the recipe did you change in the end?",
                "author": "UserBeta",
                "score": 4,
                "timestamp": "2024-01-01 12:10:00",
                "replies": [
                    {
                        "body": "Only the flour. I took half rye, and the crust came out much better.",
                        "author": "DefaultAuthorOP",
                        "score": 6,
                        "timestamp": "2024-01-01 12:30:00",
                        "replies": [],
                    }
                ],
            }
        ],
    }
)


def p_conv(thread: Thread, post_id: str, target: int, example: int) -> str:
    """An example from the tree of the second-newest reply, then the whole post without the target's subtree."""
    gone = subtrees(thread, [target])
    rest = [i for i in range(len(thread)) if i not in gone]
    return "\n\n".join(
        [
            *_example(thread, post_id, example),
            f"YOUR TASK. The conversation under a post by {_op(thread)}, as JSON, without one reply of that author:",
            pretty(as_object(thread, rest, post_id)),
            _UNFORMATTED,
            _parent(thread, post_id, target),
            _FORM,
        ]
    )


def p_nonconv(thread: Thread, post_id: str, target: int) -> str:
    """The post without comments and what is answered; no example and nothing else by the author."""
    post = as_object(thread, [0], post_id)
    del post["comments"]
    return "\n\n".join(
        [
            f"YOUR TASK. A post by {_op(thread)}, as JSON:",
            pretty(post),
            _UNFORMATTED,
            f"{_op(thread)} is about to reply to a comment by {_author(thread, target)}:\n{_answered(thread, target)}",
            _FORM,
        ]
    )


def np_conv(donor: Thread, donor_id: str, example: int, thread: Thread, post_id: str, target: int) -> str:
    """An example from another post, all of that post as a guide to style, then only what is answered.

    The guide is not cut and has no ids; the post that is answered under is not shown, and where the parent is
    that post its text stays empty.
    """
    parent = thread[target].parent
    text = thread[parent].text if parent else ""
    return "\n\n".join(
        [
            *_example(donor, donor_id, example),
            f"GUIDE TO STYLE. The conversation under another post, by {_op(donor)}, as JSON:",
            pretty(donor[0].fields),
            f"YOUR TASK. {_UNFORMATTED}",
            f"{_op(thread)} is about to reply to a comment by {_author(thread, target)} "
            f"(id {node_id(thread, parent, post_id)}, score {_score(thread, parent)}):\n{text}",
            _FORM,
        ]
    )


def _example(thread: Thread, post_id: str, reply: int) -> list[str]:
    """The tree before the reply, its parent, the question, and the reply itself, whatever it says."""
    kept = before_reply(thread, reply)
    if kept is None:
        thread, post_id, reply, kept = _DEFAULT, "default_fs", 2, [1]
    return [
        f"EXAMPLE. A part of a conversation under a post by {_op(thread)}, as JSON, cut before one reply of that "
        "author:",
        pretty(as_object(thread, kept, post_id, time_order=True)),
        _UNFORMATTED,
        _parent(thread, post_id, reply),
        f"Reply: {thread[reply].text}",
    ]


def _parent(thread: Thread, post_id: str, reply: int) -> str:
    """Who and what is answered, and the question; the post too is called a comment."""
    return (
        f"{_op(thread)} is about to reply to a comment by {_author(thread, reply)} "
        f"(id {node_id(thread, thread[reply].parent, post_id)}):\n{_answered(thread, reply)}\n\n"
        f"What does {_op(thread)} reply?"
    )


def _author(thread: Thread, reply: int) -> str:
    return thread[thread[reply].parent].author or "N/A"


def _answered(thread: Thread, reply: int) -> str:
    return thread[thread[reply].parent].text


def _score(thread: Thread, index: int) -> object:
    score = thread[index].fields.get("score")
    return "N/A" if score is None else score


def _op(thread: Thread) -> str:
    return thread[0].author or "N/A"
