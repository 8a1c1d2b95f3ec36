"""Where OPENAI_BASE_URL may lead: to OpenAI, to Azure, or to a server that only speaks the dialect.

Facts: https://platform.openai.com/docs/guides/batch and /docs/api-reference/files/create; of Azure:
https://learn.microsoft.com/azure/foundry/openai/how-to/batch.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Literal, TypedDict

from runner.errors import RunnerError
from runner.providers.account import read_url
from runner.providers.hosts import Host

MAX_REQUESTS = 50_000
MAX_BYTES = 199_000_000
"""The documented limit is "200 MB", of 10^6 or 2^20 bytes: the smaller, less one for the upload's frame."""

OPENAI = Host(
    name="openai",
    home="https://api.openai.com/v1",
    names=("api.openai.com",),
    key_variables=("OPENAI_API_KEY",),
    url_variable="OPENAI_BASE_URL",
    max_requests=MAX_REQUESTS,
    max_bytes=MAX_BYTES,
    thinks_aloud=False,
    # So that storage does not fill when nobody removes them. A job reads its input when it is validated; what is
    # left is time to come back after a crash between upload and create. Results expire after 30 days by themselves,
    # the longest that can be asked for.
    inputs_kept=timedelta(days=14),
    splits_results=True,
)
AZURE = replace(
    # A model is the name of a deployment. 14 days are the least here, with which 10,000 input files may lie there
    # instead of 500; results stay for ever unless told otherwise. Its v1 API takes a key as OpenAI's does.
    OPENAI,
    key_variables=("AZURE_OPENAI_API_KEY", "OPENAI_API_KEY"),
    results_stay=True,
)
ELSEWHERE = replace(
    # A server that speaks the dialect: it may refuse a form field that it does not know, and runs open models.
    OPENAI,
    inputs_kept=None,
    thinks_aloud=True,
    splits_results=False,
)
AZURE_NAMES = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com", ".openai.azure.us")


def host_at(url: str) -> Host:
    """Whose server it is: OpenAI's, Azure's, or one that only speaks the dialect."""
    parts = read_url(url, OPENAI.url_variable)
    if (parts.hostname or "").endswith(AZURE_NAMES):
        if not parts.path.rstrip("/").endswith("/openai/v1"):
            raise RunnerError(
                f"{OPENAI.url_variable} leads to Azure, but not to its v1 API: "
                f"set it to https://{parts.hostname}/openai/v1."
            )
        return AZURE
    return OPENAI if OPENAI.venue(url) == OPENAI.name else ELSEWHERE


class Expiry(TypedDict):
    """``expires_after`` of a file."""

    anchor: Literal["created_at"]
    seconds: int


def expiry(kept: timedelta) -> Expiry:
    """For how long a file is wanted, from its creation."""
    return Expiry(anchor="created_at", seconds=int(kept.total_seconds()))
