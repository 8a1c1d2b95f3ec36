"""Several tests, several looks: how much of the 5 % each may spend."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ALPHA = 0.05


def holm(p: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p of one family, in the order given: equal to statsmodels' ``multipletests``.

    Three lines, because importing that takes longer than scoring a small run.
    """
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(order), 0, -1))
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(stepped, 1)
    return [float(each) for each in adjusted]


def look_alpha(look: int, planned: int | None = None) -> float | None:
    """The level at which the ``look``-th scored look (from 1) at a growing sample tests.

    .05/(k(k + 1)), which sums to .05 over any number of looks; where ``planned`` looks were fixed beforehand,
    .05/planned each, and None (no confirmatory test) beyond them.
    """
    if planned is None:
        return ALPHA / (look * (look + 1))
    return ALPHA / planned if look <= planned else None
