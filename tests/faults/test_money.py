"""What an adversary tried: keys, budgets, lost files, queues and words that would have cost money or misled."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runner import emulator
from runner.providers import venue_of
from tests.place import Place
from tests.providers.stub_openai import Handler, Stub


def _asked(corpus: Path, *more: str, limit: int = 16, model: str = "gpt-5.4-mini") -> list[str]:
    return ["--model", model, "--task", "3.1", "--data", str(corpus), "--limit", str(limit), *more]


def _env(stub: Stub, key: str = "sk-A-0123456789", **more: str) -> dict[str, str]:
    return {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": stub.base_url, **more}


def _bought(stub: Stub) -> Counter[str]:
    outputs = [stub.content(batch["output_file_id"]) for batch in stub.batches.values() if batch["output_file_id"]]
    return Counter(json.loads(line)["custom_id"] for output in outputs for line in output.splitlines())


def _drain(stub: Stub) -> None:
    for batch in list(stub.batches.values()):
        while batch["status"] in ("validating", "in_progress", "finalizing"):
            stub.retrieve(batch["id"])


def _states(place: Place) -> Counter[str]:
    with sqlite3.connect(place.root / "batches" / "ledger.sqlite") as ledger:
        return Counter(state for (state,) in ledger.execute("select state from jobs"))


class _ScopedHandler(Handler):
    def serve(self) -> None:
        who = (self.headers.get("Authorization"), self.headers.get("OpenAI-Project"))
        self.server.stub.here.who = who  # type: ignore[attr-defined]
        super().serve()


class Scoped(Stub):
    """Jobs are listed only to the key and project that made them."""

    def __init__(self) -> None:
        super().__init__(lambda body: "positive")
        self.here = threading.local()
        self.owner: dict[str, Any] = {}
        self.server.RequestHandlerClass = _ScopedHandler

    def create(self, head: Any, body: bytes) -> dict[str, Any]:
        batch = super().create(head, body)
        self.owner[batch["id"]] = self.here.who
        return batch

    def list(self, query: dict[str, Any]) -> dict[str, Any]:
        mine = [batch for batch in reversed(self.batches.values()) if self.owner[batch["id"]] == self.here.who]
        return {"object": "list", "data": mine, "has_more": False}


@pytest.mark.parametrize(
    "other", [{"key": "sk-B-999999999"}, pytest.param({"OPENAI_PROJECT_ID": "proj_B"}, marks=pytest.mark.slow)]
)
def test_another_accounts_list_is_no_proof_of_absence(place: Place, corpus: Path, other: dict[str, str]) -> None:
    with Scoped() as stub:
        stub.faults["create"] = ["500 after"]
        began = datetime.now(UTC)
        stub.now = began
        place.call("submit", *_asked(corpus), "--yes", check=False, **_env(stub))
        _drain(stub)
        for look in (1, 2):
            stub.now = began + timedelta(seconds=70 * look)
            done = place.call("collect", check=False, **_env(stub, **other))
            assert "another key" in done.stderr
        stub.now = began + timedelta(seconds=300)
        place.call("collect", "--wait", "--poll", "0.05", **_env(stub))
        assert _bought(stub) == dict.fromkeys(place.asked(), 1)


@pytest.mark.slow
def test_one_jobs_trouble_stops_no_other_run(place: Place, corpus: Path) -> None:
    with Stub(lambda body: "positive") as stub:
        place.call("submit", *_asked(corpus), "--yes", **_env(stub))
        stub.faults["create"] = ["429|slow down|rate_limit"]
        place.call("submit", *_asked(corpus, "--setting", "p-conv", model="gpt-5.4"), "--yes", **_env(stub))
        _drain(stub)
        done = place.call("collect", check=False, **_env(stub, key="sk-B-999999999"))
        assert done.returncode == 1
        assert "another key" in done.stderr
        assert _states(place)["closed"] == 1, "the other run's finished job came home"


@pytest.mark.slow
def test_a_budget_holds_over_all_runs_of_its_scope(place: Place, corpus: Path) -> None:
    shown = json.loads(place.call("estimate", *_asked(corpus, "--emulate", limit=24), "--json").stdout)
    budget = shown["total"]["mid_usd"] / 2
    for settings in ("p-conv,p-nonconv", "np-conv,np-nonconv"):
        asked = _asked(corpus, "--emulate", "--setting", settings, limit=24)
        place.call("submit", *asked, "--budget", f"{budget:.6f}", check=False)
    place.call("collect", "--wait", check=False)
    assert sum(line["usd"] for line in place.bill()["requests"]) <= budget


def test_a_lower_budget_binds_an_earlier_yes(place: Place, corpus: Path) -> None:
    place.call("submit", *_asked(corpus, "--emulate", limit=24))
    before = place.call("submit", *_asked(corpus, "--emulate", limit=24), "--budget", "0.000001", check=False)
    assert before.returncode == 2
    place.call("collect", "--wait")
    assert len(place.times_billed()) <= 50, "the pilot was on its way; nothing was bought after the word"


@pytest.mark.slow
def test_what_cannot_be_read_counts_at_its_bound(place: Place, corpus: Path) -> None:
    place.misbehave("bad_line:0.04")  # more of the first small batch would stop the run
    place.call("run", *_asked(corpus, "--emulate"), check=False)
    billed = sum(line["usd"] for line in place.bill()["requests"])
    cost = place.summary()["cost"]
    assert billed <= cost["billed_usd"] <= cost["bound_usd"] + 1e-9


@pytest.mark.slow
def test_a_quota_that_is_used_up_uses_up_no_attempt(place: Place, corpus: Path) -> None:
    class Broke(Stub):
        is_broke = True

        def finish(self, batch: dict[str, Any]) -> None:
            if not self.is_broke:
                super().finish(batch)
                return
            error = {"message": "You exceeded your current quota.", "type": "x", "code": "insufficient_quota"}
            reply = {"status_code": 429, "request_id": "r", "body": {"error": error}}
            lines = self.lines_of(batch)
            said = [{"id": "x", "custom_id": line["custom_id"], "response": reply, "error": None} for line in lines]
            batch["request_counts"] = {"total": len(lines), "completed": 0, "failed": len(lines)}
            batch["error_file_id"] = self.add_file(b"".join(json.dumps(line).encode() + b"\n" for line in said))

    with Broke(lambda body: "positive") as stub:
        for _ in range(4):
            done = place.call("run", *_asked(corpus), "--yes", "--poll", "0.05", check=False, **_env(stub))
            assert done.returncode == 1
            assert "You exceeded your current quota." in done.stderr
        stub.is_broke = False
        place.call("run", *_asked(corpus), "--yes", "--poll", "0.05", **_env(stub))
        assert place.summary()["requests"]["ok"] == 64


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["gone", "refused"])
def test_waiting_ends_when_waiting_cannot_help(place: Place, corpus: Path, trouble: str) -> None:
    with Stub(lambda body: "positive") as stub:
        place.call("submit", *_asked(corpus), "--yes", **_env(stub))
        if trouble == "refused":
            stub.faults["retrieve"] = ["401|Incorrect API key provided|invalid_api_key"] * 99
        else:
            _drain(stub)
            stub.now = datetime.now(UTC) + timedelta(days=40)
            for batch in stub.batches.values():
                del stub.files[batch["output_file_id"]]
        done = place.call("collect", "--wait", "--poll", "0.05", check=False, **_env(stub))
        assert done.returncode == 1
        uploads = stub.count("upload")
        place.call("collect", check=False, **_env(stub))
        assert stub.count("upload") == uploads, "lost answers are not bought again unasked"


@pytest.mark.slow
def test_a_queue_smaller_than_an_instance_takes_part_of_one(place: Place, corpus: Path) -> None:
    class Small(Stub):
        def create(self, head: Any, body: bytes) -> dict[str, Any]:
            batch = super().create(head, body)
            if batch["request_counts"]["total"] > 2:
                words = "Enqueued token limit reached for x in organization y. Limit: 4,000 enqueued tokens."
                errors = {"data": [{"code": "token_limit_exceeded", "line": None, "param": None, "message": words}]}
                batch.update(status="failed", failed_at=self.seconds(), errors=errors)
            return batch

    with Small(lambda body: "positive") as stub:
        asked = _asked(corpus, limit=2)
        place.call("run", *asked, "--yes", "--poll", "0.05", check=False, **_env(stub))
        assert place.summary()["state"] == "complete"
        assert _bought(stub) == dict.fromkeys(place.asked(), 1)


@pytest.mark.slow
def test_a_queue_that_others_have_filled_is_left_alone(place: Place, corpus: Path) -> None:
    class Full(Stub):
        def create(self, head: Any, body: bytes) -> dict[str, Any]:
            batch = super().create(head, body)
            words = "Enqueued token limit reached for x in organization y. Limit: 9,000,000 enqueued tokens."
            errors = {"data": [{"code": "token_limit_exceeded", "line": None, "param": None, "message": words}]}
            batch.update(status="failed", failed_at=self.seconds(), errors=errors)
            return batch

    with Full() as stub:
        place.call("submit", *_asked(corpus), "--yes", **_env(stub))
        for _ in range(3):
            place.call("collect", **_env(stub))
        assert stub.count("create") == 1


@pytest.mark.slow
def test_only_submit_overrules_a_pilot_that_failed(place: Place, corpus: Path) -> None:
    class Cut(Stub):
        def respond(self, line: dict[str, Any]) -> dict[str, Any]:
            said = super().respond(line)
            said["response"]["body"]["choices"][0]["finish_reason"] = "length"
            return said

    with Cut(lambda body: "posi") as stub:
        for _ in range(2):
            done = place.call("run", *_asked(corpus, limit=24), "--yes", "--poll", "0.05", check=False, **_env(stub))
            assert done.returncode == 1
            assert "truncated" in done.stderr
        assert "truncated" in place.call("status").stdout
        assert sum(_bought(stub).values()) == 48
        place.call("submit", *_asked(corpus, limit=24), "--yes", **_env(stub))
        _drain(stub)
        assert sum(_bought(stub).values()) == 96


@pytest.mark.slow
def test_a_lost_ledger_buys_nothing(place: Place, corpus: Path) -> None:
    place.call("run", *_asked(corpus, "--emulate"))
    for path in (place.root / "batches").glob("ledger.sqlite*"):
        path.unlink()
    done = place.call("run", *_asked(corpus, "--emulate"), check=False)
    assert done.returncode == 2
    assert "Restore it" in done.stderr
    assert set(place.times_billed().values()) == {1}


@pytest.mark.slow
def test_clean_spares_what_was_bought_or_made_from_it(place: Place, corpus: Path) -> None:
    place.call("run", *_asked(corpus, "--emulate", limit=16))
    place.call("run", *_asked(corpus, "--emulate", limit=8))  # every answer is reused: it bought nothing itself
    kept = {path for path in (place.root / "results").rglob("*") if path.is_file()}
    place.call("estimate", *_asked(corpus, "--emulate", limit=40))
    place.call("clean")
    assert kept == {path for path in (place.root / "results").rglob("*") if path.is_file()}
    assert len(place.runs()) == 2


@pytest.mark.parametrize("host", ["emulator", "openai"])
def test_a_host_is_never_taken_for_one_of_our_own_words(host: str) -> None:
    assert venue_of("openai", {"OPENAI_BASE_URL": f"http://{host}/v1"}) == f"{host}:80"


@pytest.mark.slow
def test_an_emulator_behind_another_name_signs_itself(place: Place, corpus: Path) -> None:
    with emulator.start(place.root / "elsewhere") as running:
        env = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{running.base_url}/openai/v1"}
        done = place.call("run", *_asked(corpus), "--yes", "--poll", "0.05", **env)
    assert "is an emulator: this is a rehearsal, not a result" in done.stdout
