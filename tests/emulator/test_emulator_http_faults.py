"""The faults of HTTP: what a client sees of each, what was stored nevertheless, and that storms end."""

import time
import urllib.error
import urllib.request

import openai
import pytest

from runner.emulator.faults import FAULTS, parse


@pytest.fixture
def faulty(desk):
    """The desk, and how to switch faults on."""

    def switch(*faults):
        desk.control("faults", dict(map(parse, faults)))
        return desk

    yield switch
    desk.control("faults", {name: float(name == "shuffle") for name in FAULTS})


@pytest.fixture
def create(desk, faulty, request_line):
    """A desk with faults, a file uploaded before they began, and a way to make a batch of it."""

    def begin(fault):
        file = desk.upload([request_line()])
        faulty(f"{fault}:1")

        def make(**metadata):
            call = {"endpoint": "/v1/chat/completions", "completion_window": "24h", "metadata": metadata}
            return desk.client.batches.create(input_file_id=file.id, **call)

        return desk, make, len(desk.control("jobs")["jobs"])

    return begin


def jobs(desk):
    return len(desk.control("jobs")["jobs"])


def fates(call, n):
    """What becomes of n calls in turn: a status or the name of an error."""
    seen = []
    for _ in range(n):
        try:
            call()
            seen.append(200)
        except openai.APIStatusError as error:
            seen.append(error.status_code)
        except openai.APIConnectionError:
            seen.append("reset")
    return seen


def test_create_lost(create):
    desk, make, _ = create("create_lost")
    for error in (openai.APIConnectionError, openai.InternalServerError):  # a reset and a 500 in turn
        with pytest.raises(error):
            make(tag=error.__name__)
        found = [one for one in desk.client.batches.list() if one.metadata == {"tag": error.__name__}]
        assert len(found) == 1
        assert desk.finish(found[0]).status == "completed"


def test_create_429_made(create):
    desk, make, before = create("create_429_made")
    with pytest.raises(openai.RateLimitError):
        make()
    assert jobs(desk) == before + 1


def test_create_500(create):
    desk, make, before = create("create_500")
    with pytest.raises(openai.InternalServerError):
        make()
    assert jobs(desk) == before
    desk.control("faults", {"create_500": 0})
    assert desk.finish(make()).status == "completed"


def test_spend_limit(create):
    desk, make, before = create("spend_limit")
    for _ in range(4):
        with pytest.raises(openai.RateLimitError) as caught:
            make()
        assert (caught.value.code, caught.value.type) == ("insufficient_quota", "insufficient_quota")
        assert "retry-after" not in caught.value.response.headers
    assert jobs(desk) == before
    desk.control("faults", {"spend_limit": 0})  # somebody paid
    assert desk.finish(make()).status == "completed"


def test_file_not_ready(create):
    _, make, _ = create("file_not_ready")
    assert fates(make, 3) == [404, 404, 200]


@pytest.mark.parametrize(
    ("fault", "kept"), [("upload_reset_before:1", 0), ("upload_reset_middle:1", 0), ("upload_reset_after:1", 1)]
)
@pytest.mark.parametrize("size", [100, 3_000_000])
def test_upload_reset(faulty, fault, kept, size):
    desk = faulty(fault)
    before = {file.id for file in desk.client.files.list()}
    line = b'{"custom_id":"a"}'
    data = line + b" " * (size - len(line)) + b"\n"
    assert fates(lambda: desk.upload(data), 2) == ["reset"] * 2
    made = [file for file in desk.client.files.list() if file.id not in before]
    assert [file.bytes for file in made] == [size + 1] * 2 * kept
    assert desk.upload(data).bytes == size + 1  # every third is spared


@pytest.mark.parametrize(("name", "says_when"), [("storm_429", True), ("storm_429_silent", False)])
def test_storm_429(create, name, says_when):
    desk, make, before = create(name)
    seen = []
    for _ in range(5):
        with pytest.raises(openai.RateLimitError) as caught:
            (make if len(seen) % 2 else desk.client.batches.list)()
        seen.append(caught.value.response.headers.get("retry-after"))
    assert seen == ["1" if says_when else None] * 5
    assert jobs(desk) == before
    assert fates(desk.client.batches.list, 20 + 6) == [200] * 20 + [429] * 5 + [200]


def test_storm_5xx(create):
    desk, make, before = create("storm_5xx")
    assert fates(make, 6) == [500, 502, 500, 503, 500, 200]
    assert jobs(desk) == before + 1
    request = urllib.request.Request(f"{desk.server.base_url}/openai/v1/files", headers={"authorization": "Bearer k"})
    desk.control("faults", {"storm_5xx": 0})
    desk.control("faults", {"storm_5xx": 1})
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(request)
    with pytest.raises(urllib.error.HTTPError) as caught:  # the second comes from a gateway that speaks no JSON
        urllib.request.urlopen(request)
    assert caught.value.headers["content-type"].startswith("text/html")


@pytest.fixture
def download(desk, faulty, request_line):
    """A desk with a fault, the whole of a result file, and a way to read it again."""

    def begin(fault):
        batch = desk.run([request_line(str(k), f"Write a whole sentence about {k}, please.") for k in range(20)])
        whole = desk.raw(batch.output_file_id)
        faulty(fault)

        def read():
            """What is got, and the length that was promised."""
            got = b""
            with desk.client.files.with_streaming_response.content(batch.output_file_id) as answer:
                promised = int(answer.headers["content-length"])
                try:
                    for chunk in answer.iter_bytes():
                        got += chunk
                except Exception as error:
                    assert "incomplete" in str(error) or "peer closed" in str(error)
                    return got, promised, False
            return got, promised, True

        return whole, read

    return begin


def test_truncated_download(download):
    whole, read = download("truncated_download:1")
    assert read() == (whole[: len(whole) // 2], len(whole), False)


def test_length_too_small(download):
    whole, read = download("length_too_small:1")
    half = len(whole) // 2
    assert [read() for _ in range(3)] == [(whole[:half], half, True)] * 2 + [(whole, len(whole), True)]


def test_length_too_large(download):
    whole, read = download("length_too_large:1")
    assert [read() for _ in range(3)] == [(whole, len(whole) + 1000, False)] * 2 + [(whole, len(whole), True)]


def test_slow_trickle(download):
    whole, read = download("slow_trickle:1")
    start = time.monotonic()
    assert read() == (whole, len(whole), True)
    assert 0.9 < time.monotonic() - start < 5


def test_a_rate_hits_some_calls_and_spares_others(download):
    whole, read = download("truncated_download:0.5")
    hit = sum(read()[0] != whole for _ in range(30))
    assert 5 < hit < 25


def test_the_same_seed_misbehaves_in_the_same_way(open_desk, request_line):
    def story(folder, seed):
        faults = ["storm_5xx", "create_lost:0.5", "not_found_after_create:0.5", "upload_reset_middle:0.3"]
        desk = open_desk(state=folder, seed=seed, faults=faults)
        seen = fates(lambda: desk.create([request_line()]), 20)
        for batch in desk.control("jobs")["jobs"]:
            seen += fates(lambda job=batch["id"]: desk.client.batches.retrieve(job), 2)
        return seen

    first = story("a", 1)
    assert {200, 404, 500, 502, 503, "reset"} == set(first)
    assert first == story("b", 1) != story("c", 2)
