"""PersonaConvBench: Reddit threads; 3.1 score sign, 3.2 score value, 3.3 next text (arXiv 2505.14106)."""

from __future__ import annotations

from runner.benchmarks.base import Benchmark
from runner.benchmarks.personaconvbench.check import check
from runner.benchmarks.personaconvbench.convert import load
from runner.benchmarks.personaconvbench.fetch import TERMS, fetch
from runner.benchmarks.personaconvbench.paper import published
from runner.benchmarks.personaconvbench.sample import write_sample
from runner.benchmarks.personaconvbench.tasks import TASKS

BENCHMARK = Benchmark("personaconvbench", TASKS, load, check, fetch, write_sample, TERMS, published)
