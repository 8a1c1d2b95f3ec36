"""Prompts as they would be sent, each instance's settings one after another, with what differs between them marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from textwrap import wrap
from typing import IO, Any

from rich.text import Text

from runner.reporting.summary import REHEARSAL
from runner.reporting.table import console_for
from runner.reporting.words import count, plain
from runner.request import Body
from runner.venues import is_rehearsal

SAME, DIFFERENT = "  ", "≠ "
"""The margins of a line that all settings have, and of one that not all have."""


@dataclass(frozen=True)
class Prompt:
    """What one request asks. ``tokens`` are those of its input."""

    setting: str
    request_id: str
    tokens: int
    body: Body


@dataclass(frozen=True)
class Instance:
    """One item to predict, as each setting asks for it."""

    instance_id: str
    prompts: tuple[Prompt, ...]


@dataclass(frozen=True)
class Shown:
    """The first instances of a run."""

    run: str
    model: str
    venue: str
    task: str
    protocol: str
    instances: tuple[Instance, ...]

    def to_dict(self) -> dict[str, Any]:
        """For programs: messages and parameters as they are in the request."""
        raw = asdict(self)
        for instance in raw["instances"]:
            for prompt in instance["prompts"]:
                body = {name: value for name, value in prompt.pop("body").items() if value is not None}
                prompt |= {"messages": body.pop("messages"), "parameters": body}
        return raw


@dataclass(frozen=True)
class Line:
    """A line of a prompt. ``role`` is whose message it is of; ``differs`` where not all settings have it."""

    role: str
    text: str
    differs: bool


def marked(prompts: Sequence[Prompt]) -> list[list[Line]]:
    """The lines of each prompt: those that stand in all of them, in the same order, do not differ."""
    texts = [
        [(message.role, line) for message in prompt.body.messages for line in message.content.split("\n")]
        for prompt in prompts
    ]
    return [
        [Line(role, line, number not in shared) for number, (role, line) in enumerate(text)]
        for index, text in enumerate(texts)
        for shared in [_shared(text, [*texts[:index], *texts[index + 1 :]])]
    ]


def _shared(text: list[tuple[str, str]], others: Sequence[list[tuple[str, str]]]) -> set[int]:
    """The numbers of the lines that all others have too.

    In prompts of 200 lines and more, one that stands there over and over (a bracket of JSON) is the same only beside
    others that are: to try each pair of them would take minutes.
    """
    shared = set(range(len(text)))
    for other in others:
        blocks = SequenceMatcher(None, text, other).get_matching_blocks()
        shared &= {number for block in blocks for number in range(block.a, block.a + block.size)}
    return shared


def print_prompts(shown: Shown, stream: IO[str]) -> None:
    """Write them: on a terminal wrapped and in colour, elsewhere line by line as they are."""
    console = console_for(stream)
    for line in _lines(shown):
        room = console.width - len(SAME) if console.is_terminal else None
        for piece in _pieces(line, room):
            console.print(piece, soft_wrap=True)


def _lines(shown: Shown) -> Iterator[tuple[str, str, str]]:
    """Margin, text, style."""
    rehearsal = f"{REHEARSAL} · " if is_rehearsal(shown.venue) else ""
    yield "", f"{rehearsal}{shown.task} ({shown.protocol}) for {shown.model} at {shown.venue}: {shown.run}", "bold"
    for number, instance in enumerate(shown.instances, start=1):
        yield "", "", ""
        yield "", f"Instance {number} of {len(shown.instances)}: {instance.instance_id}", "bold"
        for prompt, lines in zip(instance.prompts, marked(instance.prompts), strict=True):
            yield "", "", ""
            yield "", f"--- {prompt.setting}: {count(prompt.tokens)} tokens, request {prompt.request_id}", "bold"
            role = ""
            for line in lines:
                if line.role != role:
                    role = line.role
                    yield "", f"[{role}]", "dim"
                differs = line.differs and bool(line.text.strip())
                yield (DIFFERENT, line.text, "yellow") if differs else (SAME, line.text, "")
            yield "", f"[{_parameters(prompt.body)}]", "dim"
    yield "", "", ""
    settings = max((len(instance.prompts) for instance in shown.instances), default=0)
    if settings > 1:
        yield "", f"{DIFFERENT.strip()} marks what is not the same in all {settings} settings.", "dim"


def _parameters(body: Body) -> str:
    said = asdict(body)
    names = [name for name, value in said.items() if name != "messages" and value is not None]
    return ", ".join(f"{name} {said[name]}" for name in names)


def _pieces(line: tuple[str, str, str], room: int | None) -> Iterator[Text]:
    margin, text, style = line
    whole = plain(text, lines=True)
    for part in whole.split("\n"):
        cut = [part] if room is None else _wrapped(part, room)
        yield from (Text(f"{margin}{piece}", style=style) for piece in cut)


def _wrapped(text: str, room: int) -> list[str]:
    """Cut at spaces where that is possible; nothing is lost but the space at the cut."""
    return wrap(text, max(room, 20), drop_whitespace=True, replace_whitespace=False) or [""]
