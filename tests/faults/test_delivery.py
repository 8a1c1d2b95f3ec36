"""A reply that arrived was paid for, and one that is counted was, too: neither is bought again by itself."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from runner.chain.files import digest_of
from runner.chain.journal import Point
from runner.ledger import Ledger
from tests.faults import evidence
from tests.faults.cells import command, furnish
from tests.faults.deeds import Deed, befall
from tests.place import Place
from tests.providers.stub_openai import Stub


def _accepts(stderr: str) -> str:
    found = re.search(r"`persona-runner accept --job ([\w.-]+)`", stderr)
    assert found, stderr
    return found[1]


def _billed_once(place: Place) -> bool:
    return set(place.times_billed().values()) <= {1}


def _spent(place: Place) -> float:
    ledger = Ledger(place.root / "batches" / "ledger.sqlite")
    try:
        return ledger.spent().billed_usd
    finally:
        ledger.close()


@pytest.mark.parametrize(
    ("protocol", "fault"),
    [
        ("openai", "empty_result"),
        ("anthropic", "foreign_ids"),
        pytest.param("google", "html_result", marks=pytest.mark.slow),
        pytest.param("openai", "blank_result", marks=pytest.mark.slow),
    ],
)
def test_a_job_that_gives_none_of_its_answers_waits_for_the_user(
    tmp_path: Path, converted: Path, protocol: str, fault: str
) -> None:
    place, words = furnish(tmp_path / "place", converted), command(protocol, converted)
    place.misbehave(f"{fault}:1.0")
    first = place.call(*words, check=False)
    job = _accepts(first.stderr)
    assert first.returncode == 1
    for again in (words, ["submit", *words[1:]], ["collect", "--wait"], ["accept", "--job", job]):
        assert place.call(*again, check=False).returncode in (1, 2)
    assert len(place.jobs()) == 1
    assert place.call("status", "--exit-code", check=False).returncode == 1
    place.misbehave(f"{fault}:0")
    place.call("accept", "--job", job, "--yes")
    place.call(*words)
    assert set(place.responses()["status"]) == {"ok"}
    assert set(place.times_billed().values()) == {2}
    assert _spent(place) >= evidence.provider(place).usd
    assert place.call("accept", "--job", job, "--yes", check=False).returncode == 2


def test_lines_that_are_counted_and_do_not_come_are_losses_and_bought_again_once(
    tmp_path: Path, converted: Path
) -> None:
    place = furnish(tmp_path / "place", converted)
    words = command("openai", converted)
    place.misbehave("lost_lines:1.0")
    for _ in range(3):  # what is lost may have used up what was approved: the rest needs a yes
        place.call(*words)
        place.call("submit", *words[1:])
    place.call(*words)
    there, here = evidence.provider(place), evidence.books(place)
    assert list(evidence.complaints(there, here)) == []
    assert max(there.billed.values()) == 2
    lost = here.responses.filter(pl.col("status") == "missing")["request_id"]
    assert 0 < lost.len() < 12
    assert all(there.billed[name] == 2 for name in lost)
    assert place.summary()["cost"]["billed_is_bound"]
    assert place.call("verify").returncode == 0


def test_what_comes_late_is_no_loss(place: Place, corpus: Path) -> None:
    asked = ["--model", "gpt-5.4-mini", "--task", "3.1", "--data", str(corpus), "--limit", "6"]
    with Stub(lambda body: "positive") as stub:
        env = {"OPENAI_API_KEY": "sk-A", "OPENAI_BASE_URL": stub.base_url}
        began = stub.now = datetime.now(UTC)
        place.call("submit", *asked, "--yes", **env)
        [batch] = stub.batches.values()
        while batch["status"] != "completed":
            stub.retrieve(batch["id"])
        card, whole = stub.files[batch["output_file_id"]]
        half = b"".join(whole.splitlines(keepends=True)[:10])
        stub.files[batch["output_file_id"]] = ({**card, "bytes": len(half)}, half)
        looks = []
        for minutes in (0, 0.5, 2, 3):
            stub.now = began + timedelta(minutes=minutes)
            place.call("collect", **env)
            looks.append(stub.count("content"))
        assert looks == [1, 1, 2, 2], "at its end, and after a minute"
        assert stub.count("create") == 1
        stub.files[batch["output_file_id"]] = (card, whole)
        stub.now = began + timedelta(minutes=6)
        place.call("collect", **env)
        assert stub.count("create") == 1
    assert place.responses()["status"].to_list() == ["ok"] * 24


def test_replies_that_nobody_understands_are_held_until_a_reader_does(tmp_path: Path, converted: Path) -> None:
    place = furnish(tmp_path / "place", converted)
    words = command("openai", converted, 16)
    place.misbehave("odd_body:0.04")
    done = place.call(*words, check=False)
    assert done.returncode == 1
    assert ".output.jsonl.zst" in done.stderr
    assert place.call(*words, check=False).returncode == 1
    assert len(place.times_billed()) == 48
    place.misbehave("odd_body:0")
    place.call("submit", *words[1:], check=False)
    assert place.call("collect", "--wait", check=False).returncode == 1
    place.call("score")
    assert set(place.times_billed()) == place.asked()
    assert _billed_once(place)
    summary = place.summary()
    assert (summary["state"], summary["requests"]["final"]) == ("partial", 62)
    _make_readable(place)
    place.call("collect", "--run", place.runs()[0])
    assert place.responses()["status"].to_list() == ["ok"] * 64
    assert _billed_once(place)
    assert _spent(place) == pytest.approx(evidence.provider(place).usd)


def _make_readable(place: Place) -> None:
    """As if there were a reader who knows the form: the raw file has the replies in one that ours knows."""

    def mended(line: bytes) -> bytes:
        entry: dict[str, Any] = json.loads(line)
        body = entry["response"]["body"]
        if "reply" in body:
            message = {"role": "assistant", "content": body.pop("reply")["text"]}
            body["choices"] = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return json.dumps(entry).encode() + b"\n"

    for path in (place.root / "results").glob("*/raw/*.output.jsonl.zst"):
        lines = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read().splitlines()
        path.write_bytes(zstandard.ZstdCompressor().compress(b"".join(map(mended, lines))))
        _as_received(place, path)


def _as_received(place: Place, path: Path) -> None:
    """The ledger takes the file for what the provider sent: only its reader is to be another."""
    ledger = Ledger(place.root / "batches" / "ledger.sqlite")
    for job in ledger.jobs():
        if path.name in job.digests:
            ledger.move(job, job.state, digests={**job.digests, path.name: digest_of(path)})
    ledger.close()


@pytest.mark.parametrize("protocol", ["openai", "anthropic", "google"])
def test_a_body_that_is_the_text_of_json_is_read(tmp_path: Path, converted: Path, protocol: str) -> None:
    place = furnish(tmp_path / "place", converted)
    place.misbehave("body_as_text:1.0")
    place.call(*command(protocol, converted))
    assert set(place.responses()["status"]) == {"ok"}
    assert _billed_once(place)


@pytest.mark.parametrize("protocol", ["anthropic", pytest.param("google", marks=pytest.mark.slow)])
def test_a_first_batch_of_refusals_stops_before_the_rest_is_bought(
    tmp_path: Path, converted: Path, protocol: str
) -> None:
    place, words = furnish(tmp_path / "place", converted), command(protocol, converted, 14)
    place.misbehave("filtered:0.2")
    for _ in range(2):
        done = place.call(*words, check=False)
        assert done.returncode == 1
        assert ("refused" if protocol == "anthropic" else "filtered") in done.stderr
    assert len(place.times_billed()) == 48
    place.call("submit", *words[1:])
    place.call("collect", "--wait")
    assert set(place.times_billed()) == place.asked()


def test_where_no_answer_is_of_use_there_is_no_score(tmp_path: Path, converted: Path) -> None:
    place, words = furnish(tmp_path / "place", converted), command("anthropic", converted)
    place.misbehave("filtered:1.0")
    assert place.call(*words, check=False).returncode == 1
    done = place.call("score", check=False)
    assert done.returncode == 1
    assert "accuracy" not in done.stdout
    assert "24 refused" in done.stderr
    assert place.summary()["rows"] == []
    assert place.call("report", check=False).returncode == 1
    place.call("compare")


@pytest.mark.parametrize(
    ("protocol", "fault"),
    [
        ("openai", "no_usage"),
        ("google", "odd_usage"),
        pytest.param("anthropic", "odd_usage", marks=pytest.mark.slow),
        pytest.param("openai", "odd_usage", marks=pytest.mark.slow),
    ],
)
def test_usage_that_is_not_told_counts_at_its_bound_and_against_the_budget(
    tmp_path: Path, converted: Path, protocol: str, fault: str
) -> None:
    place, words = furnish(tmp_path / "place", converted), command(protocol, converted, 14)
    place.misbehave(f"{fault}:1.0")
    shown = json.loads(place.call("estimate", *words[1:-1], "--json").stdout)
    budget = shown["bound_usd"] * 0.95
    place.call(*words, "--budget", repr(budget), check=False)
    there = evidence.provider(place).usd
    assert 0 < there <= _spent(place) <= budget
    assert len(place.times_billed()) < 56, "the budget is used up by what may have been spent"
    place.call(*words[:-1], "--yes")
    there, here = evidence.provider(place), evidence.books(place)
    assert list(evidence.complaints(there, here)) == []
    cost = place.summary()["cost"]
    assert cost["billed_is_bound"]
    assert there.usd <= cost["billed_usd"] <= shown["bound_usd"] + 1e-9
    assert here.parts["cost_usd"].is_finite().all()
    assert "≤" in place.call("score").stdout
    assert "≤" in place.call("status", "--run", place.runs()[0]).stdout
    assert "≤" in place.call("compare").stdout


@pytest.mark.parametrize("point", [Point.WITHHELD, *(pytest.param(p, marks=pytest.mark.slow) for p in [Point.LOOKED])])
def test_a_crash_while_answers_are_waited_for_loses_nothing(tmp_path: Path, converted: Path, point: Point) -> None:
    place, words = furnish(tmp_path / "place", converted), command("openai", converted)
    place.misbehave("empty_result:1.0")
    assert befall(place, words, point, Deed.KILLED).is_reached
    job = _accepts(place.call("collect", "--wait", check=False).stderr)
    assert len(place.jobs()) == 1
    place.misbehave("empty_result:0")
    assert befall(place, ["accept", "--job", job, "--yes"], Point.ACCEPTED, Deed.KILLED).is_reached
    place.call(*words)
    assert set(place.responses()["status"]) == {"ok"}
    assert set(place.times_billed().values()) == {2}


@pytest.mark.slow
def test_a_crash_while_replies_are_read_again_loses_nothing(tmp_path: Path, converted: Path) -> None:
    place, words = furnish(tmp_path / "place", converted), command("openai", converted)
    place.misbehave("odd_body:0.04")
    place.call(*words, check=False)
    _make_readable(place)
    assert befall(place, ["collect"], Point.READ_AGAIN, Deed.KILLED).is_reached
    place.call("collect")
    assert place.responses().filter(pl.col("status") == "ok").height == 24
    assert _billed_once(place)
    assert _spent(place) == pytest.approx(evidence.provider(place).usd)
