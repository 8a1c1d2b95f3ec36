"""``python -m runner.emulator --state DIR``: serve one state folder on loopback."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sqlite3
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from runner.emulator.service import Service


def main(arguments: Sequence[str] | None = None) -> None:
    """Bind first, say the port, then load what takes time: early callers wait in the socket's queue."""
    options = _options(sys.argv[1:] if arguments is None else arguments)
    if options.list_faults:
        _list_faults(options.json)
        return
    # The protocol is named because asyncio sets TCP_NODELAY only then: without it each answer takes 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", options.port))
    except OSError as error:
        sys.exit(f"port {options.port} of 127.0.0.1 cannot be had: {error.strerror}; --port 0 takes a free one")
    listener.listen(128)
    port = listener.getsockname()[1]
    if options.exit_with_stdin:
        threading.Thread(target=_exit_with_stdin, daemon=True).start()

    from runner.emulator.faults import parse
    from runner.emulator.registry import HOSTS
    from runner.emulator.server import serve
    from runner.emulator.service import open_service

    try:
        faults = dict(map(parse, options.fault))
    except ValueError as error:
        _refuse(str(error))
    if strange := set(options.protocol) - set(HOSTS):
        _refuse(f"unknown protocol {min(strange)!r}; there are: {', '.join(HOSTS)}")
    try:
        service = open_service(options.state, {name: host.dialect.wire for name, host in HOSTS.items()})
        _prepare(service, options, faults)
        if options.port_file:
            part = options.port_file.with_suffix(".part")
            part.write_text(f"{port}\n")
            part.replace(options.port_file)
    except (OSError, sqlite3.Error) as error:  # a caller reads our output: on a full disk no log can be written
        print(f"{options.state}: {error}", file=sys.stdout if options.exit_with_stdin else sys.stderr, flush=True)
        sys.exit(1)
    url = f"http://127.0.0.1:{port}"
    addresses = {HOSTS[name].variable: f"{url}/{name}{HOSTS[name].path}" for name in options.protocol or HOSTS}
    if options.json:
        print(json.dumps({"url": url, "variables": addresses}), flush=True)
    else:
        print("\n".join([url, *(f"{name}={address}" for name, address in addresses.items())]), flush=True)
    serve(service, listener)


def _prepare(service: Service, options: argparse.Namespace, faults: Mapping[str, float]) -> None:
    """What the options say about the state, kept there."""
    if options.at:
        service.clock.begin(datetime.combine(options.at, time.min, UTC).timestamp())
    for key in ("seed", "tier", "plain"):
        if getattr(options, key) is not None:
            service.store.set_setting(key, getattr(options, key))
    if options.clock and options.clock != service.clock.mode:
        service.clock.set_mode(options.clock)
    if faults:
        service.faults.put(faults)


def _refuse(sentence: str) -> NoReturn:
    """End as for any wrong use."""
    print(sentence, file=sys.stderr)
    sys.exit(2)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day: write 2026-10-01") from None


def _options(given: Sequence[str]) -> argparse.Namespace:
    """What the command line says, after what the file of ``--config`` says."""
    parser = _parser()
    config = parser.parse_known_args(given)[0].config
    if config is None:
        return parser.parse_args(given)

    from runner.emulator.config import arguments

    try:
        return parser.parse_args([*arguments(config), *given])
    except ValueError as error:
        _refuse(str(error))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="persona-runner emulator", description="A local batch service.")
    parser.add_argument("--state", type=Path, default=Path("batches/emulator"), help="folder of jobs, bill, clock")
    parser.add_argument("--port", type=int, choices=range(65_536), metavar="PORT", default=0, help="0 takes a free one")
    parser.add_argument("--port-file", type=Path, help="write the port here once the service is ready")
    parser.add_argument("--clock", choices=("auto", "real", "driven"), help="kept in the state; auto if new")
    parser.add_argument("--at", type=_day, metavar="DATE", help="where the clock of a new state begins")
    parser.add_argument("--seed", type=int, help="of every draw; kept in the state")
    parser.add_argument("--tier", type=int, choices=range(1, 6), help="usage tier (queue limits); the highest if new")
    parser.add_argument("--plain", action="store_true", default=None, help="never vary the form of answers")
    parser.add_argument("--protocol", action="append", default=[], metavar="NAME", help="whose address to print")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME[:RATE]", help="misbehave")
    parser.add_argument("--list-faults", action="store_true", help="say which faults there are, and end")
    parser.add_argument("--json", action="store_true", help="say the addresses, or the faults, as one line of JSON")
    parser.add_argument("--config", type=Path, metavar="FILE", help="these options in TOML or JSON; faults in a table")
    parser.add_argument("--exit-with-stdin", action="store_true", help="stop when standard input ends")
    return parser


def _list_faults(as_json: bool) -> None:
    from runner.emulator.faults import FAULTS

    if as_json:
        print(json.dumps([asdict(fault) for fault in FAULTS.values()], default=str))
        return
    for fault in FAULTS.values():
        bound = " At most two in a row." if fault.is_bounded else ""
        whose = f" Only {', '.join(fault.providers)}." if fault.providers else ""
        print(f"{fault.name:<24} per {fault.unit:<5} {fault.rate:<5} {fault.doc}{bound}{whose}")


def _exit_with_stdin() -> None:
    """The parent holds the other end: when it dies, however it dies, the kernel closes it."""
    while os.read(0, 4096):  # not sys.stdin: its lock, held by this thread, would spoil an orderly exit
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
