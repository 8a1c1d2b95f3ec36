"""OpenAI's Files and Batch API, and every server that speaks it.

Facts: https://platform.openai.com/docs/guides/batch and /docs/api-reference/batch. Replies are read as raw
JSON: the SDK does not validate what it parses, hides the Date header, and raises odd things at odd bodies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from runner.providers.account import account_of, hidden, host_of, is_at_home, read_key, read_tier, read_url
from runner.providers.base import Gone, JobStatus, KeptFile, Limits, Listing, NotCreated, Unclear, Unreachable
from runner.providers.loose import as_count, as_moment, as_object, as_text, clock, shorten
from runner.providers.openai_jobs import TAG, queue_limit, read_job
from runner.providers.openai_lines import ENDPOINT, decode_line, encode_line, model_card
from runner.providers.saving import Writer, result_path, saving
from runner.request import Body, RequestId, Response

if TYPE_CHECKING:
    from openai import OpenAI

NAMES = ("openai",)
HOME = "https://api.openai.com/v1"

MAX_REQUESTS = 50_000
MAX_BYTES = 199_000_000
"""The documented limit is "200 MB", of 10^6 or 2^20 bytes: the smaller, less one for the upload's frame."""

MAYBE_CREATED = frozenset({408, 409, 499})
"""The 4xx that are no clear no: a timeout, a conflict, a connection closed midway."""

NOT_ABOUT_THE_FILE = MAYBE_CREATED | {401, 403, 429}

NEVER_BY_WAITING = "insufficient_quota"
NOT_YET = re.compile(r"cannot find file|no such file|not ready|file.*(not found|being processed)", re.I)
CHUNK = 1 << 16

BATCH_PURPOSES = frozenset({"batch", "batch_output"})


def venue_of(env: Mapping[str, str], name: str = "openai") -> str:
    """``openai``, or the host[:port] of OPENAI_BASE_URL in lower case."""
    return _venue(env.get("OPENAI_BASE_URL") or HOME)


def connect(
    env: Mapping[str, str], base_url: str | None = None, venue: str | None = None, name: str = "openai"
) -> OpenAIProvider:
    """With a base URL given (the emulator) no key is needed; else the environment says all.

    OPENAI_TIER is the account's usage tier, 1 to 5. The default is 1: its queue limits hold for everybody. A
    custom host has none unless the tier is given.
    """
    custom = not base_url and venue_of(env) != "openai"
    key = "emulator" if base_url else read_key(env, "OPENAI_API_KEY")
    tier = read_tier(env, "OPENAI_TIER", "12345", None if custom else "1")
    url = f"{base_url}/v1" if base_url else env.get("OPENAI_BASE_URL") or HOME
    project = "|".join(env.get(name, "") for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"))
    return OpenAIProvider(url, key, venue or _venue(url), int(tier) if tier else None, project=project)


def dialect(model: str, body: Body) -> str:
    """The endpoint."""
    return ENDPOINT


class OpenAIProvider:
    """One account at one venue. Only calls that cost nothing are retried, by the SDK; ``create`` never is."""

    names_jobs = True

    def __init__(
        self,
        base_url: str,
        api_key: str,
        venue: str,
        tier: int | None = 1,
        timeout_seconds: float = 180.0,
        project: str = "",
    ) -> None:
        """No network call is made. ``tier`` None means that the venue has no queue limit.

        ``project`` says whose list of jobs the key opens, where the environment chooses one.
        """
        from openai import DefaultHttpxClient, OpenAI, Timeout

        url = read_url(base_url, "OPENAI_BASE_URL")
        self.venue = venue
        self.account = account_of(venue, api_key, project)
        self._tier = tier
        self._secrets = [secret for secret in (api_key, url.password) if secret]
        # A proxy from the environment cannot reach this machine's own emulator.
        http = DefaultHttpxClient(trust_env=False) if is_at_home(url) else None
        self._client: OpenAI = OpenAI(
            base_url=base_url,
            api_key=api_key,
            timeout=Timeout(timeout_seconds, connect=10.0),
            http_client=http,
        )

    def __repr__(self) -> str:
        return f"OpenAIProvider(venue={self.venue!r})"

    def encode(self, request_id: RequestId, model: str, body: Body) -> bytes:
        """One line of the batch file, without its newline."""
        return encode_line(request_id, model, body)

    def decode(self, line: bytes) -> list[Response]:
        """One row per choice; raises ValueError when the line cannot be read."""
        return decode_line(line)

    def limits(self, model: str) -> Limits:
        """The documented limits of a batch file and, by tier, of the model's queue."""
        card = model_card(model)
        queue = card.queue_tokens_of(self._tier) if self._tier else None
        return Limits(MAX_REQUESTS, MAX_BYTES, queue, card.window_tokens)

    def upload(self, path: Path, tag: str) -> str:
        """Stream the file to the provider, who keeps it for 30 days; costs nothing, so the SDK may retry."""
        import openai

        with self._asking(), path.open("rb") as file:
            try:
                reply = self._client.files.with_raw_response.create(file=(f"{tag}.jsonl", file), purpose="batch")
            except openai.APIStatusError as error:
                if 400 <= error.status_code < 500 and error.status_code not in NOT_ABOUT_THE_FILE:
                    raise NotCreated(self._said(error), code=self._hidden(error.code)) from None
                raise
            return _id(reply.content)

    def create(self, model: str, source: str | Path, tag: str) -> str:
        """Sent exactly once. A clear no is NotCreated; whatever may have left a job behind is Unclear."""
        import openai

        try:
            reply = self._client.with_options(max_retries=0).batches.with_raw_response.create(
                input_file_id=str(source),
                endpoint=ENDPOINT,
                completion_window="24h",
                metadata={TAG: tag},
            )
            return _id(reply.content)
        except openai.APIStatusError as error:
            if not 400 <= error.status_code < 500 or error.status_code in MAYBE_CREATED:
                raise Unclear(self._said(error)) from None
            raise NotCreated(
                self._said(error),
                code=self._hidden(error.code),
                retry_later=_may_pass(error),
                is_full=_may_pass(error) and error.status_code == 429,
                learned_queue_tokens=queue_limit(error.message),
            ) from None
        except Exception as error:  # an unreadable 200 included: a job may exist
            raise Unclear(self._said(error)) from None

    def jobs(self, since: datetime) -> Listing:
        """To the end of the list or to a page that is wholly older than ``since``."""
        found: list[JobStatus] = []
        at = None
        for entries, at in self._pages(self._client.batches.with_raw_response.list, limit=100):
            page = [read_job(entry, at) for entry in entries]
            found += page
            # The order is not promised: one old job proves nothing, a whole page of them does.
            if all(job.created_at is not None and job.created_at < since for job in page):
                break
        assert at is not None
        return Listing(tuple(found), at)

    def files(self) -> Sequence[KeptFile]:
        """Inputs and results of batches, ours or not."""
        pages = self._pages(self._client.files.with_raw_response.list, limit=1000)
        return tuple(_kept(entry) for page, _ in pages for entry in page if entry.get("purpose") in BATCH_PURPOSES)

    def status(self, provider_job: str) -> JobStatus:
        """One reading of the job, with the reply's clock."""
        return self._retrieve(provider_job)[0]

    def fetch(self, provider_job: str, folder: Path) -> list[Path]:
        """Write ``<job>.output.jsonl.zst`` and ``<job>.errors.jsonl.zst``, those that there are."""
        job, batch = self._retrieve(provider_job)
        paths = []
        for kind, key in (("output", "output_file_id"), ("errors", "error_file_id")):
            file_id = as_text(batch.get(key))
            if not file_id:  # null, or "" at some servers
                continue
            path = result_path(folder, provider_job, kind)
            try:
                self._download(file_id, path)
            except Gone:
                if job.retain_until is not None and job.at >= job.retain_until:
                    raise
                raise Unreachable(f"{self.venue} does not yet give the file {file_id}.") from None
            paths.append(path)
        return paths

    def cancel(self, provider_job: str) -> None:
        """Ask for cancellation; a job that has ended already (409) is left as it is."""
        import openai

        with self._asking(on_404=Gone):
            try:
                self._client.batches.with_raw_response.cancel(provider_job)
            except openai.ConflictError:
                return

    def discard(self, file_id: str) -> None:
        """Delete an uploaded file; if that fails, it expires by itself."""
        import openai

        try:
            self._client.files.with_raw_response.delete(file_id)
        except openai.APIError:
            return

    def _retrieve(self, provider_job: str) -> tuple[JobStatus, dict[str, Any]]:
        with self._asking(on_404=Gone):
            reply = self._client.batches.with_raw_response.retrieve(provider_job)
            batch = as_object(orjson.loads(reply.content))
            return read_job(batch, clock(reply.headers.get("date"))), batch

    def _pages(self, ask: Callable[..., Any], limit: int) -> Iterator[tuple[list[dict[str, Any]], datetime]]:
        """The entries of a list, page by page, each with its reply's Date; nothing twice."""
        after: dict[str, Any] = {}
        seen: set[str] = set()
        while True:
            with self._asking():
                reply = ask(limit=limit, **after)
                page = as_object(orjson.loads(reply.content))
                if not isinstance(page.get("data"), list):
                    raise ValueError("a list without data")
                at = clock(reply.headers.get("date"))
                entries = {_id_of(entry): entry for entry in map(as_object, page["data"])}
            new = entries.keys() - seen
            if entries and not new:
                raise Unreachable(f"A list at {self.venue} does not advance from page to page.")
            seen |= new
            yield [entry for name, entry in entries.items() if name in new], at
            if not entries or page.get("has_more") is False:
                return
            after = {"after": list(entries)[-1]}

    def _download(self, file_id: str, path: Path) -> None:
        with saving(path) as writer, self._asking(on_404=Gone):
            self._stream(file_id, writer)

    def _stream(self, file_id: str, writer: Writer) -> None:
        card = as_object(orjson.loads(self._client.files.with_raw_response.retrieve(file_id).content))
        length = 0
        with self._client.files.with_streaming_response.content(file_id) as reply:
            for chunk in reply.iter_bytes(CHUNK):
                length += len(chunk)
                writer.write(chunk)
            received = reply.http_response.num_bytes_downloaded
            promised = reply.headers.get("content-length")
        expected = as_count(card.get("bytes"))  # 0 where a server does not know
        if (promised and int(promised) != received) or (expected and expected != length):
            raise Unreachable(f"The file {file_id} came with {length:,} of {expected or promised} bytes.")

    @contextmanager
    def _asking(self, on_404: type[Exception] = Unreachable) -> Iterator[None]:
        """Around calls that cost nothing: whatever is raised becomes Unreachable, or ``on_404``."""
        import httpx2
        import openai

        try:
            yield
        except openai.NotFoundError as error:
            raise on_404(self._said(error)) from None
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
            raise Unreachable(self._said(error), is_refusal=getattr(error, "status_code", 0) in (401, 403)) from None

    def _said(self, error: Exception) -> str:
        """The provider's words in one sentence: its message and code, never a header, a key or a password."""
        import httpx2
        import openai

        if isinstance(error, openai.APIStatusError):
            words = as_text(as_object(error.body).get("message")) or "no reason given"
            sentence = f"{self.venue} answered {error.status_code}: {words}"
            sentence += f" ({error.code})" if error.code else ""
        elif isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
            sentence = f"{self.venue} did not answer in time."
        elif isinstance(error, openai.APIConnectionError | httpx2.HTTPError):
            sentence = f"The connection to {self.venue} failed: {error.__cause__ or error}"
        else:
            sentence = f"{self.venue} sent a reply that cannot be read ({type(error).__name__})."
        return shorten(self._hidden(sentence)) or ""

    def _hidden(self, words: str | None) -> str | None:
        return hidden(words, self._secrets)


def _venue(url: str) -> str:
    host = host_of(read_url(url, "OPENAI_BASE_URL"))
    return "openai" if host == "api.openai.com" else host


def _may_pass(error: Any) -> bool:
    """Whether the same create may work later: a full queue, or a file that is not ready yet."""
    if error.status_code == 429:
        return bool(error.code != NEVER_BY_WAITING)
    return error.status_code == 404 or bool(NOT_YET.search(error.message))


def _id_of(entry: dict[str, Any]) -> str:
    found = as_text(entry.get("id"))
    if not found:
        raise ValueError("a reply without an id")
    return found


def _id(content: bytes) -> str:
    return _id_of(as_object(orjson.loads(content)))


def _kept(entry: dict[str, Any]) -> KeptFile:
    name = as_text(entry.get("filename")) or ""
    return KeptFile(_id_of(entry), name, as_count(entry.get("bytes")), as_moment(entry.get("created_at")))
