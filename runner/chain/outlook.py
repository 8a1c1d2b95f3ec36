"""What a unit of something will take on average, with its interval: from what was seen, or from a stated range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import polars as pl

LEVEL = 0.90
"""Of every interval that rests on earlier answers."""
FEWEST = 20
"""Earlier answers below which they are not taken for a rule."""


@dataclass(frozen=True, slots=True)
class Span:
    """The least, the expected and the most."""

    low: float
    mid: float
    high: float


@dataclass(frozen=True, slots=True)
class Rate:
    """What one unit takes: ``span`` without what chance adds, and chance itself where it was seen.

    ``spread`` is the variance per unit, ``units`` how many were seen, ``quantile`` the t quantile of LEVEL.
    """

    span: Span
    spread: float = 0.0
    units: float = 1.0
    quantile: float = 0.0

    @property
    def is_seen(self) -> bool:
        """Whether it was seen: in earlier answers, or counted by the provider."""
        return self.quantile > 0

    def over(self, units: float) -> Span:
        """The mean over so many further units: the error of what was seen, and the chance in what is to come."""
        if units <= 0:
            return Span(self.span.mid, self.span.mid, self.span.mid)
        half = self.quantile * sqrt(self.spread * (1 / units + 1 / self.units))
        return Span(max(0.0, self.span.low - half), self.span.mid, self.span.high + half)


@dataclass(frozen=True, slots=True)
class Rates:
    """A rate per setting, ``each``, and that of ``every`` setting together."""

    each: Mapping[str, Rate]
    every: Rate

    @property
    def are_seen(self) -> bool:
        """Whether they were seen."""
        return self.every.is_seen

    def over(self, units: Mapping[str, float]) -> dict[str, Span]:
        """Each setting's mean over so many further units.

        Of several settings the width is that of their sum: an instance's answers in all of them are one cluster.
        """
        if len(units) == 1:
            return {setting: self.each[setting].over(n) for setting, n in units.items()}
        whole = self.every.over(sum(units.values()))
        below, above = whole.mid - whole.low, whole.high - whole.mid
        mids = {setting: self.each[setting].span.mid for setting in units}
        return {setting: Span(max(0.0, mid - below), mid, mid + above) for setting, mid in mids.items()}


def seen(rows: pl.DataFrame, amount: str, unit: str) -> Rate | None:
    """The ratio of two columns' sums; None for fewer than FEWEST rows, or two clusters (column ``cluster``).

    Its variance is that of the ratio estimator, from the residuals of whole clusters, since the requests of an
    instance share their texts (Cochran, Sampling Techniques, 3rd ed., 6.3 and 9A.2).
    """
    if rows.height < FEWEST:
        return None
    sums = rows.group_by("cluster").agg(amount=pl.col(amount).sum(), unit=pl.col(unit).sum())
    units, clusters = float(sums["unit"].sum()), sums.height
    if clusters < 2 or units <= 0:
        return None
    from scipy.special import stdtrit

    ratio = float(sums["amount"].sum()) / units
    residuals = sums["amount"] - ratio * sums["unit"]
    squares = float((residuals**2).sum()) * clusters / (clusters - 1)
    return Rate(Span(ratio, ratio, ratio), squares / units, units, float(stdtrit(clusters - 1, (1 + LEVEL) / 2)))
