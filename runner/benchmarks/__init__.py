"""WHAT is asked. Every module or package here that has a ``BENCHMARK`` is a benchmark; nothing else is needed."""

from __future__ import annotations

import importlib
import pkgutil

from runner.benchmarks.base import Benchmark, Task
from runner.errors import RunnerError


def all_benchmarks() -> list[Benchmark]:
    """Those found in this room, by name."""
    found = []
    for module in pkgutil.iter_modules(__path__):
        benchmark = getattr(importlib.import_module(f"{__name__}.{module.name}"), "BENCHMARK", None)
        if isinstance(benchmark, Benchmark):
            found.append(benchmark)
    return sorted(found, key=lambda benchmark: benchmark.name)


def find_task(name: str, protocol: str) -> tuple[Benchmark, Task]:
    """The task of this name under this protocol, with its benchmark. Raises RunnerError naming those there are."""
    known = [(benchmark, task) for benchmark in all_benchmarks() for task in benchmark.tasks]
    for benchmark, task in known:
        if task.name == name and task.protocol == protocol:
            return benchmark, task
    protocols = sorted({task.protocol for _, task in known if task.name == name})
    if protocols:
        raise RunnerError(f"Task {name} has no protocol {protocol!r}; it has: {', '.join(protocols)}.")
    names = ", ".join(sorted({task.name for _, task in known}))
    raise RunnerError(f"There is no task {name!r}; TASK is one of: {names}.")
