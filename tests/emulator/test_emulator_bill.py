"""The bill: OpenAI's rules, the sums, and what is never charged."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.emulator import tokenizer
from runner.emulator.answering import prompt_tokens
from runner.emulator.tariff import tariff
from runner.models import find_model
from runner.pricing import cost, price


@pytest.mark.parametrize(
    ("model", "tokens", "usd"),
    [
        ("gpt-4.1-mini", (1_000_000, 0, 0), 0.20),
        ("gpt-4.1-mini", (0, 0, 1_000_000), 0.80),
        ("gpt-4.1-mini", (1_000_000, 500_000, 0), 0.20),  # no cache discount in batches before gpt-5
        ("o3", (100_000, 50_000, 0), 0.10),
        ("gpt-5", (200_000, 100_000, 10_000), 0.0625 + 0.00625 + 0.05),
        ("gpt-5.4", (272_000, 0, 1000), 0.272 * 1.25 + 0.0075),
        ("gpt-5.4", (272_001, 0, 1000), 0.272001 * 2.5 + 0.01125),  # a long prompt
        ("gpt-5.2", (273_000, 0, 1000), 0.273 * 0.875 + 0.007),
    ],
)
def test_batch_prices(model, tokens, usd):
    assert tariff("openai").models[model].usd(*tokens) == pytest.approx(usd)


def test_the_bill_is_the_sum_of_the_answers(open_desk, request_line):
    desk = open_desk()
    lines = [request_line(str(k), f"Say number {k} in a whole sentence, please.") for k in range(20)]
    first, second = desk.run(lines), desk.run(lines[:5])
    bill = desk.bill()
    assert bill["totals"]["requests"] == len(bill["requests"]) == 25
    assert sum(row["custom_id"] == "3" for row in bill["requests"]) == 2  # bought twice, billed twice
    for batch, n in ((first, 20), (second, 5)):
        mine = [row for row in bill["requests"] if row["job"] == batch.id]
        results = desk.results(batch.output_file_id)
        assert len(mine) == n
        for row in mine:
            usage = results[row["custom_id"]]["response"]["body"]["usage"]
            assert row["input_tokens"] == usage["prompt_tokens"]
            assert row["output_tokens"] == usage["completion_tokens"]
            expected = (row["input_tokens"] * 0.2 + row["output_tokens"] * 0.8) / 1e6
            assert row["usd"] == pytest.approx(expected)
        job = next(job for job in bill["jobs"] if job["job"] == batch.id)
        assert (job["requests"], job["state"], job["model"]) == (n, "completed", "gpt-4.1-mini")
        assert int(job["created_at"]) == batch.created_at
        assert job["usd"] == pytest.approx(sum(row["usd"] for row in mine))
        assert batch.usage.input_tokens == sum(row["input_tokens"] for row in mine)
    assert bill["totals"]["usd"] == pytest.approx(sum(row["usd"] for row in bill["requests"]))
    assert bill["tokenizer"] in ("o200k_base", "approximate")


@pytest.mark.parametrize(("model", "discount"), [("gpt-4.1-mini", False), ("gpt-5-mini", True)])
def test_long_shared_prefixes_are_cached_now_and_then(open_desk, request_line, model, discount):
    desk = open_desk(seed=4)
    shared = "The same long beginning of a prompt. " * 300
    lines = [request_line(str(k), shared + str(k), model=model, max_tokens=None) for k in range(40)]
    lines += [request_line(f"short{k}", "The same short one.", model=model, max_tokens=None) for k in range(5)]
    batch = desk.run(lines)
    rows = {row["custom_id"]: row for row in desk.bill()["requests"]}
    cached = [rows[str(k)]["cached_tokens"] for k in range(40)]
    assert cached[0] == 0
    assert 10 < sum(tokens > 0 for tokens in cached) < 40
    assert all(tokens % 128 == 0 and (tokens == 0 or tokens >= 1024) for tokens in cached)
    assert all(rows[f"short{k}"]["cached_tokens"] == 0 for k in range(5))
    price = tariff("openai").models[model]
    for row in rows.values():
        full = (row["input_tokens"] * price.input + row["output_tokens"] * price.output) / 1e6
        is_less = discount and row["cached_tokens"] > 0
        assert row["usd"] < full if is_less else row["usd"] == pytest.approx(full)
    usage = desk.results(batch.output_file_id)["39"]["response"]["body"]["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == rows["39"]["cached_tokens"]


def test_cache_writes_are_billed_where_they_have_a_price(open_desk, request_line):
    desk = open_desk(seed=4)
    shared = "The same long beginning of a prompt. " * 300
    head = {"type": "text", "text": shared, "prompt_cache_breakpoint": {"mode": "explicit"}}
    told = {"model": "gpt-5.6-luna", "max_tokens": None, "prompt_cache_options": {"mode": "explicit"}}
    asked = [[{"role": "user", "content": [head, {"type": "text", "text": str(k)}]}] for k in range(20)]
    batch = desk.run([request_line(str(k), messages=messages, **told) for k, messages in enumerate(asked)])
    rows = {row["custom_id"]: row for row in desk.bill()["requests"]}
    for row in rows.values():
        read, written = row["cached_tokens"], row["cache_write_tokens"]
        assert 0 <= row["input_tokens"] - read - written < 20
        fresh = row["input_tokens"] - read - written
        usd = fresh * 0.1 + read * 0.01 + written * 0.125 + row["output_tokens"] * 0.6
        assert row["usd"] == pytest.approx(usd / 1e6)
    assert 0 < sum(row["cache_write_tokens"] == 0 for row in rows.values()) < 20
    details = desk.results(batch.output_file_id)["7"]["response"]["body"]["usage"]["prompt_tokens_details"]
    assert details["cache_write_tokens"] == rows["7"]["cache_write_tokens"]


RISE = date(2026, 11, 22)  # the day on which the lower price of gpt-5.6-sol is over
DAYS = [(RISE - timedelta(days=1), (2, 0.2, 2.5, 10)), (RISE, (2.5, 0.25, 3.125, 15))]


@pytest.mark.parametrize(("day", "usd"), DAYS, ids=str)
def test_a_job_is_billed_at_the_price_of_its_day_as_the_runner_reckons_it(open_desk, request_line, day, usd):
    desk = open_desk(at=day)
    batch = desk.run([request_line(str(k), model="gpt-5.6-sol", max_tokens=None) for k in range(9)])
    created = datetime.fromtimestamp(batch.created_at, UTC)
    rows = desk.bill()["requests"]
    assert (created.date(), len(rows)) == (day, 9)
    plain, _, _, output = usd
    for row in rows:
        whole, answered = row["input_tokens"], row["output_tokens"]
        assert row["usd"] == pytest.approx((whole * plain + answered * output) / 1e6)
        assert row["usd"] == pytest.approx(cost(price(find_model("gpt-5.6-sol"), created), whole, 0, answered, 0))


@pytest.mark.parametrize(("day", "usd"), DAYS, ids=str)
@given(st.tuples(*[st.integers(0, 400_000)] * 4))
def test_every_kind_of_token_costs_what_the_runner_takes_it_for_on_that_day(day, usd, counts):
    moment = datetime.combine(day, time(12), UTC)
    theirs, ours = tariff("openai").model("gpt-5.6-sol", moment.timestamp()), price(find_model("gpt-5.6-sol"), moment)
    assert (theirs.input, theirs.cached, theirs.cache_write, theirs.output) == usd
    plain, cached, written, output = counts
    whole = plain + cached + written
    assert theirs.usd(whole, cached, output, written) == pytest.approx(cost(ours, whole, cached, output, written))


def test_a_changed_price_keeps_what_is_not_changed_and_holds_for_snapshots_and_long_prompts():
    before, after = (
        tariff("openai").model("gpt-5.6-sol-2026-07-09", datetime(2026, 11, 22, tzinfo=UTC).timestamp() + seconds)
        for seconds in (-1, 0)
    )
    assert (before.input, after.input) == (2, 2.5)
    assert after.usd(300_000, 0, 1000) == pytest.approx(0.3 * 5 + 0.0225)
    assert (after.window, after.queue_tokens, after.snapshot) == (before.window, before.queue_tokens, before.snapshot)
    assert tariff("openai").model("gpt-6-sol", 1e10) is tariff("openai").models["gpt-6-sol"]


MESSAGES = st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text(max_size=60)), max_size=12)


@settings(deadline=None)
@given(st.integers(), MESSAGES.map(tuple))
def test_no_prompt_counts_more_than_its_bytes_and_20(seed, messages):
    size = sum(len(text.encode()) for _, text in messages)
    assert 0 < prompt_tokens(seed, "gpt-4.1", messages) <= size + 20


@settings(deadline=None)
@given(st.text(max_size=200), st.integers(0, 40))
def test_a_cut_text_is_a_beginning_of_so_many_tokens(text, limit):
    head, tokens, is_cut = tokenizer.cut(text, limit)
    assert text.startswith(head)
    assert tokens == min(tokenizer.count(text), limit)
    assert is_cut is (tokenizer.count(text) > limit)
    assert is_cut or head == text


def test_the_seed_draws_what_a_client_cannot_know(open_desk, request_line):
    def bill(folder, seed):
        desk = open_desk(state=folder, seed=seed)
        desk.run([request_line(str(k), model="gpt-5", max_tokens=None) for k in range(10)])
        rows = desk.bill()["requests"]
        return [(row["custom_id"], row["input_tokens"], row["output_tokens"]) for row in rows]

    assert bill("a", 1) == bill("b", 1) != bill("c", 2)
