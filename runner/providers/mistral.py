"""Mistral's batch jobs: its own job, list and line; its files are those of OpenAI's dialect. Read 2026-11-21.

Facts: https://docs.mistral.ai/capabilities/batch, /api/endpoint/batch, mistralai 3.7.0. Where its pages differ the
smaller figure holds: 100,000 requests in a job (elsewhere a million), results kept for 24 hours after the end
(elsewhere for good). A million requests may be pending in a workspace; a file has 512 MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson

from runner.providers.account import read_key
from runner.providers.base import Gone, JobStatus, KeptFile, Listing, Unreachable, is_past
from runner.providers.hosts import Host
from runner.providers.loose import as_count, as_list, as_moment, as_object, as_text, clock
from runner.providers.openai import OpenAIProvider, kept_file
from runner.providers.openai_client import id_of
from runner.providers.openai_jobs import TAG
from runner.providers.openai_lines import ENDPOINT
from runner.request import Body, Hint, RequestId

NAMES = ("mistral",)

MISTRAL = Host(
    name="mistral",
    home="https://api.mistral.ai/v1",
    names=("api.mistral.ai",),
    key_variables=("MISTRAL_API_KEY",),
    url_variable="MISTRAL_BASE_URL",
    max_requests=100_000,
    max_bytes=511_000_000,
    queue_requests=1_000_000,
    results_kept=timedelta(hours=24),
)

WINDOW_HOURS = 24
PAGE = 100

STATES = {
    "SUCCESS": "completed",
    "FAILED": "failed",
    "TIMEOUT_EXCEEDED": "expired",
    "CANCELLED": "cancelled",
    "CANCELLATION_REQUESTED": "cancelling",
}
"""In OpenAI's words; QUEUED, RUNNING and what may come are still running."""


def venue_of(env: Mapping[str, str], name: str = "mistral") -> str:
    """``mistral``, or the host[:port] of MISTRAL_BASE_URL."""
    return MISTRAL.venue(MISTRAL.url(env))


def connect(
    env: Mapping[str, str], base_url: str | None = None, venue: str | None = None, name: str = "mistral"
) -> MistralProvider:
    """With a base URL given (the emulator) no key is needed; else the environment says all."""
    url = f"{base_url}/v1" if base_url else MISTRAL.url(env)
    key = "rehearsal" if base_url else read_key(env, MISTRAL.key_variable(env))
    return MistralProvider(url, key, venue or MISTRAL.venue(url), tier=None, host=MISTRAL)


def dialect(model: str, body: Body) -> str:
    """The endpoint."""
    return ENDPOINT


class MistralProvider(OpenAIProvider):
    """What differs from OpenAI is the line and the job; the rest of the way is the same."""

    _jobs_path = "/batch/jobs"

    def encode(self, request_id: RequestId, model: str, body: Body, hint: Hint | None = None) -> bytes:
        """``{custom_id, body}``: endpoint and model are the job's."""
        asked = orjson.loads(super().encode(request_id, model, body))["body"]
        del asked["model"]
        return orjson.dumps({"custom_id": request_id, "body": asked})

    def jobs(self, since: datetime) -> Listing:
        """Newest first, to the end of the list or to a page that is wholly older than ``since``."""
        found: list[JobStatus] = []
        at = None
        for entries, at in self._pages("/batch/jobs"):
            page = [self._read(as_batch(entry), at) for entry in entries]
            found += page
            if is_past(page, since):
                break
        assert at is not None
        return Listing(tuple(found), at)

    def files(self) -> Sequence[KeptFile]:
        """Inputs and results of batches, ours or not."""
        pages = self._pages("/files")
        return tuple(kept_file(entry) for page, _ in pages for entry in page if entry.get("purpose") == "batch")

    def cancel(self, provider_job: str) -> None:
        """Ask for cancellation; a job that has ended already is left as it is, whatever word refuses it."""
        import httpx2
        import openai

        with self._client.asking(on_404=Gone):
            try:
                self._client.sdk.post(f"/batch/jobs/{provider_job}/cancel", cast_to=httpx2.Response)
            except (openai.BadRequestError, openai.ConflictError, openai.UnprocessableEntityError):
                return

    def _job(self, model: str, file_id: str, tag: str) -> dict[str, Any]:
        return {
            "input_files": [file_id],
            "model": model,
            "endpoint": ENDPOINT,
            "metadata": {TAG: tag},
            "timeout_hours": WINDOW_HOURS,
        }

    def _retrieve(self, provider_job: str) -> tuple[JobStatus, dict[str, Any]]:
        from httpx2 import Response

        with self._client.asking(on_404=Gone):
            reply = self._client.sdk.get(f"/batch/jobs/{provider_job}", cast_to=Response)
            batch = as_batch(as_object(orjson.loads(reply.content)))
            return self._read(batch, clock(reply.headers.get("date"))), batch

    def _pages(self, path: str) -> Iterator[tuple[list[dict[str, Any]], datetime]]:
        """The entries of a list by numbered pages, each with its reply's Date; nothing twice.

        A job that is made meanwhile moves others to a later page, where they are seen again: none is missed.
        """
        from httpx2 import Response

        seen: set[str] = set()
        number = 0
        while True:
            with self._client.asking():
                options: Any = {"params": {"page": number, "page_size": PAGE}}
                reply = self._client.sdk.get(path, cast_to=Response, options=options)
                page = as_object(orjson.loads(reply.content))
                total = as_count(page.get("total"))
                if not isinstance(page.get("data"), list) and total != 0:
                    raise ValueError("a list without data")
                at = clock(reply.headers.get("date"))
                entries = {id_of(entry): entry for entry in map(as_object, as_list(page.get("data")))}
            new = entries.keys() - seen
            if entries and not new:
                raise Unreachable(f"A list at {self.venue} does not advance from page to page.")
            seen |= new
            yield [entry for name, entry in entries.items() if name in new], at
            if not entries or (total is not None and len(seen) >= total):
                return
            number += 1


def as_batch(job: dict[str, Any]) -> dict[str, Any]:
    """Mistral's job in the fields of OpenAI's batch object; what is of the wrong kind counts as absent."""
    created = as_moment(job.get("created_at"))
    inputs = [as_text(file_id) for file_id in as_list(job.get("input_files"))]
    return {
        "id": job.get("id"),
        "status": STATES.get(str(job.get("status")).upper(), "in_progress"),
        "input_file_id": inputs[0] if inputs else None,
        "output_file_id": job.get("output_file"),
        "error_file_id": job.get("error_file"),
        "created_at": job.get("created_at"),
        "expires_at": (created + timedelta(hours=WINDOW_HOURS)).isoformat() if created else None,
        "completed_at": job.get("completed_at"),
        "request_counts": {
            "total": job.get("total_requests"),
            "completed": job.get("succeeded_requests"),
            "failed": job.get("failed_requests"),
        },
        "errors": {"data": as_list(job.get("errors"))},
        "metadata": job.get("metadata"),
    }
