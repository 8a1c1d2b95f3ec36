"""OpenAI's Files and Batch API, and every server that speaks it.

Facts: https://platform.openai.com/docs/guides/batch and /docs/api-reference/batch.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from runner.providers.account import account_of, read_key, read_tier
from runner.providers.base import Gone, JobStatus, KeptFile, Limits, Listing, Unreachable, is_past
from runner.providers.hosts import Host
from runner.providers.loose import as_count, as_moment, as_object, as_text, clock
from runner.providers.openai_client import Client, id_in, id_of
from runner.providers.openai_hosts import ELSEWHERE, OPENAI, expiry, host_at
from runner.providers.openai_jobs import TAG, read_job
from runner.providers.openai_lines import decode_line, encode_line, endpoint_of, model_card
from runner.providers.openai_usage import is_batch_tier as is_batch_tier
from runner.providers.saving import result_path
from runner.providers.thinking import without_thinking
from runner.request import Body, Hint, RequestId, Response

NAMES = ("openai",)
TIER = "OPENAI_TIER"
TIERS = ("1", "2", "3", "4", "5")

BATCH_PURPOSES = frozenset({"batch", "batch_output", "batch-api", "batch-generated"})
"""Of inputs and results: OpenAI's words and Together's."""


def venue_of(env: Mapping[str, str], name: str = "openai") -> str:
    """``openai``, or the host[:port] of OPENAI_BASE_URL in lower case."""
    return OPENAI.venue(OPENAI.url(env))


def connect(
    env: Mapping[str, str], base_url: str | None = None, venue: str | None = None, name: str = "openai"
) -> OpenAIProvider:
    """With a base URL given (the emulator) no key is needed; else the environment says all.

    OPENAI_TIER is the account's usage tier, 1 to 5. The default is 1: its queue limits hold for everybody. A
    custom host has none unless the tier is given.
    """
    url = f"{base_url}/v1" if base_url else OPENAI.url(env)
    host = OPENAI if base_url else host_at(url)
    key = "rehearsal" if base_url else read_key(env, host.key_variable(env))
    tier = read_tier(env, TIER, TIERS, "1" if host is OPENAI else None)
    project = "|".join(env.get(name, "") for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"))
    return OpenAIProvider(url, key, venue or host.venue(url), int(tier) if tier else None, project=project, host=host)


def dialect(model: str, body: Body) -> str:
    """The endpoint."""
    return endpoint_of(model)


class OpenAIProvider:
    """One account at one venue. Only calls that cost nothing are retried, by the SDK; ``create`` never is."""

    names_jobs = True
    _jobs_path = "/batches"

    def __init__(
        self,
        base_url: str,
        api_key: str,
        venue: str,
        tier: int | None = 1,
        timeout_seconds: float = 180.0,
        project: str = "",
        host: Host = OPENAI,
    ) -> None:
        """No network call is made. ``tier`` None means that the venue has no queue limit but its ``host``'s.

        ``project`` says whose list of jobs the key opens, where the environment chooses one.
        """
        from openai import Omit

        self.venue = venue
        self.account = account_of(venue, api_key, project)
        self._tier = tier
        self._host = host
        # The key that makes the account is the one that is sent, whatever OPENAI_CUSTOM_HEADERS says; and those, and
        # an OpenAI organisation of the environment, are nobody else's business.
        headers: dict[str, Any] = {"Authorization": f"Bearer {api_key}"}
        if host not in (OPENAI, ELSEWHERE):
            lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
            named = [line.partition(":")[0].strip() for line in lines if ":" in line]
            foreign = [name for name in named if name.lower() != "authorization"]
            headers |= {name: Omit() for name in ("OpenAI-Organization", "OpenAI-Project", *foreign)}
        self._client = Client(base_url, api_key, venue, timeout_seconds, host.url_variable, headers)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(venue={self.venue!r})"

    def encode(self, request_id: RequestId, model: str, body: Body, hint: Hint | None = None) -> bytes:
        """One line of the batch file, without its newline; only OpenAI itself is told of caching."""
        return encode_line(request_id, model, body, self._host.name, hint if self._host is OPENAI else None)

    def decode(self, line: bytes) -> list[Response]:
        """One row per choice; raises ValueError when the line cannot be read."""
        hidden = self._client.hidden
        rows = [
            replace(row, error_code=hidden(row.error_code), error_message=hidden(row.error_message))
            for row in decode_line(line)
        ]
        if not self._host.thinks_aloud:
            return rows
        return [replace(row, text=row.text and without_thinking(row.text)) for row in rows]

    def limits(self, model: str) -> Limits:
        """The documented limits of a batch file and, by tier, of the model's queue."""
        card, host = model_card(model, self._host.name), self._host
        return Limits(
            max_requests=host.max_requests,
            max_bytes=host.max_bytes,
            queue_tokens=card.queue_tokens_of(self._tier) if self._tier else host.queue_tokens,
            window_tokens=card.window_tokens,
            max_line_bytes=host.max_line_bytes,
            queue_requests=host.queue_requests,
            max_jobs=host.max_jobs,
        )

    def upload(self, path: Path, tag: str) -> str:
        """Stream the file to the provider; costs nothing, so the SDK may retry."""
        with self._client.asking(), self._client.sending(), path.open("rb") as file:
            return self._send_file(f"{tag}.jsonl", file)

    def create(self, model: str, source: str | Path, tag: str) -> str:
        """Sent exactly once. A clear no is NotCreated; whatever may have left a job behind is Unclear."""
        with self._client.creating():
            return id_in(self._client.post_once(self._jobs_path, self._job(model, str(source), tag)))

    def jobs(self, since: datetime) -> Listing:
        """To the end of the list or to a page that is wholly older than ``since``."""
        found: list[JobStatus] = []
        at = None
        ask = self._client.sdk.batches.with_raw_response.list
        for entries, at in self._client.pages(ask, 100, has_more=self._host.has_pages):
            page = [self._read(entry, at) for entry in entries]
            found += page
            if is_past(page, since):
                break
        assert at is not None
        return Listing(tuple(found), at)

    def files(self) -> Sequence[KeptFile]:
        """Inputs and results of batches, ours or not."""
        ask = self._client.sdk.files.with_raw_response.list
        pages = self._client.pages(ask, 1000, has_more=self._host.has_pages)
        return tuple(kept_file(entry) for page, _ in pages for entry in page if entry.get("purpose") in BATCH_PURPOSES)

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
                self._client.download(file_id, path)
            except Gone:
                if job.retain_until is not None and job.at >= job.retain_until:
                    raise
                raise Unreachable(f"{self.venue} does not yet give the file {file_id}.") from None
            paths.append(path)
        return paths

    def cancel(self, provider_job: str) -> None:
        """Ask for cancellation; a job that has ended already (409, at some hosts 400) is left as it is."""
        import openai

        with self._client.asking(on_404=Gone):
            try:
                self._client.sdk.batches.with_raw_response.cancel(provider_job)
            except (openai.BadRequestError, openai.ConflictError):
                return

    def discard(self, file_id: str) -> None:
        """Delete an uploaded file; if that fails, it expires by itself."""
        import openai

        try:
            self._client.sdk.files.with_raw_response.delete(file_id)
        except (openai.APIConnectionError, openai.InternalServerError, openai.RateLimitError):
            raise Unreachable(f"{self.venue} could not be asked to delete {file_id}") from None
        except openai.APIError:
            return

    def _send_file(self, name: str, file: BinaryIO) -> str:
        """The id of an uploaded file."""
        from openai import omit

        expires = expiry(self._host.inputs_kept) if self._host.inputs_kept else omit
        ask = self._client.sdk.files.with_raw_response.create
        return id_in(ask(file=(name, file), purpose="batch", expires_after=expires).content)

    def _job(self, model: str, file_id: str, tag: str) -> dict[str, Any]:
        """The body of a create."""
        body = {
            "input_file_id": file_id,
            "endpoint": endpoint_of(model, self._host.name),
            "completion_window": "24h",
            "metadata": {TAG: tag},
        }
        return body | ({"output_expires_after": expiry(self._host.results_kept)} if self._host.results_stay else {})

    def _read(self, entry: dict[str, Any], at: datetime) -> JobStatus:
        job = read_job(entry, at, self._host.results_kept, splits_results=self._host.splits_results)
        return replace(job, error=self._client.hidden(job.error))

    def _retrieve(self, provider_job: str) -> tuple[JobStatus, dict[str, Any]]:
        with self._client.asking(on_404=Gone):
            reply = self._client.sdk.batches.with_raw_response.retrieve(provider_job)
            batch = as_object(orjson.loads(reply.content))
            return self._read(batch, clock(reply.headers.get("date"))), batch


def kept_file(entry: dict[str, Any]) -> KeptFile:
    """A file object of a list; ValueError where it has no id."""
    name = as_text(entry.get("filename")) or ""
    return KeptFile(id_of(entry), name, as_count(entry.get("bytes")), as_moment(entry.get("created_at")))
