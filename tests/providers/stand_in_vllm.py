"""A stand-in for ``vllm run-batch`` with its documented behaviour: standard library only, and nothing of ours.

    VLLM_COMMAND="python stand_in_vllm.py"   STAND_IN=<folder>

The whole file is checked before anything else; one bad line ends all with ``ValueError: Invalid request on line N``.
Then the output is truncated, and every answer is written in input order and flushed. ``plan.json`` in the folder is a
list with one object for each engine to come (none left: it behaves); ``diary.jsonl`` is what they did:

    die_after  N     be killed after N lines, in the middle of the next
    pause_s    S     work so long for each request
    refuse     [N]   answer these lines (from 1) with status 400 and a body of null
    as_text    true  with the error as a string instead of an object
    stubborn   true  ignore SIGTERM
    memory     N     find no memory on the GPU after N lines

Two at once on the one GPU (a lock in the folder): the second finds no memory, as in life.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("STAND_IN", "."))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run-batch"])
    for names in (("-i", "--input-file"), ("-o", "--output-file"), ("--model",)):
        parser.add_argument(*names, required=True)
    asked, more = parser.parse_known_args()
    print("INFO 11-21 04:00:00 [__init__.py:239] Automatically detected platform cuda.", flush=True)
    note(
        what="start",
        pid=os.getpid(),
        model=asked.model,
        more=more,
        unknown=[name for name in os.environ if name.startswith("VLLM_")],
    )
    requests = [check(number, line) for number, line in enumerate(lines(Path(asked.input_file)), 1)]
    with (FOLDER / "gpu").open("w") as gpu:
        try:
            fcntl.flock(gpu, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note(what="second engine")
            raise out_of_memory() from None
        work(requests, Path(asked.output_file), asked.model, next_plan())
    note(what="end")


def work(requests: list[dict[str, Any]], path: Path, model: str, plan: dict[str, Any]) -> None:
    if plan.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with path.open("w", encoding="utf-8") as output:
        for number, request in enumerate(requests, 1):
            if number - 1 == plan.get("memory"):
                raise out_of_memory()
            time.sleep(plan.get("pause_s", 0))
            reply = refusal(plan) if number in plan.get("refuse", []) else answer(request, model)
            line = json.dumps({"id": f"vllm-{number}", "custom_id": request["custom_id"], **reply}) + "\n"
            if number - 1 == plan.get("die_after"):
                output.write(line[: len(line) // 2])
                output.flush()
                os.kill(os.getpid(), signal.SIGKILL)
            output.write(line)
            output.flush()
            note(what="written", custom_id=request["custom_id"])


def lines(path: Path) -> list[str]:
    with path.open(encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def check(number: int, line: str) -> dict[str, Any]:
    try:
        request: dict[str, Any] = json.loads(line)
        right = request["url"] == "/v1/chat/completions" and request["method"] == "POST" and request["custom_id"]
        body = request["body"]
        right = right and all(isinstance(message["content"], str) for message in body["messages"]) and body["model"]
    except (ValueError, KeyError, TypeError):
        right = False
    if not right:
        raise ValueError(f"Invalid request on line {number}")
    return request


def answer(request: dict[str, Any], model: str) -> dict[str, Any]:
    prompt = sum(len(message["content"]) for message in request["body"]["messages"]) // 4 + 1
    message = {"role": "assistant", "content": "<think>Hm.</think>\n\npositive", "refusal": None, "tool_calls": []}
    choices = [
        {"index": index, "message": message, "logprobs": None, "finish_reason": "stop", "stop_reason": None}
        for index in range(request["body"].get("n") or 1)
    ]
    usage = {"prompt_tokens": prompt, "total_tokens": prompt + 6, "completion_tokens": 6, "prompt_tokens_details": None}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "choices": choices}
    return {
        "response": {"status_code": 200, "request_id": "vllm-batch-1", "body": {**body, "usage": usage}},
        "error": None,
    }


def refusal(plan: dict[str, Any]) -> dict[str, Any]:
    said = "This model's maximum context length is 8192 tokens."
    error = {"error": {"message": said, "type": "BadRequestError", "param": None, "code": 400}}
    return {
        "response": {"status_code": 400, "request_id": "vllm-batch-1", "body": None},
        "error": said if plan.get("as_text") else error,
    }


def out_of_memory() -> MemoryError:
    return MemoryError("CUDA out of memory.")


def next_plan() -> dict[str, Any]:
    path = FOLDER / "plan.json"
    plans: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    path.write_text(json.dumps(plans[1:]))
    return plans[0] if plans else {}


def note(**event: Any) -> None:
    with (FOLDER / "diary.jsonl").open("a") as diary:
        diary.write(json.dumps(event) + "\n")


if __name__ == "__main__":
    sys.exit(main())
