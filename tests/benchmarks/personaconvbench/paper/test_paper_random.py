"""On random corpora full of quirks, the selection is that of a slow reading of the published rules."""

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from paper_corpora import Json, opened, random_corpus, selected, sent

from runner.benchmarks.personaconvbench import paper
from runner.benchmarks.personaconvbench.paper.thread import read_time


def text_of(node: Json, key: str = "body") -> str:
    return "".join(" " if mark in "\r\n" else mark for mark in node.get(key) or "").strip()


def nodes(post: Json) -> list[tuple[Json, Json, Json | None, str]]:
    """``(comment, parent, top-level comment, id)`` in the order of the numbering."""
    found: list[tuple[Json, Json, Json | None, str]] = []

    def walk(children: Any, parent: Json, top: Json | None, prefix: str) -> None:
        for child in children or []:
            if isinstance(child, dict):
                name = f"{prefix}-c{len(found) + 1}"
                found.append((child, parent, top or child, name))
                walk(child.get("replies"), child, top or child, name)

    walk(post["comments"], post, None, "")
    return found


def dead(text: str) -> bool:
    return text.lower() in ("", "[deleted]", "[removed]")


def naive_score_target(post: Json) -> tuple[float, str] | None:
    """The target of 3.1 and 3.2, before the positives are halved."""
    all_nodes = nodes(post)
    names = {node.get("author") for node, *_ in all_nodes} | {post["author"]}
    mine = [entry for entry in all_nodes if entry[0].get("author") == post["author"]]
    if len({name for name in names if name}) < 4 or sum(not dead(text_of(node)) for node, *_ in mine) < 3:
        return None
    best: tuple[Any, float, str] | None = None
    for node, parent, _, name in mine:
        score, time = node.get("score"), read_time(node.get("timestamp"))
        context = text_of(parent, "content") if parent is post else text_of(parent)
        if isinstance(score, (int, float)) and time and not dead(text_of(node)) and not dead(context):
            key = (abs(score), time)
            if best is None or key > best[0]:
                best = (key, float(score), name)
    return None if best is None or abs(best[1]) < 4 else best[1:]


def naive_text_target(post: Json) -> str | None:
    """The target of 3.3."""
    all_nodes = nodes(post)
    mine = [entry for entry in all_nodes if entry[0].get("author") == post["author"]]
    timed = [(read_time(entry[0].get("timestamp")), entry) for entry in mine if entry[0].get("body") is not None]
    timed = [(time, entry) for time, entry in timed if time]
    if len(timed) < 2:
        return None
    newest = max(time for time, _ in timed)
    node, _, top, name = next(entry for time, entry in timed if time == newest)
    own = {id(entry[2]) for entry in mine if any(isinstance(reply, dict) for reply in entry[2].get("replies") or [])}
    tree = [text_of(entry[0]) for entry in all_nodes if entry[2] is top]
    gone = sum(text in ("[deleted]", "[removed]") for text in tree)
    if text_of(node) in ("[deleted]", "[removed]") or len(own) < 2 or gone / len(tree) > 0.33:
        return None
    return name


def by_owner(posts: list[Json]) -> list[tuple[str, Json]]:
    grouped: dict[str, list[Json]] = {}
    for post in posts:
        grouped.setdefault(post["author"], []).append(post)
    return [(f"u{u}p{p}", post) for u, own in enumerate(grouped.values(), 1) for p, post in enumerate(own, 1)]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_selection_matches_a_slow_reading(tmp_path_factory: Any, seed: int) -> None:
    folder: Path = tmp_path_factory.mktemp("corpus")
    posts = random_corpus(seed)
    corpus = opened(folder, posts)
    scored = [(*found, name) for name, post in by_owner(posts) if (found := naive_score_target(post))]
    positive = sorted((entry for entry in scored if entry[0] > 0), key=lambda entry: entry[0])
    expected = [entry for entry in scored if entry[0] <= 0] + positive[len(positive) // 2 :]
    for kind in ("sign", "value"):
        frame = selected(corpus, kind).frame
        assert frame.select("score", "target").rows() == [(score, name + path) for score, path, name in expected]
    texts = [name + path for name, post in by_owner(posts) if (path := naive_text_target(post))]
    assert selected(corpus, "text", "p-conv").frame["target"].to_list() == texts


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_whatever_is_selected_can_be_sent(tmp_path_factory: Any, seed: int) -> None:
    corpus = opened(tmp_path_factory.mktemp("corpus"), random_corpus(seed))
    for kind in ("sign", "value", "text"):
        frame = selected(corpus, kind).frame
        expected = [
            (row["instance_id"], setting)
            for row in frame.iter_rows(named=True)
            for setting in paper.SETTINGS
            if setting in row["in_settings"] and row["reference"]
        ]
        asked = sent(corpus, kind)
        assert [(request.instance_id, request.setting) for request in asked] == expected
        assert frame["instance_id"].n_unique() == frame.height
