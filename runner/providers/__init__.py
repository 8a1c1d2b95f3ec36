"""Who answers. One file per provider: it offers ``venue_of(env)`` and ``connect(env, base_url, venue)``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, cast

from runner.errors import RunnerError

if TYPE_CHECKING:
    from runner.providers.base import Provider


def venue_of(provider: str, env: Mapping[str, str]) -> str:
    """Who will really answer under this environment; asks nobody and needs no key."""
    return cast(str, _module(provider).venue_of(env))


def connect(
    provider: str, env: Mapping[str, str], *, base_url: str | None = None, venue: str | None = None
) -> Provider:
    """The provider, ready to be asked; no network call is made.

    ``base_url`` and ``venue`` come from the command line for the emulator, which needs no key. Raises
    RunnerError when the key is missing or the environment makes no sense.
    """
    return cast("Provider", _module(provider).connect(env, base_url, venue))


def _module(provider: str) -> ModuleType:
    known = [found.name for found in iter_modules(__path__)]
    if provider in known:
        module = import_module(f"{__name__}.{provider}")
        if hasattr(module, "connect"):
            return module
    speaking = [name for name in known if hasattr(import_module(f"{__name__}.{name}"), "connect")]
    raise RunnerError(f"There is no provider {provider!r}: the known ones are {', '.join(speaking)}.")
