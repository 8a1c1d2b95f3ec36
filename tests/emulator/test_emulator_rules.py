"""The rules of every provider, on the core alone: windows, retention, queues, what is kept, what is charged."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.emulator import odd_results
from runner.emulator.admission import Full
from runner.emulator.branch import Branch, Unknown
from runner.emulator.caching import PrefixCache
from runner.emulator.faults import FAULTS, Unit
from runner.emulator.protocols.openai_lines import OpenAILines
from runner.emulator.rules import CacheRules
from runner.emulator.service import open_service
from runner.emulator.tariff import providers, tariff
from runner.emulator.wire import Ask, Mark
from tests.clock import FIRST_MOMENT

DAY_S = 24 * 3600
TODAY = FIRST_MOMENT.timestamp()


@pytest.fixture
def open_branch(tmp_path):
    """A provider's branch with a driven clock; its lines are OpenAI's, for only the rules matter here."""

    return lambda provider, **options: begin(tmp_path, provider, **options)


def begin(folder, provider, tier=None, seed=0, **faults):
    service = open_service(folder, {provider: OpenAILines()})
    service.clock.begin(TODAY)
    service.clock.set_mode("driven")
    for key, value in (("plain", True), ("seed", seed), ("tier", tier)):
        if value is not None:
            service.store.set_setting(key, value)
    service.faults.put(faults)
    return service, Branch(service, provider)


def lines(model, n=10, content="Say something, please."):
    body = {"model": model, "messages": [{"role": "user", "content": content}]}
    asks = [{"custom_id": str(k), "method": "POST", "url": "/v1", "body": body} for k in range(n)]
    return b"".join(json.dumps(ask).encode() + b"\n" for ask in asks)


def inline(branch, *args, **kwargs):
    """A job whose requests come with its create."""
    part = branch.new_part()
    part.write_bytes(lines(*args, **kwargs))
    return branch.create(part, endpoint="/v1")


def uploaded(branch, *args, **kwargs):
    part = branch.new_part()
    part.write_bytes(lines(*args, **kwargs))
    return branch.create(branch.add_file(part, "in.jsonl").id, endpoint="/v1")


def after(service, branch, job, seconds):
    service.clock.advance(seconds)
    return branch.retrieve(job.id)


def result_lines(branch, file_id):
    return branch.path(branch.file(file_id)).read_bytes().split(b"\n")[:-1] if file_id else []


class TestAnthropic:
    MODEL = "claude-haiku-4-5"

    def test_requests_come_with_the_create_and_all_results_are_in_one_file(self, open_branch):
        service, branch = open_branch("anthropic", mixed_endings=0.5)
        job = inline(branch, self.MODEL)
        assert (job.id[:9], job.total, job.input_file) == ("msgbatch_", 10, "")
        job = after(service, branch, job, 3600)
        assert (job.state, job.error_file) == ("completed", None)
        assert job.completed + job.failed + job.expired + job.cancelled == 10
        assert len(result_lines(branch, job.output_file)) == 10

    def test_results_are_kept_29_days_from_the_creation(self, open_branch):
        service, branch = open_branch("anthropic", expired_partial=1.0)
        job = after(service, branch, inline(branch, self.MODEL), DAY_S)
        assert (job.state, job.expired_at - job.created_at) == ("expired", DAY_S)
        service.clock.advance(28 * DAY_S - 1)
        assert branch.file(job.output_file)
        service.clock.advance(2)
        with pytest.raises(Unknown):
            branch.file(job.output_file)

    @pytest.mark.parametrize(("tier", "limit"), [(1, 200_000), (2, 300_000), (None, 500_000)])
    def test_the_queue_counts_the_requests_of_all_open_jobs(self, open_branch, tier, limit):
        service, branch = open_branch("anthropic", tier=tier)
        first = inline(branch, self.MODEL)
        service.jobs.update(first, total=limit - 5)
        with pytest.raises(Full) as caught:
            inline(branch, self.MODEL, n=6)
        assert (caught.value.what, caught.value.limit) == ("requests", limit)
        assert inline(branch, self.MODEL, n=5).state == "validating"
        assert [job.total for job in branch.listed()] == [5, limit - 5]

    def test_what_was_cancelled_at_once_is_listed_line_by_line(self, open_branch):
        service, branch = open_branch("anthropic")
        job = branch.cancel(inline(branch, self.MODEL).id)
        job = after(service, branch, job, 600)
        assert (job.state, job.cancelled, len(result_lines(branch, job.output_file))) == ("cancelled", 10, 10)

    def test_there_is_a_result_file_even_without_a_line(self, open_branch):
        service, branch = open_branch("anthropic", expired_nothing=1.0, no_error_file=1.0)
        job = after(service, branch, inline(branch, self.MODEL), DAY_S)
        assert (job.state, job.expired) == ("expired", 10)
        assert result_lines(branch, job.output_file) == []

    def test_a_deleted_job_is_gone_but_was_charged(self, open_branch):
        service, branch = open_branch("anthropic")
        job = after(service, branch, inline(branch, self.MODEL), 3600)
        branch.delete(job.id)
        assert branch.listed() == []
        with pytest.raises(Unknown):
            branch.retrieve(job.id)
        assert service.store.db.execute("SELECT count(*) FROM bill").fetchone()[0] == 10


class TestGoogle:
    MODEL = "gemini-2.5-flash"

    def test_an_expired_job_has_nothing_after_48_hours(self, open_branch):
        service, branch = open_branch("google", expired_partial=1.0)
        job = after(service, branch, uploaded(branch, self.MODEL), 2 * DAY_S - 60)
        assert job.state == "in_progress"
        job = after(service, branch, job, 60)
        assert (job.state, job.output_file, job.completed) == ("expired", None, 0)
        assert service.store.db.execute("SELECT count(*) FROM bill").fetchone()[0] == 0

    def test_uploads_are_kept_48_hours_and_results_6_weeks(self, open_branch):
        service, branch = open_branch("google")
        job = after(service, branch, uploaded(branch, self.MODEL), 3600)
        assert len(job.output_file) > 40
        assert branch.file(job.input_file)
        service.clock.advance(2 * DAY_S)
        with pytest.raises(Unknown):
            branch.file(job.input_file)
        service.clock.advance(39 * DAY_S)
        assert branch.file(job.output_file)
        service.clock.advance(DAY_S)
        with pytest.raises(Unknown):
            branch.file(job.output_file)

    def test_a_full_queue_is_refused_at_create(self, open_branch):
        service, branch = open_branch("google", tier=1)
        first = uploaded(branch, self.MODEL)
        assert first.tokens > 0
        service.jobs.update(first, tokens=3_000_000 - 50)
        with pytest.raises(Full) as caught:
            uploaded(branch, self.MODEL)
        assert (caught.value.what, caught.value.limit, caught.value.model) == ("tokens", 3_000_000, self.MODEL)
        assert uploaded(branch, "gemini-2.5-pro").model == "gemini-2.5-pro"  # a queue of its own
        assert len(branch.listed()) == 2

    def test_100_jobs_may_be_open(self, open_branch):
        service, branch = open_branch("google")
        for _ in range(100):
            last = uploaded(branch, self.MODEL, n=1)
        with pytest.raises(Full, match="open_jobs: 100"):
            uploaded(branch, self.MODEL, n=1)
        branch.cancel(last.id)
        service.clock.advance(600)
        assert uploaded(branch, self.MODEL, n=1)

    def test_quota_held(self, open_branch):
        service, branch = open_branch("google", tier=1, quota_held=1.0)
        job = uploaded(branch, self.MODEL)
        service.jobs.update(job, tokens=3_000_000)
        branch.cancel(job.id)
        service.clock.advance(DAY_S)
        assert branch.retrieve(job.id).state == "cancelled"
        with pytest.raises(Full):
            uploaded(branch, self.MODEL)
        service.clock.advance(2 * DAY_S + 600)
        assert uploaded(branch, self.MODEL)

    def test_partially_succeeded(self, open_branch):
        service, branch = open_branch("google", partially_succeeded=1.0)
        job = after(service, branch, uploaded(branch, self.MODEL), 3600)
        assert job.state == "completed" and "partially_succeeded" in job.faults
        assert 0 < job.completed < 10 and job.completed + job.failed == 10
        assert len(result_lines(branch, job.output_file)) == 10

    def test_the_queue_seems_full_at_most_twice_in_a_row(self, open_branch):
        _, branch = open_branch("google", token_limit_exceeded=1.0)
        for _ in range(2):
            with pytest.raises(Full):
                uploaded(branch, self.MODEL)
        assert uploaded(branch, self.MODEL)


def test_2000_batches_may_be_made_in_an_hour(open_branch):
    service, branch = open_branch("openai")
    with service.store.transaction():
        for _ in range(2000):
            service.jobs.insert(service.jobs.draft("openai", endpoint="/v1", input_file="file-none"))
    with pytest.raises(Full, match="batches_per_hour: 2000"):
        uploaded(branch, "gpt-4.1")
    service.clock.advance(3601)
    assert uploaded(branch, "gpt-4.1")


def test_a_provider_does_not_see_the_jobs_and_files_of_another(tmp_path):
    wire = OpenAILines()
    service = open_service(tmp_path, {"openai": wire, "groq": wire})
    ours, theirs = Branch(service, "openai"), Branch(service, "groq")
    job = uploaded(ours, "gpt-4.1")
    assert theirs.listed() == theirs.files() == []
    for call in (theirs.retrieve, theirs.cancel, theirs.delete):
        with pytest.raises(Unknown):
            call(job.id)
    with pytest.raises(Unknown):
        theirs.file(job.input_file)


def test_a_fault_strikes_only_where_it_makes_sense(open_branch):
    _, branch = open_branch("anthropic", partially_succeeded=1.0, error_file_empty_id=1.0, crlf=1.0)
    assert sorted(inline(branch, "claude-haiku-4-5").faults) == ["crlf", "shuffle"]


ENDS = ("completed", "failed", "expired", "cancelled")
OF_JOBS = sorted(name for name, fault in FAULTS.items() if fault.unit is not Unit.CALL and name != "huge_line")


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["openai", "anthropic", "google"]),
    st.dictionaries(st.sampled_from(OF_JOBS), st.sampled_from([0.2, 1.0]), max_size=6),
    st.integers(0, 3),
)
def test_no_mixture_of_faults_spoils_the_accounts(provider, faults, seed):
    model = {"openai": "gpt-4.1", "anthropic": "claude-haiku-4-5", "google": "gemini-2.5-flash"}[provider]
    with TemporaryDirectory() as folder:
        service, branch = begin(Path(folder), provider, seed=seed, **faults)
        make = inline if provider == "anthropic" else uploaded
        try:
            job = make(branch, model, n=20)
        except Full:
            assert "token_limit_exceeded" in faults
            return
        job = after(service, branch, job, 3 * DAY_S)
        if "stuck" in job.faults:
            branch.cancel(job.id)
            job = after(service, branch, job, 600)
        if "cancel_stuck" in job.faults and job.state == "cancelling":
            return
        assert job.state in ENDS
        bill = [row["custom_id"] for row in service.store.db.execute("SELECT custom_id FROM bill")]
        assert len(bill) == len(set(bill)) <= job.completed
        if job.completed:
            assert job.completed + job.failed + job.expired + job.cancelled == job.total == 20
        delivered = b"".join(result_lines(branch, job.output_file))
        lossy = {"bad_line", "truncated_result", *odd_results.FILES} & set(faults)  # which spoil lines on purpose
        assert lossy or all(b'"custom_id":"%s"' % name.encode() in delivered for name in bill)
        service.store.db.close()


@pytest.mark.parametrize("provider", providers())
def test_every_tariff_is_whole(provider):
    known = tariff(provider)
    assert known.models
    for model in known.models.values():
        assert 0 < model.input <= model.output and 0 < model.cached <= model.input * 1.01
        assert model.window >= 8_000 and model.max_output > 0
        assert model.cache_write is None or model.input < model.cache_write < (model.cache_write_long or 1e9)
        assert (known.rules.queue == "tokens") <= bool(model.queue_tokens)
        assert list(model.queue_tokens) == sorted(model.queue_tokens)


M = 1_000_000


@pytest.mark.parametrize(
    ("provider", "model", "counts", "usd"),
    [  # input with all that was cached, read, output, written, of that for an hour
        ("anthropic", "claude-haiku-4-5", (M, 0, M, 0, 0), 0.5 + 2.5),
        ("anthropic", "claude-haiku-4-5", (M, M // 2, 0, 0, 0), 0.25 + 0.025),
        ("anthropic", "claude-haiku-4-5", (M, 0, 0, M // 2, 0), 0.25 + 0.5 * 0.625),
        ("anthropic", "claude-haiku-4-5", (M, 0, 0, M // 2, M // 2), 0.25 + 0.5 * 1.0),
        ("anthropic", "claude-haiku-4-5", (M, M // 4, 0, M // 2, M // 4), 0.125 + 0.0125 + 0.25 * 0.625 + 0.25 * 1.0),
        ("openai", "gpt-5.6-terra", (200_000, 0, 0, 100_000, 0), 0.1 + 0.125),
        ("openai", "gpt-5.6-terra", (200_000, 100_000, 1000, 50_000, 0), 0.05 + 0.01 + 0.0625 + 0.006),
        ("google", "gemini-2.5-pro", (200_000, 0, 10_000, 0, 0), 0.125 + 0.05),
        ("google", "gemini-2.5-pro", (200_001, 0, 10_000, 0, 0), 0.200001 * 1.25 + 0.075),
        ("google", "gemini-2.5-pro", (100_000, 50_000, 0, 0, 0), 0.03125 + 0.00625),  # no batch discount on reads
        ("google", "gemini-2.5-flash", (M, 0, M, 0, 0), 0.15 + 1.25),
    ],
)
def test_prices_by_hand(provider, model, counts, usd):
    assert tariff(provider).models[model].usd(*counts) == pytest.approx(usd)


class TestCache:
    MODEL = tariff("anthropic").models["claude-haiku-4-5"]

    def use(self, cache, custom_id, *parts, marks=(), tokens=10_000):
        ask = Ask(custom_id, self.MODEL, messages=tuple(("user", part) for part in parts), marks=tuple(marks))
        return cache.use(ask, self.MODEL, tokens)

    @pytest.fixture
    def cache(self):
        return PrefixCache(0, 1, CacheRules(automatic=False, step_tokens=1, hit_rate=1.0))

    def test_the_first_writes_up_to_its_mark_and_the_next_read_it(self, cache):
        head, marks = "a" * 8000, [Mark(1)]
        assert self.use(cache, "1", head, "b" * 1994, marks=marks) == (0, 8000, 0)
        assert self.use(cache, "2", head, "c" * 1994, marks=marks) == (8000, 0, 0)
        assert self.use(cache, "3", "z" + head, "c" * 1993, marks=marks)[0] == 0

    def test_each_mark_is_written_at_its_own_duration(self, cache):
        parts = ("a" * 5000, "b" * 3000, "c" * 2000)
        marks = [Mark(1, is_long=True), Mark(2)]
        read, written, written_long = self.use(cache, "1", *parts, marks=marks)
        assert (read, written_long) == (0, pytest.approx(5000, abs=9))
        assert written == pytest.approx(8000, abs=9)
        read, written, written_long = self.use(cache, "2", parts[0], "x" * 5000, marks=[Mark(1, is_long=True)])
        assert (read, written, written_long) == (pytest.approx(5000, abs=9), 0, 0)

    def test_without_marks_and_below_the_least_nothing_is_cached(self, cache):
        assert self.use(cache, "1", "a" * 9994, marks=()) == (0, 0, 0)
        assert self.use(cache, "1", "a" * 3994, marks=[Mark(1)], tokens=4000) == (0, 0, 0)


@pytest.mark.parametrize(("provider", "model"), [("anthropic", "claude-haiku-4-5"), ("google", "gemini-2.5-flash")])
def test_the_tokenizer_of_a_stranger_is_drawn_by_seed_and_model(open_branch, provider, model):
    service, branch = open_branch(provider)
    row = branch.tariff.models[model]
    messages = (("user", "some ordinary words to count, and more of them " * 40),)
    counts = set()
    for seed in range(8):
        service.store.set_setting("seed", seed)
        counts.add(branch.count_tokens(row, messages))
    low, high = branch.rules.tokens_per_token
    assert len(counts) > 4
    assert (high - low) / 3 < max(counts) / min(counts) - 1 < (high - low) / low + 0.1
