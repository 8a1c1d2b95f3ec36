"""A file of the largest size goes through in flat memory."""

import json
from pathlib import Path

import pytest


@pytest.mark.slow
def test_200_mb_of_50_000_requests_cost_little_memory(open_desk, request_line, tmp_path):
    desk = open_desk(alone=True)
    content = " ".join(f"word{k}" for k in range(430))
    source = tmp_path / "big.jsonl"
    with source.open("wb") as file:
        for k in range(50_000):
            file.write(json.dumps(request_line(str(k), f"{k} {content}. " + "x" * 350)).encode() + b"\n")
    assert 190e6 < source.stat().st_size <= 200e6
    with source.open("rb") as file:
        uploaded = desk.client.files.create(file=file, purpose="batch")
    call = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}
    batch = desk.finish(desk.client.batches.create(input_file_id=uploaded.id, **call))
    assert batch.request_counts.completed == 50_000
    status = Path(f"/proc/{desk.server.process.pid}/status").read_text()
    peak_kb = int(status.partition("VmHWM:")[2].split()[0])
    assert peak_kb < 200_000  # of which the vocabulary 80,000
