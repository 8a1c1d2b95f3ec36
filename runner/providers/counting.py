"""What a request's input takes by the provider's own count, where it offers one for nothing, before it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

from runner.errors import RunnerError
from runner.providers import connect
from runner.request import Body

Count = Callable[[str, Body], int]
"""The input tokens of a body for the model of this canonical id; raises ``Unreachable``. Threads may share it."""


@runtime_checkable
class Counts(Protocol):
    """A provider that counts."""

    def count_tokens(self, model: str, body: Body) -> int:
        """Ask once, without a retry."""
        ...


def counter_of(
    provider: str, env: Mapping[str, str], *, base_url: str | None = None, venue: str | None = None
) -> Count | None:
    """The provider's own count; None where it has none or no key is set. Nobody is asked yet.

    The arguments are those of ``connect``. Raises RunnerError when the environment makes no sense.
    """
    try:
        desk = connect(provider, env, base_url=base_url, venue=venue)
    except RunnerError as error:
        if error.code == "no_key":
            return None
        raise
    return desk.count_tokens if isinstance(desk, Counts) else None
