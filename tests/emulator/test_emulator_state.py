"""The state outlives every server: restarts, kills, several servers on one folder, a dead parent."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from functools import partial

import openai
import pytest

import runner.emulator
from runner.emulator.__main__ import main
from runner.emulator.faults import FAULTS
from runner.emulator.store import LATER_COLUMNS


@pytest.fixture
def open_desk(open_desk):
    """Servers that can be killed."""
    return partial(open_desk, alone=True)


def kill(desk):
    os.kill(desk.server.process.pid, signal.SIGKILL)
    desk.server.process.wait()


@pytest.mark.parametrize("polls", [0, 2])
def test_a_job_made_today_is_retrieved_from_another_server_tomorrow(open_desk, request_line, polls):
    first = open_desk(seed=3)
    batch = first.create([request_line(str(k)) for k in range(20)], tag="mine")
    for _ in range(polls):
        batch = first.client.batches.retrieve(batch.id)
    kill(first)
    second = open_desk(seed=3)
    assert second.now() >= batch.created_at
    batch = second.finish(batch)
    assert (batch.status, batch.metadata) == ("completed", {"tag": "mine"})
    assert len(second.results(batch.output_file_id)) == 20
    assert second.bill()["totals"]["requests"] == 20


def test_a_server_killed_while_it_runs_a_job_leaves_the_job_to_the_next(open_desk, request_line):
    first = open_desk()
    lines = [request_line(str(k), "Some words to be repeated here. " * 5) for k in range(6000)]
    batch = first.client.batches.retrieve(first.create(lines).id)
    with ThreadPoolExecutor() as pool:
        asking = pool.submit(first.client.batches.retrieve, batch.id)
        deadline = time.monotonic() + 30
        while not list(first.state.glob("*.output.raw")) and time.monotonic() < deadline:
            time.sleep(0.001)
        kill(first)
        with pytest.raises(openai.APIConnectionError):
            asking.result()
    second = open_desk()
    batch = second.finish(batch)
    assert len(second.results(batch.output_file_id)) == 6000
    assert Counter(row["custom_id"] for row in second.bill()["requests"]).most_common(1)[0][1] == 1


def test_two_servers_on_one_folder_run_a_job_once(open_desk, request_line):
    desks = [open_desk(clock="driven"), open_desk(clock="driven")]
    batch = desks[0].create([request_line(str(k)) for k in range(2000)])
    desks[1].advance(24 * 3600)
    barrier = threading.Barrier(4)

    def poll(desk):
        barrier.wait()
        return desk.client.batches.retrieve(batch.id)

    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(poll, desks * 2))
    assert {one.status for one in seen} == {"completed"}
    assert len({one.output_file_id for one in seen}) == 1
    for desk in desks:
        assert desk.bill()["totals"]["requests"] == 2000
        assert len(desk.results(seen[0].output_file_id)) == 2000
    assert len(desks[0].client.files.list(purpose="batch_output").data) == 1


def test_settings_stay_in_the_folder(open_desk):
    first = open_desk(clock="driven", faults=["stuck", "u2028:0.25"])
    now = first.now()
    first.close()
    second = open_desk(clock="driven")
    assert second.now() == now
    rates = {name: fault["rate"] for name, fault in second.control("faults").items() if fault["rate"]}
    assert rates == {"shuffle": 1.0, "stuck": 1.0, "u2028": 0.25}


def test_a_new_state_may_begin_on_another_day_and_goes_on_from_there(open_desk, request_line):
    first = open_desk(at=date(2026, 10, 22))
    batch = first.run([request_line(model="o4-mini", max_tokens=None)])  # gone from 2026-10-23 on
    assert batch.status == "completed"
    assert datetime.fromtimestamp(batch.created_at, UTC).date() == date(2026, 10, 22)
    first.close()
    second = open_desk(at=date(2026, 1, 1))
    assert batch.completed_at <= second.now() < batch.completed_at + 60
    second.advance(24 * 3600)
    assert second.run([request_line(model="o4-mini", max_tokens=None)]).errors.data[0].code == "model_not_found"


def test_a_state_of_an_older_version_opens(open_desk, request_line):
    first = open_desk()
    batch = first.client.batches.retrieve(first.create([request_line(str(k)) for k in range(5)]).id)
    billed = first.run([request_line()])
    first.close()
    old = sqlite3.connect(first.state / "state.sqlite")
    for table, column, _ in LATER_COLUMNS:
        old.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    old.close()
    second = open_desk()
    assert second.client.batches.retrieve(billed.id) == billed
    batch = second.finish(batch)
    assert batch.request_counts.completed == 5
    assert second.bill()["totals"]["requests"] == 6
    assert second.bill()["totals"]["cache_write_tokens"] == 0


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("ending", ["os._exit(1)", "os.kill(os.getpid(), 9)", "pass"])
def test_the_server_dies_with_its_parent(tmp_path, ending):
    code = (
        "import os, pathlib, sys, runner.emulator as e\n"
        "running = e.start(pathlib.Path(sys.argv[1]))\n"
        f"print(running.base_url, flush=True)\n{ending}"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True, check=False)
    port = int(done.stdout.rpartition(":")[2])
    deadline = time.monotonic() + 10
    while answers(port) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not answers(port)


def test_a_server_that_cannot_start_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="unknown fault 'no_such'"):
        runner.emulator.start(tmp_path, faults=["no_such"])


def test_the_command_line_serves_and_names_its_port(tmp_path):
    port = tmp_path / "port"
    command = [sys.executable, "-m", "runner.emulator", "--state", str(tmp_path), "--port-file", str(port)]
    process = subprocess.Popen([*command, "--clock", "real"], stdout=subprocess.PIPE, text=True)
    try:
        base_url = process.stdout.readline().strip()
        assert base_url == f"http://127.0.0.1:{port.read_text().strip()}"
        client = openai.OpenAI(base_url=f"{base_url}/openai/v1", api_key="any")
        assert client.files.list().data == []
    finally:
        process.terminate()
        assert process.wait(5) in (0, -signal.SIGTERM)


def serving(tmp_path, *arguments):
    command = [sys.executable, "-m", "runner.emulator", "--exit-with-stdin", "--state", str(tmp_path / "state")]
    return subprocess.Popen([*command, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.toml", 'seed = 7\nclock = "driven"\nprotocol = ["groq"]\n[faults]\nstuck = 0.3\nu2028 = 0.1\n'),
        ("c.json", '{"seed": 7, "clock": "driven", "protocol": "groq", "faults": {"stuck": 0.3, "u2028": 0.1}}'),
    ],
)
def test_options_may_stand_in_a_file_and_the_command_line_wins(tmp_path, name, text):
    config = tmp_path / name
    config.write_text(text)
    with serving(tmp_path, "--config", config, "--fault", "stuck:0.9") as process:
        base_url, address = (process.stdout.readline().strip() for _ in range(2))
        assert address == f"GROQ_BASE_URL={base_url}/groq/v1"
        with urllib.request.urlopen(f"{base_url}/control/faults") as answer:
            rates = {name: fault["rate"] for name, fault in json.loads(answer.read()).items() if fault["rate"]}
        assert rates == {"shuffle": 1.0, "stuck": 0.9, "u2028": 0.1}
        with urllib.request.urlopen(f"{base_url}/control/clock") as answer:
            assert json.loads(answer.read())["mode"] == "driven"
        process.stdin.close()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("seed = ", "is no readable TOML or JSON file"),
        ("sead = 7", "unrecognized arguments: --sead=7"),
        ("seed = 'x'", "invalid int value: 'x'"),
        ("faults = ['stuck']", "must be a table of names and rates"),
        ("[faults]\nstuck = 2", "the rate of fault 'stuck' must lie in 0..1"),
        ("protocol = ['no_such']", "unknown protocol 'no_such'; there are: openai"),
    ],
)
def test_a_config_that_says_nonsense_is_refused(tmp_path, capsys, text, complaint):
    config = tmp_path / "c.toml"
    config.write_text(text)
    with pytest.raises(SystemExit) as caught:
        main(["--state", str(tmp_path), "--config", str(config)])
    assert complaint in f"{caught.value.code} {capsys.readouterr().err}"


def test_faults_can_be_listed(capsys):
    main(["--list-faults"])
    text = capsys.readouterr().out
    assert [line.split()[0] for line in text.splitlines()] == list(FAULTS)
    assert all(line.split()[1] == "per" for line in text.splitlines())


def test_a_taken_port_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "runner.emulator", "--state", str(tmp_path), "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 1
    assert done.stderr.startswith(f"port {port} of 127.0.0.1 cannot be had")
    assert done.stderr.count("\n") == 1
