import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
import zstandard
from stub_openai import Stub

from runner.providers.base import Gone, Unreachable
from runner.providers.openai import OpenAIProvider

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
OUTPUT = b"".join(b'{"custom_id":"r%d"}\n' % number for number in range(5000))
ERRORS = '{"custom_id":"e","t":"a\u2028b"}'.encode()


@pytest.fixture
def stub():
    with Stub() as running:
        yield running


@pytest.fixture
def provider(stub):
    return OpenAIProvider(stub.base_url, "sk-test", "openai", timeout_seconds=5.0)


def ended(stub, status="completed", **files):
    ids = {key: value if value is None or value == "" else stub.add_file(value) for key, value in files.items()}
    return stub.add_batch(status=status, **{f"{status}_at": stub.seconds()}, **ids)["id"]


def content(path):
    with zstandard.open(path) as file:
        return file.read()


@pytest.mark.parametrize("status", ["completed", "expired", "cancelled", "failed"])
def test_both_files_of_every_ending_are_kept_byte_for_byte(stub, provider, tmp_path, status):
    job = ended(stub, status, output_file_id=OUTPUT, error_file_id=ERRORS)
    paths = provider.fetch(job, tmp_path / "raw")
    assert [path.name for path in paths] == [f"{job}.output.jsonl.zst", f"{job}.errors.jsonl.zst"]
    assert [content(path) for path in paths] == [OUTPUT, ERRORS]
    assert provider.fetch(job, tmp_path / "raw") == paths
    assert sorted((tmp_path / "raw").iterdir()) == sorted(paths)


@pytest.mark.parametrize("none", [None, ""])
def test_a_file_that_is_none_is_not_asked_for(stub, provider, tmp_path, none):
    only_errors = ended(stub, output_file_id=none, error_file_id=ERRORS)
    assert [content(path) for path in provider.fetch(only_errors, tmp_path)] == [ERRORS]
    assert provider.fetch(ended(stub, output_file_id=none, error_file_id=none), tmp_path) == []
    assert stub.count("content") == 1


@pytest.mark.parametrize("fault", ["short", "cut"])
def test_a_file_that_comes_short_leaves_nothing_and_is_fetched_again(stub, provider, tmp_path, fault):
    job = ended(stub, output_file_id=OUTPUT)
    stub.faults["content"] = [fault]
    with pytest.raises(Unreachable):
        provider.fetch(job, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert [content(path) for path in provider.fetch(job, tmp_path)] == [OUTPUT]


def test_a_file_fetched_before_is_not_harmed_by_a_broken_fetch(stub, provider, tmp_path):
    job = ended(stub, output_file_id=OUTPUT)
    (path,) = provider.fetch(job, tmp_path)
    stub.faults["content"] = ["short"]
    with pytest.raises(Unreachable):
        provider.fetch(job, tmp_path)
    assert content(path) == OUTPUT


def test_a_file_that_is_not_there_is_lost_only_after_the_time_it_is_kept(stub, provider, tmp_path):
    stub.now = NOON
    job = ended(stub, output_file_id=OUTPUT)
    stub.files.clear()
    stub.now = NOON + timedelta(days=29)
    with pytest.raises(Unreachable):
        provider.fetch(job, tmp_path)
    stub.now = NOON + timedelta(days=30)
    with pytest.raises(Gone):
        provider.fetch(job, tmp_path)


def test_an_id_from_a_stranger_cannot_leave_the_folder(stub, provider, tmp_path):
    batch = stub.batches[ended(stub, output_file_id=OUTPUT)]
    stub.batches["..%2F..%2Fevil"] = batch
    (path,) = provider.fetch("../../evil", tmp_path / "a" / "b")
    assert path.parent == tmp_path / "a" / "b"


CHILD = """
import resource, sys
from pathlib import Path
from runner.providers.lines import read_lines
from runner.providers.openai import OpenAIProvider

def peak():
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss begins at the parent's peak there
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

base_url, small, large, folder = sys.argv[1:]
provider = OpenAIProvider(base_url, "sk-test", "openai")
sent = Path(folder, "sent.jsonl")
provider.upload(sent.with_name("small.jsonl"), "t")
sum(map(len, read_lines(provider.fetch(small, Path(folder))[0])))
before = peak()
provider.upload(sent, "t")
length = sum(map(len, read_lines(provider.fetch(large, Path(folder))[0])))
print(length, peak() - before)
"""


def test_60_mb_up_and_down_in_flat_memory_and_past_a_proxy(stub, tmp_path):
    large = b"".join(os.urandom(30_000).hex().encode() + b"\n" for _ in range(1000))
    (tmp_path / "small.jsonl").write_bytes(OUTPUT)
    (tmp_path / "sent.jsonl").write_bytes(large)
    jobs = [ended(stub, output_file_id=OUTPUT), ended(stub, output_file_id=large)]
    said = subprocess.run(
        [sys.executable, "-c", CHILD, stub.base_url, *jobs, str(tmp_path)],
        env={**os.environ, "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    length, growth = map(int, said.stdout.split())
    assert length == 60_000_000
    assert growth < 15_000_000, f"{growth:,} bytes"
