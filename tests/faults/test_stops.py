"""What stops a run until a new yes: refusals that last, batches without a row. What is never sent: a damaged file."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runner.chain.journal import Point
from tests.faults.deeds import stops
from tests.place import Place
from tests.providers.stub_openai import Stub


def _asked(corpus: Path, limit: int = 3) -> list[str]:
    return ["--model", "gpt-5.4-mini", "--task", "3.1", "--data", str(corpus), "--limit", str(limit), "--yes"]


def _env(stub: Stub) -> dict[str, str]:
    return {"OPENAI_API_KEY": "sk-A-0123456789", "OPENAI_BASE_URL": stub.base_url}


class Moody(Stub):
    """Ends every batch at once, as ``mood`` says."""

    mood = "completed"

    def __init__(self) -> None:
        super().__init__(lambda body: "positive")
        self.sent: list[bytes] = []

    def upload(self, head: Any, body: bytes) -> dict[str, Any]:
        card = super().upload(head, body)
        self.sent.append(self.files[card["id"]][1])
        return card

    def create(self, head: Any, body: bytes) -> dict[str, Any]:
        batch = super().create(head, body)
        if self.mood == "failed":
            error = {"code": "model_not_found", "line": 1, "param": "body.model", "message": "No such model."}
            batch["errors"] = {"data": [error]}
        self.move(batch, self.mood)
        return batch


@pytest.mark.parametrize(
    ("refusal", "mood"),
    [
        ("403|You have no permission.|forbidden", "completed"),
        ("400|The model does not exist.|model_not_found", "completed"),
        ("", "failed"),
    ],
)
def test_a_refusal_that_lasts_is_not_asked_for_again(place: Place, corpus: Path, refusal: str, mood: str) -> None:
    with Moody() as stub:
        stub.mood, stub.faults["create"] = mood, [refusal] * 9
        first = [place.call(*words, check=False, **_env(stub)) for words in (["submit", *_asked(corpus)], ["collect"])]
        assert 1 in {done.returncode for done in first}
        assert (stub.count("upload"), stub.count("create")) == (1, 1)
        for words in (["collect"], ["collect", "--wait"], ["run", *_asked(corpus)]):
            assert place.call(*words, check=False, **_env(stub)).returncode == 1
        assert (stub.count("upload"), stub.count("create")) == (1, 1)
        stub.mood, stub.faults["create"] = "completed", []
        place.call("submit", *_asked(corpus), **_env(stub))
        place.call("collect", **_env(stub))
        assert set(place.responses()["status"]) == {"ok"}


@pytest.mark.parametrize("mood", ["expired", "cancelled"])
def test_three_endings_without_a_row_stop_the_run_and_no_row_is_missing(place: Place, corpus: Path, mood: str) -> None:
    with Moody() as stub:
        stub.mood = mood
        done = place.call("run", *_asked(corpus), "--poll", "0.05", check=False, **_env(stub))
        assert done.returncode == 1
        assert stub.count("create") >= 3
        assert place.responses().is_empty()
        begun = stub.count("create")
        assert place.call("collect", "--wait", check=False, **_env(stub)).returncode == 1
        assert stub.count("create") == begun, "nothing more is bought unasked"
        stub.mood = "completed"
        place.call("submit", *_asked(corpus), **_env(stub))
        place.call("collect", "--wait", "--poll", "0.05", **_env(stub))
        assert set(place.responses()["status"]) == {"ok"}
        assert set(place.responses()["request_id"]) == place.asked()


def test_two_endings_without_a_row_stop_nothing(place: Place, corpus: Path) -> None:
    class Twice(Moody):
        def create(self, head: Any, body: bytes) -> dict[str, Any]:
            self.mood = "expired" if len(self.batches) % 3 < 2 else "completed"
            return super().create(head, body)

    with Twice() as stub:
        place.call("run", *_asked(corpus), "--poll", "0.05", **_env(stub))
        assert set(place.responses()["status"]) == {"ok"}


@pytest.mark.parametrize("harm", ["cut", "changed", "deleted"])
def test_a_damaged_batch_file_is_not_sent_but_packed_anew(place: Place, corpus: Path, harm: str) -> None:
    with Moody() as stub:
        with place.start("submit", *_asked(corpus), PERSONA_RUNNER_STOP_AT=Point.INTENDED, **_env(stub)) as process:
            assert stops(process)
            process.kill()
        (path,) = (place.root / "batches").glob("*/stage-1/batch-0001.jsonl")
        content = path.read_bytes()
        if harm == "cut":
            path.write_bytes(content[: content.rindex(b"\n", 0, -1) + 1])
        elif harm == "changed":
            path.write_bytes(content.replace(b"reply", b"wreck", 1))
        else:
            path.unlink()
        place.call("collect", "--wait", "--poll", "0.05", **_env(stub))
        with sqlite3.connect(place.root / "batches" / "ledger.sqlite") as ledger:
            written = {digest for (digest,) in ledger.execute("select sha256 from jobs")}
        assert {hashlib.sha256(content).hexdigest() for content in stub.sent} <= written
        outputs = [stub.content(batch["output_file_id"]) for batch in stub.batches.values()]
        bought = Counter(json.loads(line)["custom_id"] for output in outputs for line in output.splitlines())
        assert bought == dict.fromkeys(place.asked(), 1)
