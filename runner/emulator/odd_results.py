"""Results that are not what they should be, though all was answered and billed: whole files, and single lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from runner.emulator.wire import Json

PAGE = b"<html><head><title>503</title></head>\n<body><h1>Service Unavailable</h1></body>\n</html>\n"
BLANK = b"\n \n\r\n"
COUNTS = (
    "input_tokens",
    "output_tokens",
    "prompt_tokens",
    "completion_tokens",
    "promptTokenCount",
    "candidatesTokenCount",
)
ODD_COUNTS = (-1, "many", 1.5, None, True, 10**15)


def _of_others(lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:  # another fault has been at it
            continue
        name = "key" if "key" in entry else "custom_id"
        yield orjson.dumps(entry | {name: f"other-{entry[name]}"[:64]}) + b"\n"


FILES: dict[str, Callable[[list[bytes]], bytes]] = {
    "empty_result": lambda lines: b"",
    "blank_result": lambda lines: BLANK,
    "html_result": lambda lines: PAGE,
    "foreign_ids": lambda lines: b"".join(_of_others(lines)),
    "lost_lines": lambda lines: b"".join(lines[: len(lines) // 2]),
}
"""What becomes of a result file's lines."""


def change_file(path: Path, faults: list[str]) -> None:
    """Write a finished result file anew where one of the faults asks for it."""
    for name in FILES.keys() & set(faults):
        with path.open("rb") as file:
            lines = list(file)
        path.write_bytes(FILES[name](lines))


def change_line(line: Json, name: str, number: int) -> Json:
    """A result line with the fault; ``number`` chooses among several forms of it."""
    holder, key = _reply(line)
    reply: Json = holder[key]
    usage = "usageMetadata" if "usageMetadata" in reply else "usage"
    if name == "body_as_text":
        holder[key] = orjson.dumps(reply).decode()
    elif name == "odd_body":
        holder[key] = {"reply": {"text": "positive"}, usage: reply[usage]}
    elif name == "no_choices":
        holder[key] = {each: value for each, value in reply.items() if each not in ("stop_reason", "candidates")}
        holder[key] |= {each: [] for each in ("choices", "content", "output") if each in reply}
    elif name == "no_usage":
        del reply[usage]
    elif name == "odd_usage":
        odd: Any = ODD_COUNTS[number % len(ODD_COUNTS)]
        reply[usage] |= {each: odd for each in COUNTS if each in reply[usage]}
    return line


LINES = ("body_as_text", "odd_body", "no_choices", "no_usage", "odd_usage")


def _reply(line: Json) -> tuple[Json, str]:
    """Where the reply of the model stands in a line: OpenAI's, Anthropic's, Google's."""
    if "result" in line:
        return line["result"], "message"
    if "body" in line["response"]:
        return line["response"], "body"
    return line, "response"
