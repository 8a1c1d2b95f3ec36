"""The strict protocol: what a correct evaluation on PersonaConvBench is."""

from runner.benchmarks.personaconvbench.strict.limits import ARMS, SETTINGS, VERSION
from runner.benchmarks.personaconvbench.strict.requests import requests
from runner.benchmarks.personaconvbench.strict.select import select

__all__ = ["ARMS", "SETTINGS", "VERSION", "requests", "select"]
