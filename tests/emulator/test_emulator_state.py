"""The state outlives every server: restarts, kills, several servers on one folder, a dead parent."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest

import runner.emulator


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


def test_a_taken_port_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "runner.emulator", "--state", str(tmp_path), "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 1
    assert done.stderr.startswith(f"port {port} of 127.0.0.1 cannot be had")
    assert done.stderr.count("\n") == 1
