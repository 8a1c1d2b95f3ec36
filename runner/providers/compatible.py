"""Hosts of open models that speak OpenAI's batch dialect, each with its documented differences. Read 2026-11-21.

Only chat completions, in a window of 24 hours: the one that every host knows. A base URL from the environment
includes the version, as OpenAI's does. Results are taken to be kept for 30 days where a host says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

import orjson

from runner.providers.account import read_key
from runner.providers.hosts import Host
from runner.providers.loose import as_object, as_text
from runner.providers.openai import OpenAIProvider
from runner.providers.openai_client import id_in
from runner.providers.openai_lines import ENDPOINT
from runner.providers.openai_usage import is_batch_tier as is_batch_tier
from runner.request import Body, Hint, RequestId

MB = 1_000_000

GROQ = Host(
    # https://console.groq.com/docs/batch and groq-python 1.7.0: 50,000 lines, a file of 100 MB, lists without pages.
    # Windows of up to 7 days are for sale too; what a longer one brings later is not bought twice in this one.
    name="groq",
    home="https://api.groq.com/openai/v1",
    names=("api.groq.com",),
    key_variables=("GROQ_API_KEY",),
    url_variable="GROQ_BASE_URL",
    max_requests=50_000,
    max_bytes=99 * MB,
    has_pages=False,
)
NEBIUS = Host(
    # https://docs.tokenfactory.nebius.com/ai-models-inference/batch-inference: 5,000,000 requests, 10 GB, "up to
    # 500 batches" (taken for open ones), 24h only. api.studio.nebius.com is the service's former name.
    name="nebius",
    home="https://api.tokenfactory.nebius.com/v1",
    names=("api.tokenfactory.nebius.com", "api.studio.nebius.com"),
    key_variables=("NEBIUS_API_KEY",),
    url_variable="NEBIUS_BASE_URL",
    max_requests=5_000_000,
    max_bytes=9_999 * MB,
    max_jobs=500,
)
DEEPINFRA = Host(
    # https://docs.deepinfra.com/batch/introduction and /batch-endpoints: "identical to OpenAI's", 24h only, results
    # kept for 30 days. No size is documented: OpenAI's is assumed.
    name="deepinfra",
    home="https://api.deepinfra.com/v1/openai",
    names=("api.deepinfra.com",),
    key_variables=("DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN"),
    url_variable="DEEPINFRA_BASE_URL",
    max_requests=50_000,
    max_bytes=199 * MB,
)
TOGETHER = Host(
    # https://docs.together.ai/docs/inference/batch/overview: 50,000 requests, 100 MB, 30B enqueued tokens per model.
    name="together",
    home="https://api.together.xyz/v1",
    names=("api.together.xyz", "api.together.ai"),
    key_variables=("TOGETHER_API_KEY",),
    url_variable="TOGETHER_BASE_URL",
    max_requests=50_000,
    max_bytes=99 * MB,
    queue_tokens=30_000_000_000,
    has_pages=False,
)
QWEN = Host(
    # https://www.alibabacloud.com/help/en/model-studio/batch-interfaces-compatible-with-openai: 50,000 requests,
    # 500 MB, a line of 6 MB, windows of 24h to 336h. This is the international service (Singapore); keys and prices
    # of the mainland are others, so that dashscope.aliyuncs.com is another venue.
    name="qwen",
    home="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    names=("dashscope-intl.aliyuncs.com",),
    key_variables=("DASHSCOPE_API_KEY",),
    url_variable="DASHSCOPE_BASE_URL",
    max_requests=50_000,
    max_bytes=499 * MB,
    max_line_bytes=6 * MB,
)

HOSTS = {host.name: host for host in (GROQ, NEBIUS, DEEPINFRA, TOGETHER, QWEN)}
NAMES = tuple(HOSTS)


def venue_of(env: Mapping[str, str], name: str) -> str:
    """The host's own name, or the host[:port] to which its variable for the base URL leads."""
    host = HOSTS[name]
    return host.venue(host.url(env))


def connect(
    env: Mapping[str, str], base_url: str | None = None, venue: str | None = None, name: str = "groq"
) -> OpenAIProvider:
    """With a base URL given (the emulator) no key is needed; else the environment says all."""
    host = HOSTS[name]
    url = f"{base_url}/v1" if base_url else host.url(env)
    key = "rehearsal" if base_url else read_key(env, host.key_variable(env))
    kind = Together if host is TOGETHER else OpenAIProvider
    return kind(url, key, venue or host.venue(url), tier=None, host=host)


def dialect(model: str, body: Body) -> str:
    """The endpoint."""
    return ENDPOINT


class Together(OpenAIProvider):
    """Together has its own upload, line and words: a job knows neither window nor metadata.

    So a job of the list is ours by its input file. States are in upper case, times are ISO 8601, nothing is counted
    but ``progress`` in percent (of a total that it does not tell), an error is a string, the list is a bare array.
    Source: https://docs.together.ai/docs/inference/batch/manage, /reference/upload-file, together 3.1.1.
    """

    def encode(self, request_id: RequestId, model: str, body: Body, hint: Hint | None = None) -> bytes:
        """``{custom_id, body}``: the endpoint is the job's."""
        line = orjson.loads(super().encode(request_id, model, body))
        return orjson.dumps({"custom_id": request_id, "body": line["body"]})

    def _send_file(self, name: str, file: BinaryIO) -> str:
        from httpx2 import Response
        from openai import ConflictError

        try:
            reply = self._client.sdk.post(
                "/files/upload",
                cast_to=Response,
                body={"purpose": "batch-api", "file_name": name, "file_type": "jsonl"},
                files=[("file", (name, file))],
                options={"headers": {"Content-Type": "multipart/form-data"}},
            )
            return id_in(reply.content)
        except ConflictError as error:  # it has these very bytes already, as after a lost answer, and says where
            known = as_text(as_object(orjson.loads(error.response.content)).get("file_id"))
            if not known:
                raise
            return known

    def _job(self, model: str, file_id: str, tag: str) -> dict[str, Any]:
        return {"input_file_id": file_id, "endpoint": ENDPOINT}
