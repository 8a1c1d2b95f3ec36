"""A number is a value with a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from runner.metrics.intervals import Interval


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


def score_of(
    interval: Interval,
    setting: str,
    group: str,
    metric: str,
    *notes: str | None,
    n: int,
    coverage: float,
    floor: str | None = None,
) -> Score:
    """The cell of an estimate; what the interval has to say comes last in its note."""
    note = "; ".join(each for each in (*notes, interval.note) if each) or None
    return Score(setting, group, metric, interval.value, interval.low, interval.high, n, coverage, floor, note)


EffectKind = Literal["main", "simple", "arm", "floor", "model"]


@dataclass(frozen=True, slots=True)
class Effect:
    """A raw difference between settings (or to a floor, or between models) on the same instances; + is better.

    ``name`` is ``personal``, ``conversation``, ``interaction``, or ``<a> - <b>``. ``kind`` is ``main`` (of the
    2 x 2), ``simple`` (two settings), ``arm`` (against no history), ``floor`` (the model less its best floor), or
    ``model`` (two models). ``low`` and ``high`` bound the author-clustered interval of ``level`` (.95, …); they are
    None where there is none, and ``note`` says why. ``n`` counts instances, ``authors`` what they are worth
    (G_eff). ``p`` is of the two-sided swap test by author, ``p_holm`` the same adjusted inside its ``family``;
    an effect without a family is exploratory. ``group`` is ``all``, ``domain=<name>`` or ``no own reply visible``.
    """

    name: str
    kind: EffectKind
    metric: str
    group: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    n: int
    authors: float
    p: float | None = None
    p_holm: float | None = None
    family: str | None = None
    note: str | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the interval excludes zero (and, in a family, the adjusted p is below 1 - level)."""
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return False
        return self.family is None or (self.p_holm is not None and self.p_holm <= 1 - self.level + 1e-12)
