"""A server that is not ours: OPENAI_BASE_URL leads to an independent stub, whose host is then the venue."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests.place import Place
from tests.providers.stub_openai import Stub

KEY = "sk-very-secret-0123456789"


def _asked(corpus: Path, *more: str) -> list[str]:
    return ["--model", "gpt-5.4-mini", "--task", "3.1", "--data", str(corpus), "--limit", "16", *more]


def _env(stub: Stub) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": stub.base_url}


def _bought(stub: Stub) -> Counter[str]:
    """How often each request was answered: read from every output file the stub ever wrote."""
    outputs = [stub.content(batch["output_file_id"]) for batch in stub.batches.values() if batch["output_file_id"]]
    return Counter(json.loads(line)["custom_id"] for output in outputs for line in output.splitlines())


def test_the_whole_chain_against_it(place: Place, corpus: Path) -> None:
    with Stub(lambda body: "Positive.") as stub:
        place.call("run", *_asked(corpus), "--yes", "--poll", "0.05", **_env(stub))
        assert _bought(stub) == dict.fromkeys(place.asked(), 1)
    summary = place.summary()
    assert summary["venue"].startswith("127.0.0.1:")
    assert summary["state"] == "complete"
    assert summary["requests"]["ok"] == 64
    assert summary["cost"]["billed_usd"] is None, "a stranger's prices are not OpenAI's"


def test_a_rehearsal_is_never_taken_over_by_another_venue(scored: Place, corpus: Path) -> None:
    with Stub(lambda body: "negative") as stub:
        scored.call("run", *_asked(corpus), "--yes", "--poll", "0.05", **_env(stub))
        assert sum(_bought(stub).values()) == 64
    real = next(run for run in scored.runs() if "emulator" not in run)
    assert set(scored.responses(real)["venue"]) == {scored.summary(real)["venue"]}
    assert scored.summary(real)["cost"]["reused_usd"] == 0


def test_a_lost_answer_to_create_is_looked_for_and_not_bought_again(place: Place, corpus: Path) -> None:
    with Stub(lambda body: "positive") as stub:
        stub.faults["create"] = ["500 after", "drop after"]
        submitted = place.call("submit", *_asked(corpus), "--yes", check=False, **_env(stub))
        assert "lost" in submitted.stderr
        place.call("collect", "--wait", "--poll", "0.05", **_env(stub))
        place.call("run", *_asked(corpus), "--yes", "--poll", "0.05", **_env(stub))
        assert _bought(stub) == dict.fromkeys(place.asked(), 1)


def test_a_refused_batch_is_one_sentence_and_nothing_is_bought(place: Place, corpus: Path) -> None:
    with Stub(lambda body: "positive") as stub:
        stub.faults["create"] = ["400|You have no credit left.|billing_hard_limit_reached"]
        refused = place.call("submit", *_asked(corpus), "--yes", check=False, **_env(stub))
        assert refused.returncode == 1
        assert "You have no credit left." in refused.stderr
        assert not stub.batches
        place.call("run", *_asked(corpus), "--yes", "--poll", "0.05", **_env(stub))
        assert _bought(stub) == dict.fromkeys(place.asked(), 1)


def test_the_key_is_in_no_file_and_no_output(place: Place, corpus: Path) -> None:
    with Stub() as stub:
        stub.faults["create"] = ["401"]
        outputs = [
            place.call("submit", *_asked(corpus), "--yes", check=False, **_env(stub)),
            place.call("run", *_asked(corpus), "--yes", "--poll", "0.05", check=False, **_env(stub)),
            place.call("status", "--json", **_env(stub)),
        ]
    assert not any(KEY in text for done in outputs for text in (done.stdout, done.stderr))
    written = [path for path in place.root.rglob("*") if path.is_file()]
    assert len(written) > 5
    assert not [path for path in written if KEY.encode() in path.read_bytes()]


def test_without_the_key_one_sentence_says_what_to_set(place: Place, corpus: Path) -> None:
    done = place.call("submit", *_asked(corpus), "--yes", check=False)
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr
    assert "--emulate" in done.stderr
    assert not place.runs(), "it is said before any work is done"


def test_nobody_there_to_say_yes_buys_nothing(place: Place, corpus: Path) -> None:
    with Stub() as stub:
        done = place.call("submit", *_asked(corpus), check=False, **_env(stub))
        assert done.returncode == 2
        assert "--yes" in done.stderr
        assert not stub.files
