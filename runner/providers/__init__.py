"""Who answers. A module here that offers ``NAMES`` is one or more providers; it has ``venue_of`` and ``connect``.

``venue_of(env, name)``                       who will really answer under this environment
``connect(env, base_url, venue, name)``       that provider, ready to be asked
``dialect(model, body)``                      the endpoint and version of the API by which such a request goes
``is_batch_tier(service_tier)``                where rows say how they were served: whether that was as part of a batch
``TIER``, ``TIERS``                           where there are usage tiers: their environment variable, and all of them
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, cast

from runner.errors import RunnerError
from runner.request import Body

if TYPE_CHECKING:
    from runner.providers.base import Provider


def venue_of(provider: str, env: Mapping[str, str]) -> str:
    """Who will really answer under this environment; asks nobody and needs no key.

    One gateway may stand for several providers: behind a custom base URL the venue names the provider too.
    """
    venue = cast(str, _module(provider).venue_of(env, provider))
    return venue if venue == provider or provider == "openai" else f"{provider}@{venue}"


def connect(
    provider: str, env: Mapping[str, str], *, base_url: str | None = None, venue: str | None = None
) -> Provider:
    """The provider, ready to be asked; no network call is made.

    ``base_url`` (the emulator's root for this provider, without a version) and ``venue`` come from the command
    line for the emulator, which needs no key. Raises RunnerError when the key is missing or the environment
    makes no sense.
    """
    if base_url is None and venue is None:
        here = venue_of(provider, env)
        venue = None if here == provider else here
    return cast("Provider", _module(provider).connect(env, base_url, venue, provider))


def dialect(provider: str, model: str, body: Body) -> str:
    """The endpoint and version of the API by which such a request goes; run.json keeps it."""
    return cast(str, _module(provider).dialect(model, body))


def is_batch_tier(provider: str, service_tier: str | None) -> bool | None:
    """Whether a row that says so of itself was served as part of a batch; None where it cannot be told."""
    says = getattr(_module(provider), "is_batch_tier", None)
    return cast("bool | None", says(service_tier)) if says else None


def names() -> tuple[str, ...]:
    """Every provider that there is."""
    return tuple(sorted(_modules()))


def tier_variable(provider: str) -> str | None:
    """The environment variable that says an account's usage tier; None where there are no tiers."""
    return cast("str | None", getattr(_module(provider), "TIER", None))


def tier_of(provider: str, env: Mapping[str, str]) -> tuple[int, str] | None:
    """The usage tier under this environment, the lowest where none is said: its place, from 1, and its name.

    None where there are no tiers. ``connect`` refuses a name that is none.
    """
    tiers = cast("tuple[str, ...]", getattr(_module(provider), "TIERS", ()))
    name = env.get(tier_variable(provider) or "", "").strip() or next(iter(tiers), "")
    return (tiers.index(name) + 1, name) if name in tiers else None


@cache
def _modules() -> dict[str, ModuleType]:
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    return {name: module for module in modules for name in getattr(module, "NAMES", ())}


def _module(provider: str) -> ModuleType:
    if provider not in _modules():
        raise RunnerError(f"There is no provider {provider!r}: the known ones are {', '.join(names())}.")
    return _modules()[provider]
