"""Google's Gemini Developer API in batches. Facts: https://ai.google.dev/gemini-api/docs/batch-api."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from runner.providers.account import account_of, host_of, read_key, read_tier, read_url
from runner.providers.base import Gone, JobStatus, KeptFile, Limits, Listing, Unreachable
from runner.providers.google_client import Client
from runner.providers.google_jobs import int64, name_of, read_job, results_of
from runner.providers.google_lines import decode_line, encode_line, model_card
from runner.providers.google_lines import is_batch_tier as is_batch_tier
from runner.providers.loose import as_moment, as_text
from runner.providers.saving import result_path, saving
from runner.request import Body, Hint, RequestId, Response

NAMES = ("google",)
TIER = "GEMINI_TIER"
TIERS = ("1", "2", "3")
HOME = "https://generativelanguage.googleapis.com"
BASE_URL = "GOOGLE_GEMINI_BASE_URL"
KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")

MAX_BYTES = 1_990_000_000
"""The documented limit of an input file is "2 GB", of 10^9 or 2^30 bytes: the smaller, less a margin."""

MAX_REQUESTS = 50_000
"""Ours: none is documented. A job that expires after 48 h leaves nothing, so it had better not be too large."""

MAX_JOBS = 100
"""Concurrent batches of a project: https://ai.google.dev/gemini-api/docs/rate-limits."""


def venue_of(env: Mapping[str, str], name: str = "google") -> str:
    """``google``, or the host[:port] of GOOGLE_GEMINI_BASE_URL in lower case."""
    return _venue(env.get(BASE_URL) or HOME)


def connect(
    env: Mapping[str, str], base_url: str | None = None, venue: str | None = None, name: str = "google"
) -> GoogleProvider:
    """With a base URL given (the emulator) no key is needed; else the environment says all.

    The key is GEMINI_API_KEY, else GOOGLE_API_KEY. GEMINI_TIER is the project's usage tier, 1 to 3. The default
    is 1: its queue limits hold for everybody. A custom host has none unless the tier is given.
    """
    custom = not base_url and venue_of(env) != "google"
    variable = next((name for name in KEYS if env.get(name, "").strip()), KEYS[0])
    key = "not-needed" if base_url else read_key(env, variable)
    tier = read_tier(env, TIER, TIERS, None if custom else "1")
    url = base_url or env.get(BASE_URL) or HOME
    return GoogleProvider(url, key, venue or _venue(url), int(tier) if tier else None)


def dialect(model: str, body: Body) -> str:
    """The API and its version."""
    return "Gemini API v1 batchGenerateContent"


class GoogleProvider:
    """One project at one venue. Only calls that cost nothing are retried; ``create`` never is."""

    names_jobs = True

    def __init__(
        self, base_url: str, api_key: str, venue: str, tier: int | None = 1, timeout_seconds: float = 180.0
    ) -> None:
        """No network call is made. ``tier`` None means that the venue has no queue limit."""
        self.venue = venue
        self.account = account_of(venue, api_key)
        self._tier = tier
        self._client = Client(base_url, api_key, venue, timeout_seconds, BASE_URL)

    def __repr__(self) -> str:
        return f"GoogleProvider(venue={self.venue!r})"

    def encode(self, request_id: RequestId, model: str, body: Body, hint: Hint | None = None) -> bytes:
        """One line of the batch file, without its newline."""
        return encode_line(request_id, model, body)

    def decode(self, line: bytes) -> list[Response]:
        """One row per candidate; raises ValueError when the line cannot be read."""
        hidden = self._client.hidden
        return [
            replace(row, error_code=hidden(row.error_code), error_message=hidden(row.error_message))
            for row in decode_line(line)
        ]

    def limits(self, model: str) -> Limits:
        """The documented limits of a batch file, of the project, and, by tier, of the model's queue."""
        card = model_card(model)
        return Limits(
            max_requests=MAX_REQUESTS,
            max_bytes=MAX_BYTES,
            queue_tokens=card.queue_tokens_of(self._tier) if self._tier else None,
            window_tokens=card.window_tokens,
            max_jobs=MAX_JOBS if self._tier else None,
        )

    def count_tokens(self, model: str, body: Body) -> int:
        """The input tokens of such a request by the venue's own, free count. Raises Unreachable."""
        return self._client.count_tokens(model, orjson.loads(encode_line(RequestId(""), model, body))["request"])

    def upload(self, path: Path, tag: str) -> str:
        """Send the file to the provider, who keeps it for 48 hours; costs nothing."""
        return self._client.upload(path, tag)

    def create(self, model: str, source: str | Path, tag: str) -> str:
        """Sent exactly once. A clear no is NotCreated; whatever may have left a job behind is Unclear."""
        return self._client.create(model, str(source), tag)

    def jobs(self, since: datetime) -> Listing:
        """The whole list, whatever ``since``: its order is documented nowhere."""
        found: list[JobStatus] = []
        at = None
        for entries, at in self._client.pages("batches", "operations"):
            found += [self._read(entry, at) for entry in entries]
        assert at is not None
        return Listing(tuple(found), at)

    def files(self) -> Sequence[KeptFile]:
        """Uploads of JSON lines, ours or not; results are not listed."""
        pages = self._client.pages("files", "files")
        return tuple(_kept(entry) for page, _ in pages for entry in page if _is_of_batches(entry))

    def status(self, provider_job: str) -> JobStatus:
        """One reading of the job, with the reply's clock."""
        return self._read(*self._client.get(provider_job))

    def fetch(self, provider_job: str, folder: Path) -> list[Path]:
        """Write ``<job>.output.jsonl.zst``: answers and errors come in one file.

        Nothing is written of a batch that names no results: one that expired has none.
        """
        operation, at = self._client.get(provider_job)
        job = read_job(operation, at)
        file_id, inline = results_of(operation)
        if not job.state.has_ended:
            raise Unreachable(f"{self.venue} names no results of {provider_job} yet.")
        path = result_path(folder, provider_job, "output")
        if file_id:
            try:
                self._client.download(file_id, path, (job.done or 0) + (job.failed or 0))
            except Gone:
                if job.retain_until is not None and at >= job.retain_until:
                    raise
                raise Unreachable(f"{self.venue} does not yet give the file {file_id}.") from None
        elif inline:
            with saving(path) as writer:
                for entry in inline:
                    writer.write(orjson.dumps(entry) + b"\n")
        return [path] if file_id or inline else []

    def cancel(self, provider_job: str) -> None:
        """Ask for cancellation; a job that has ended already is left as it is."""
        self._client.cancel(provider_job)

    def discard(self, file_id: str) -> None:
        """Delete an uploaded file; if that fails, it is gone after 48 hours anyway."""
        try:
            self._client.delete(file_id)
        except Gone:
            return
        except Unreachable as trouble:
            if not trouble.is_refusal:
                raise

    def _read(self, operation: dict[str, Any], at: datetime) -> JobStatus:
        job = read_job(operation, at)
        return replace(job, error=self._client.hidden(job.error), error_code=self._client.hidden(job.error_code))


def _kept(entry: dict[str, Any]) -> KeptFile:
    name = as_text(entry.get("displayName")) or ""
    return KeptFile(name_of(entry), name, int64(entry.get("sizeBytes")), as_moment(entry.get("createTime")))


def _is_of_batches(entry: dict[str, Any]) -> bool:
    """The project's other files are pictures, films and documents of other work."""
    return "json" in (as_text(entry.get("mimeType")) or "")


def _venue(url: str) -> str:
    host = host_of(read_url(url, BASE_URL))
    return "google" if host == "generativelanguage.googleapis.com" else host
