"""Files: upload, lists, contents, limits, retention."""

import json
import urllib.error
import urllib.request

import openai
import pytest

LINE = b'{"custom_id":"a"}\n'


def test_what_was_uploaded_can_be_read_back_and_deleted(desk):
    data = LINE * 1000
    file = desk.upload(data, "my-tag.jsonl")
    assert (file.bytes, file.filename, file.purpose, file.status) == (len(data), "my-tag.jsonl", "batch", "processed")
    assert file.expires_at == file.created_at + 30 * 24 * 3600
    assert desk.client.files.retrieve(file.id) == file
    answer = desk.client.files.with_raw_response.content(file.id)
    assert answer.headers["content-length"] == str(len(data))
    assert desk.raw(file.id) == data
    assert desk.client.files.delete(file.id).deleted
    for call in (desk.client.files.retrieve, desk.client.files.content, desk.client.files.delete):
        with pytest.raises(openai.NotFoundError):
            call(file.id)


def test_the_list_is_filtered_ordered_and_paged(open_desk):
    desk = open_desk()
    ids = [desk.upload(LINE).id for _ in range(7)]
    other = desk.client.files.create(file=("x.txt", b"text"), purpose="user_data").id
    assert [file.id for file in desk.client.files.list()] == [other, *reversed(ids)]
    assert [file.id for file in desk.client.files.list(purpose="batch", order="asc", limit=2)] == ids
    page = desk.client.files.list(purpose="batch", limit=3, after=ids[5])
    assert [file.id for file in page.data] == [ids[4], ids[3], ids[2]]
    assert page.has_more


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("in.json", LINE, "Must be .jsonl"),
        ("in.jsonl", b"", "Must be .jsonl"),
        ("in.jsonl", b"not json\n" + LINE, "Must be .jsonl"),
    ],
)
def test_bad_uploads_are_refused(desk, name, data, said):
    with pytest.raises(openai.BadRequestError, match=said):
        desk.upload(data, name)


def test_a_bad_line_after_a_good_first_one_is_taken_at_upload(desk):
    assert desk.upload(LINE + b"not json\n").status == "processed"


def test_more_than_200_mb_is_too_large(desk, tmp_path):
    big = tmp_path / "big.jsonl"
    with big.open("wb") as file:
        file.truncate(200_000_001)
    with pytest.raises(openai.BadRequestError) as caught, big.open("rb") as file:
        desk.client.files.create(file=file, purpose="batch")
    assert caught.value.body == {
        "message": "File is too large.",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }


def test_an_upload_may_name_its_own_life(open_desk):
    desk = open_desk(clock="driven")
    expires = {"anchor": "created_at", "seconds": 3600}
    file = desk.client.files.create(file=("in.jsonl", LINE), purpose="batch", expires_after=expires)
    assert file.expires_at == file.created_at + 3600
    desk.advance(3601)
    with pytest.raises(openai.NotFoundError):
        desk.client.files.retrieve(file.id)
    with pytest.raises(openai.BadRequestError):
        expires["seconds"] = 10
        desk.client.files.create(file=("in.jsonl", LINE), purpose="batch", expires_after=expires)


def test_output_files_are_gone_after_30_days(open_desk, request_line):
    desk = open_desk(clock="driven")
    batch = desk.create([request_line()])
    desk.advance(24 * 3600)
    batch = desk.client.batches.retrieve(batch.id)
    assert desk.raw(batch.output_file_id)
    desk.advance(31 * 24 * 3600)
    with pytest.raises(openai.NotFoundError, match="No such File object"):
        desk.raw(batch.output_file_id)


def test_a_key_is_needed_and_any_will_do(desk):
    request = urllib.request.Request(f"{desk.server.base_url}/openai/v1/files")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    assert caught.value.code == 401
    assert json.loads(caught.value.read())["error"]["type"] == "invalid_request_error"
    assert desk.client.with_options(api_key="another").files.list()


def test_an_unknown_url_has_the_envelope(desk):
    with pytest.raises(openai.NotFoundError, match="Invalid URL"):
        desk.client.models.list()
