"""From instances back to the corpus, and from there to the one user message of each request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from runner.benchmarks.base import Context
from runner.benchmarks.personaconvbench.paper import score_prompts, text_prompts
from runner.benchmarks.personaconvbench.paper.frame import Kind
from runner.benchmarks.personaconvbench.paper.posts import Posts
from runner.benchmarks.personaconvbench.paper.rules import scored_replies, timed_replies
from runner.benchmarks.personaconvbench.paper.score_prompts import Case
from runner.benchmarks.personaconvbench.paper.select_scores import example_of
from runner.benchmarks.personaconvbench.paper.thread import Thread
from runner.request import Body, Message, Request

MAX_OUTPUT_TOKENS = {"sign": 10, "value": 25, "text": 256}
TEMPERATURE = {"sign": 0.0, "value": 0.0, "text": 0.7}


_CHAT_TOKENS = 64  # what a provider may add around one message


def requests_from(posts: Posts, instances: pl.DataFrame, context: Context) -> Iterator[Request]:
    """All settings of an instance, then the next; only those that are asked for and that it belongs to.

    Not sent, because the reference loses them too: an instance without reference text, which its evaluator
    skips, and a prompt that the model's window cannot hold, which ends there as an error of the API.
    3.3 asks for ``options.samples`` choices of one prompt, as the reference does; 3.1 and 3.2, whose
    temperature is 0, number further samples as draws.
    """
    options = context.options
    for row in instances.iter_rows(named=True):
        kind: Kind = row["kind"]
        thread = posts.thread(row["place"])
        choices = options.samples if kind == "text" else 1
        for setting in options.settings:
            if setting not in row["in_settings"] or not row["reference"]:
                continue
            text = prompt(posts, row, setting, thread)
            if not _fits(text, MAX_OUTPUT_TOKENS[kind] * choices, context):
                continue
            body = Body(
                messages=(Message("user", text),),
                max_output_tokens=MAX_OUTPUT_TOKENS[kind],
                temperature=TEMPERATURE[kind],
                n=choices,
            )
            for draw in range(options.samples // choices):
                yield Request(row["instance_id"], setting, body, draw)


def _fits(text: str, output_tokens: int, context: Context) -> bool:
    room = context.window_tokens - output_tokens - _CHAT_TOKENS
    size = len(text.encode())
    # A token has at least one byte, so most prompts need no count; and none of which a window holds 1,000 a token.
    return size <= room or (size <= 1_000 * room and context.count_tokens(text) <= room)


def prompt(posts: Posts, row: Mapping[str, Any], setting: str, thread: Thread) -> str:
    """The text that is sent for one instance, whose post is ``thread``, in one setting."""
    return (_text_prompt if row["kind"] == "text" else _score_prompt)(posts, row, setting, thread)


def _score_prompt(posts: Posts, row: Mapping[str, Any], setting: str, thread: Thread) -> str:
    kind: Kind = row["kind"]
    place, donor = row["place"], row["donor"]
    replies = scored_replies(thread)
    hint = score_prompts.sign_hint(kind, row["score"])
    task = Case(thread, posts.ids[place], replies[0])
    if setting == "p-nonconv":
        return score_prompts.p_nonconv(kind, task, hint)
    if setting == "p-conv":
        second = example_of(kind, thread, replies)
        example = None if second is None else task._replace(reply=second)
        return score_prompts.p_conv(kind, task, example, row["example"], hint)
    other = posts.thread(donor)
    example = Case(other, posts.ids[donor], scored_replies(other)[0])
    if kind == "sign":
        task, example = task._replace(post_id=f"task_{task.post_id}"), example._replace(post_id=f"internal_p{donor}")
    return score_prompts.np_conv(kind, task, example, row["donor_example"], hint)


def _text_prompt(posts: Posts, row: Mapping[str, Any], setting: str, thread: Thread) -> str:
    place, donor = row["place"], row["donor"]
    replies = timed_replies(thread)
    if setting == "p-nonconv":
        return text_prompts.p_nonconv(thread, posts.ids[place], replies[0])
    if setting == "p-conv":
        return text_prompts.p_conv(thread, posts.ids[place], replies[0], replies[1])
    other = posts.thread(donor)
    example = timed_replies(other)[1]
    return text_prompts.np_conv(other, f"ctx_idx{donor}", example, thread, f"orig_idx{place}", replies[0])
