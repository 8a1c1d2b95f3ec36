"""The benches' bill without a server is the emulator's own."""

from __future__ import annotations

from array import array
from dataclasses import replace
from pathlib import Path

import pytest

from bench.bills import JOB, Line, bill, job_of, provider_of, read
from runner.emulator.answering import answer, factor, prompt_tokens
from runner.emulator.execution import Plan, run
from runner.emulator.registry import HOSTS
from runner.emulator.wire import Ask
from runner.models import Model, find_model
from runner.request import Body, Hint, Mark, Message, request_id

SHARED = "What was said before. " * 900
SEEDS = 3


def lines_of(card: Model) -> list[Line]:
    mark = Hint((Mark(len(SHARED), "1h"),)) if card.provider == "anthropic" else None
    bodies = [Body((Message("user", f"{SHARED}\nQuestion {number}?"),), 9_000, None) for number in range(12)]
    return [Line(request_id("emulator", card.id, 0, body.to_json()), body, 5_000, mark) for body in bodies]


@pytest.mark.parametrize("name", ["gpt-4.1", "gpt-5.4-mini", "claude-sonnet-5", "gemini-2.5-pro"])
def test_a_bench_bills_a_file_as_the_emulator_bills_the_job_of_it(tmp_path: Path, name: str) -> None:
    card = find_model(name)
    lines, dialect = lines_of(card), HOSTS[card.provider].dialect

    def counts(seed: int, place: int, ask: Ask) -> tuple[int, int]:
        per_token = factor(seed, card.provider, card.id)
        tokens = prompt_tokens(seed, card.id, ask.messages, per_token)
        return tokens, answer(seed, JOB, ask, ask.model, plain=False, per_token=per_token)[1]

    source = tmp_path / "batch.jsonl"
    encode = provider_of(card.provider).encode
    source.write_bytes(b"".join(encode(line.request_id, card.id, line.body, line.hint) + b"\n" for line in lines))
    job = replace(job_of(card.provider, card.id), seq=JOB, faults=[])
    asks = list(read(card, lines))
    ours = bill(card, asks, SEEDS, counts)
    for seed in range(SEEDS):
        tokens = array("Q", [counts(seed, 0, ask)[0] for ask in asks])
        rows = run(Plan(job, seed, 0.0, plain=False), dialect.wire, source, tokens, tmp_path).bill
        assert ours[seed].usd == pytest.approx(sum(row[-1] for row in rows), rel=1e-12)
        assert ours[seed].output_tokens == sum(row[5] for row in rows)
    if name != "gpt-4.1":
        assert sum(row[4] for row in rows) > 0, "the caches were at work"


def test_outside_of_a_batch_everything_costs_twice_and_no_cache_is_read() -> None:
    card = find_model("gpt-5.4-mini")
    [paid] = bill(card, read(card, lines_of(card)), 1, lambda seed, place, ask: (5_000, 30))
    plain = 12 * (5_000 * 0.75 + 30 * 4.5) / 1e6
    assert paid.standard_usd == pytest.approx(plain)
    assert paid.usd < plain / 2
