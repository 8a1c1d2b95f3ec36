"""A number is a value with a name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Score:
    """One cell of a result table.

    ``value`` is None where the metric is undefined ("n/a", never 0). ``low`` and ``high`` bound the 95 %
    author-clustered interval and are None where none can be given; ``note`` then says why (and marks an
    interval of few authors). ``n`` counts instances behind the value, ``coverage`` is the share of them with
    a usable answer. ``group`` is ``all`` or ``domain=<name>``. ``floor`` names a trivial predictor.
    """

    setting: str
    group: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    coverage: float
    floor: str | None = None
    note: str | None = None
