"""Anthropic's Message Batches. Facts: https://platform.claude.com/docs/en/build-with-claude/batch-processing.

There are no files and no tags: the requests come with the create, and a batch is known to be ours by its results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import orjson

from runner.providers.account import account_of, host_of, read_key, read_tier, read_url
from runner.providers.anthropic_client import Client
from runner.providers.anthropic_jobs import read_job
from runner.providers.anthropic_lines import decode_line, encode_line, model_card, version_for
from runner.providers.anthropic_lines import is_batch_tier as is_batch_tier
from runner.providers.base import Gone, JobState, JobStatus, KeptFile, Limits, Listing, Unreachable
from runner.providers.loose import as_text
from runner.providers.saving import result_path
from runner.request import Body, Hint, RequestId, Response

NAMES = ("anthropic",)
TIER = "ANTHROPIC_TIER"
HOME = "https://api.anthropic.com"
BASE_URL = "ANTHROPIC_BASE_URL"

MAX_REQUESTS = 100_000
MAX_BYTES = 255_000_000
"""The documented limit is "256 MB", of 10^6 or 2^20 bytes: the smaller, less one for the frame around the lines."""

QUEUE_REQUESTS = {"start": 200_000, "build": 300_000, "scale": 500_000}
"""Requests of all open batches of an account, by usage tier: https://platform.claude.com/docs/en/api/rate-limits."""
TIERS = tuple(QUEUE_REQUESTS)


def venue_of(env: Mapping[str, str], name: str = "anthropic") -> str:
    """``anthropic``, or the host[:port] of ANTHROPIC_BASE_URL in lower case."""
    return _venue(env.get(BASE_URL) or HOME)


def connect(
    env: Mapping[str, str], base_url: str | None = None, venue: str | None = None, name: str = "anthropic"
) -> AnthropicProvider:
    """With a base URL given (the emulator) no key is needed; else the environment says all.

    ANTHROPIC_TIER is the account's usage tier: start, build or scale. The default is start: its queue limit holds
    for everybody. A custom host has none unless the tier is given.
    """
    custom = not base_url and venue_of(env) != "anthropic"
    key = "not-needed" if base_url else read_key(env, "ANTHROPIC_API_KEY")
    tier = read_tier(env, TIER, TIERS, None if custom else "start")
    url = base_url or env.get(BASE_URL) or HOME
    return AnthropicProvider(url, key, venue or _venue(url), tier)


def dialect(model: str, body: Body) -> str:
    """The API and its version."""
    return f"Message Batches, anthropic-version {version_for(model, body)}"


class AnthropicProvider:
    """One account at one venue. Only calls that cost nothing are retried, by the SDK; ``create`` never is."""

    names_jobs = False

    def __init__(
        self, base_url: str, api_key: str, venue: str, tier: str | None = "start", timeout_seconds: float = 300.0
    ) -> None:
        """No network call is made. ``tier`` None means that the venue has no queue limit."""
        self.venue = venue
        self.account = account_of(venue, api_key)
        self._tier = tier
        self._client = Client(base_url, api_key, venue, timeout_seconds, BASE_URL)

    def __repr__(self) -> str:
        return f"AnthropicProvider(venue={self.venue!r})"

    def encode(self, request_id: RequestId, model: str, body: Body, hint: Hint | None = None) -> bytes:
        """One line of the batch file, without its newline."""
        return encode_line(request_id, model, body, hint)

    def decode(self, line: bytes) -> list[Response]:
        """One row; raises ValueError when the line cannot be read."""
        hidden = self._client.hidden
        return [
            replace(row, error_code=hidden(row.error_code), error_message=hidden(row.error_message))
            for row in decode_line(line)
        ]

    def limits(self, model: str) -> Limits:
        """The documented limits of a batch and, by tier, of the account's queue."""
        return Limits(
            max_requests=MAX_REQUESTS,
            max_bytes=MAX_BYTES,
            queue_tokens=None,
            window_tokens=model_card(model).window_tokens,
            queue_requests=QUEUE_REQUESTS[self._tier] if self._tier else None,
        )

    def count_tokens(self, model: str, body: Body) -> int:
        """The input tokens of such a request by the venue's own, free count. Raises Unreachable."""
        return self._client.count_tokens(orjson.loads(encode_line(RequestId(""), model, body))["params"])

    def upload(self, path: Path, tag: str) -> None:
        """Nothing: the requests go with the create."""
        return

    def create(self, model: str, source: str | Path, tag: str) -> str:
        """Make a batch of the file at the path ``source``; sent exactly once.

        The file is read twice, once for the API version that its lines need, and never held in memory.
        """
        return self._client.create(Path(source))

    def jobs(self, since: datetime) -> Listing:
        """To the end of the list or to a page that is wholly older than ``since``."""
        found: list[JobStatus] = []
        at = None
        for entries, at in self._client.pages():
            page = [read_job(entry, at) for entry in entries]
            found += page
            if all(job.created_at is not None and job.created_at < since for job in page):
                break
        assert at is not None
        return Listing(tuple(found), at)

    def files(self) -> Sequence[KeptFile]:
        """None: Anthropic keeps no files of batches."""
        return ()

    def status(self, provider_job: str) -> JobStatus:
        """One reading of the batch, with the reply's clock."""
        batch, at = self._client.retrieve(provider_job)
        return read_job(batch, at)

    def fetch(self, provider_job: str, folder: Path) -> list[Path]:
        """Write ``<job>.output.jsonl.zst``: one file, in which every request has a line.

        Nothing is written of a batch that names no results and of which, by its counts, nothing was answered.
        """
        batch, at = self._client.retrieve(provider_job)
        job = read_job(batch, at)
        is_past = batch.get("archived_at") is not None or (job.retain_until is not None and at >= job.retain_until)
        url = as_text(batch.get("results_url"))
        if not url and job.state in (JobState.EXPIRED, JobState.CANCELLED):
            return []
        if not url:
            trouble = f"{self.venue} names no results of {provider_job}"
            raise Gone(f"{trouble} any more.") if is_past else Unreachable(f"{trouble} yet.")
        path = result_path(folder, provider_job, "output")
        try:
            self._client.download(provider_job, url, path, job.total or 0)
        except Gone:
            if is_past:
                raise
            raise Unreachable(f"{self.venue} does not yet give the results of {provider_job}.") from None
        return [path]

    def cancel(self, provider_job: str) -> None:
        """Ask for cancellation; a batch that has ended already is left as it is."""
        self._client.cancel(provider_job)

    def discard(self, file_id: str) -> None:
        """Nothing: there are no files."""


def _venue(url: str) -> str:
    host = host_of(read_url(url, BASE_URL))
    return "anthropic" if host == "api.anthropic.com" else host
