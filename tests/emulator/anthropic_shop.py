"""Anthropic's SDK in front of the emulator, for the tests of its protocol."""

import json
import urllib.error
import urllib.request
from contextlib import contextmanager

import anthropic

BATCHES = "/anthropic/v1/messages/batches"
OLD = {"anthropic-version": "2023-06-01"}
SAY = [{"role": "user", "content": "Say something."}]


class Shop:
    """The SDK, which checks every reply against its types."""

    def __init__(self, desk):
        self.desk = desk
        self.client = anthropic.Anthropic(
            base_url=f"{desk.server.base_url}/anthropic",
            api_key="any",
            max_retries=0,
            _strict_response_validation=True,
        )
        self.batches = self.client.messages.batches

    def create(self, *requests, **headers):
        return self.batches.create(requests=list(requests), extra_headers=headers)

    def finish(self, batch):
        for _ in range(9):
            batch = self.batches.retrieve(batch.id)
            if batch.processing_status == "ended":
                return batch
        raise AssertionError(f"still {batch.processing_status}")

    def results(self, batch):
        lines = list(self.batches.results(batch.id))
        assert len(lines) == len({line.custom_id for line in lines})
        return {line.custom_id: line.result for line in lines}

    def run(self, *requests, **headers):
        """Results by custom id."""
        return self.results(self.finish(self.create(*requests, **headers)))

    def answer(self, **params):
        """The one message that these parameters get."""
        result = self.run(ask("only", **params))["only"]
        assert result.type == "succeeded", result
        return result.message

    def error(self, version="2026-10-21", **params):
        """The type and message of the error that these parameters get."""
        result = self.run(ask("only", **params), **{"anthropic-version": version})["only"]
        assert result.type == "errored", result
        return result.error.error.type, result.error.error.message

    def bill(self, batch):
        """What was charged for a batch, by custom id."""
        rows = [row for row in self.desk.bill()["requests"] if row["job"] == batch.id]
        return {row["custom_id"]: row for row in rows}

    @contextmanager
    def fault(self, name, rate=1.0):
        self.desk.control("faults", {name: rate})
        try:
            yield
        finally:
            self.desk.control("faults", {name: 0})


def ask(custom_id="r", **params):
    full = {"model": "claude-haiku-4-5", "max_tokens": 50, "messages": SAY, **params}
    return {"custom_id": custom_id, "params": {key: value for key, value in full.items() if value is not None}}


def counts(batch):
    return {name: count for name, count in batch.request_counts.model_dump().items() if count}


def call(shop, path, body=None, method=None, **headers):
    """Status and JSON of a raw call."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{shop.desk.server.base_url}{path}", data, {"content-type": "application/json", **headers}, method=method
    )
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())
