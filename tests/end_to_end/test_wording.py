"""The command line as it is typed: every command speaks JSON, refuses what it does not take, and says what to type."""

from __future__ import annotations

import ast
import json
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from runner.cli import cli
from runner.cli.wording import TARGETS, worded
from runner.emulator.__main__ import _parser
from tests.makefile import ROOT, called, make, taken, targets
from tests.place import Place, asked


def leaves(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


COMMANDS = dict(leaves(cli))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_speaks_json_and_every_option_has_help(name: str) -> None:
    command = COMMANDS[name]
    options = [each for each in command.params if isinstance(each, click.Option)]
    names = {text for each in options for text in each.opts}
    if name == "emulator":  # its options are those of the emulator's own command
        names = {text for action in _parser()._actions for text in action.option_strings}
    assert "--json" in names
    assert command.help
    assert all(each.help for each in options)


@pytest.mark.parametrize("target", targets())
def test_a_target_takes_what_its_command_takes_and_passes_all_of_it(target: str) -> None:
    """Values for everything at once: a flag is given by 1, and every other variable's value arrives."""
    words = TARGETS.get(target, target).split()
    command = COMMANDS[" ".join(words)]
    options = {name: each for each in command.params for name in each.opts if isinstance(each, click.Option)}
    flags = {name for name, each in options.items() if each.is_flag}
    spelled = {name: f"--{name.lower().replace('_', '-')}" for name in taken(target)}
    values = {name: "1" if option in flags else f"v-{name}" for name, option in spelled.items()}
    line = called(target, *(f"{name}={value}" for name, value in values.items()))
    assert line[: len(words)] == words
    for name, option in spelled.items():
        if option in options:
            at = line.index(option)
            assert option in flags or line[at + 1] == values[name]
        else:
            assert values[name] in line and any(isinstance(each, click.Argument) for each in command.params), name
    unset = called(target, *(f"{name}=0" for name, option in spelled.items() if option in flags))
    assert not flags & set(unset)


def test_what_a_target_does_not_take_is_refused_before_anything_is_done() -> None:
    for typed in ("score BUDGET=5", "lint MODEL=gpt-4.1", "submit WAIT=1", "BUDGET=5", "run MDOEL=x"):
        words = typed.split()
        refused = make(*words)
        assert (refused.returncode, refused.stdout) == (2, ""), words
        assert words[-1].partition("=")[0] in refused.stderr
    assert make("submit", "score", "BUDGET=5").returncode == 0, "one of them takes it"


def test_a_sentence_says_what_to_type_where_it_was_typed(place: Place) -> None:
    direct = place.call("submit", check=False)
    from_make = place.call("submit", check=False, PERSONA_RUNNER_FROM_MAKE="1")
    assert (direct.returncode, from_make.returncode) == (2, 2)
    assert "--model …" in direct.stderr and "MODEL=" not in direct.stderr
    assert "MODEL=…" in from_make.stderr and "--" not in from_make.stderr
    for words, variable in ((["submit", "--budget", "nan"], "BUDGET"), (["plan", "--half-width", "0"], "HALF_WIDTH")):
        refused = place.call(*words, check=False, PERSONA_RUNNER_FROM_MAKE="1")
        assert (refused.returncode, variable in refused.stderr, "--" in refused.stderr) == (2, True, False)


@pytest.mark.parametrize(
    ("sentence", "direct"),
    [
        ("`make collect` brings it home", "`persona-runner collect` brings it home"),
        ("see `make table PUBLISHED=1`.", "see `persona-runner compare --published`."),
        ("make submit MODEL=o3 DATA='a b.json' YES=1", "persona-runner submit --model o3 --data 'a b.json' --yes"),
        ("a higher `BUDGET`, EMULATE=1 or HALF_WIDTH=0.1.", "a higher `--budget`, --emulate or --half-width 0.1."),
        ("`make prices MODEL=o3` and `make models`", "`persona-runner prices o3` and `persona-runner models`"),
        ("METEOR needs WordNet: make wordnet; TORCH_INDEX=x", "METEOR needs WordNet: make wordnet; TORCH_INDEX=x"),
        ("OPENAI_API_KEY=x https://a.example/?MODEL=y", "OPENAI_API_KEY=x https://a.example/?MODEL=y"),
    ],
)
def test_makes_words_become_the_command_lines(sentence: str, direct: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PERSONA_RUNNER_FROM_MAKE", raising=False)
    assert worded(sentence) == direct
    monkeypatch.setenv("PERSONA_RUNNER_FROM_MAKE", "1")
    assert worded(sentence) == sentence


def test_every_sentence_names_targets_and_variables_that_there_are() -> None:
    """Sentences are written in make's words: an option that has a variable is nowhere named by its option."""
    dashed = {f"--{name.lower().replace('_', '-')}" for target in targets() for name in taken(target)}
    there = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    strange = []
    for path in sorted((ROOT / "runner").rglob("*.py")):
        if "emulator" in path.parts or path.name.startswith("vllm"):
            continue  # which speak of other programs' options
        for text in _sentences(ast.parse(path.read_text())):
            named = {f"make {name}" for name in re.findall(r"`make ([a-z-]+)", text) if name not in there}
            options = {name for name in re.findall(r"--[a-z][a-z-]+", text) if name in dashed and " " in text}
            strange += [f"{path.name}: {name}" for name in named | options]
    assert strange == []


def _sentences(tree: ast.Module) -> Iterator[str]:
    """The texts of a module but docstrings and the help of options, which click shows."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_option(node))
    apart = {id(inner) for call in calls for inner in ast.walk(call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            apart.add(id(node.value))
    yield from (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart
    )


def _is_option(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("option", "add_argument")


def test_files_and_tables_are_json_when_asked_for(scored: Place) -> None:
    run = scored.runs()[0]
    report = json.loads(scored.call("report", "--json").stdout)
    assert report["run"] == run
    assert all((scored.root / path).exists() for path in report["files"])
    table = json.loads(scored.call("compare", "--json").stdout)
    assert {row["run"] for row in table["scores"]} == {run}
    submitted = json.loads(scored.call("submit", "--run", run, "--json").stdout)
    assert [each["complete"] for each in submitted["runs"]] == [True]
    rehearsed = json.loads(scored.call("rehearse", "--run", run, "--json").stdout)
    assert (rehearsed["calm"], rehearsed["troubled"]) == (None, None)
    orphans = json.loads(scored.call("orphans", "--json").stdout)
    assert (orphans["venues"], orphans["orphans"]) == (["emulator:openai"], [])
    removed = json.loads(scored.call("clean", "--json").stdout)["removed"]
    assert removed and not any((scored.root / path).exists() for path in removed)
    written = json.loads(scored.call("data", "sample", "few.jsonl", "--posts", "3", "--json").stdout)
    assert written == {"path": "few.jsonl", "posts": 3, "bytes": (scored.root / "few.jsonl").stat().st_size}


def test_ctrl_c_says_whether_anything_was_sent(place: Place, corpus: Path) -> None:
    process = place.start("rehearse", *asked(corpus, limit=200))
    deadline, batches = time.monotonic() + 60, place.root / "batches"
    while not list(batches.glob("rehearsal-*/calm/batches/*/run.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, "nothing was sent anywhere" in errors) == (130, True), errors
    assert "at the provider" not in errors
    assert not list((place.root / "batches").glob("rehearsal-*"))
