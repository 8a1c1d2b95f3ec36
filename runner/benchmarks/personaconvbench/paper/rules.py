"""Which reply of a post is the target: the rules of the three tasks, one post at a time."""

from __future__ import annotations

from runner.benchmarks.personaconvbench.paper.thread import Thread, is_deleted, is_usable, replies_by_owner


def participants(thread: Thread) -> int:
    """Distinct non-empty author names in post and comments; all deleted users are one."""
    return len({node.author for node in thread} - {None})


def usable_replies(thread: Thread) -> int:
    """Comments of the owner with a usable body, whatever their score, parent or time."""
    return sum(is_usable(thread[i].text) for i in replies_by_owner(thread))


def scored_replies(thread: Thread) -> list[int]:
    """3.1 and 3.2: candidate replies, by |score|, then time, both descending; ties keep tree order."""
    keyed = []
    for i in replies_by_owner(thread):
        node = thread[i]
        if node.score is None or not is_usable(node.text) or not is_usable(thread[node.parent].text):
            continue
        if (time := node.time) is not None:
            keyed.append(((abs(node.score), time), i))
    return [i for _, i in sorted(keyed, key=lambda pair: pair[0], reverse=True)]


def timed_replies(thread: Thread) -> list[int]:
    """3.3: the owner's comments with a body (deleted ones too) and a readable time, newest first."""
    keyed = [
        (time, i)
        for i in replies_by_owner(thread)
        if isinstance(thread[i].fields.get("body"), str) and (time := thread[i].time) is not None
    ]
    return [i for _, i in sorted(keyed, key=lambda pair: pair[0], reverse=True)]


def own_trees(thread: Thread) -> int:
    """Top-level comments with a direct reply in whose tree, themselves included, the owner wrote."""
    answered = {node.parent for node in thread[1:]}
    return len({thread[i].top for i in replies_by_owner(thread)} & answered)


def deleted_share(thread: Thread, index: int) -> float:
    """Share of deleted or removed comments in the top-level tree of ``index``."""
    tree = [node for node in thread[1:] if node.top == thread[index].top]
    return sum(is_deleted(node.text) for node in tree) / len(tree)
