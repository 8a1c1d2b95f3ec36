"""The swap test: were the labels of two settings exchanged for an author, how large would the difference be?

Exchanging them for all instances of an author turns the sign of the author's share of an additive difference, so
the test flips the signs of authors' sums (Fisher's randomisation test with the author as the unit; Good 2005,
"Permutation, Parametric and Bootstrap Tests of Hypotheses"; the 1 in the p of drawn flips: Phipson and Smyth 2010).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from runner.metrics.signature import signature
from runner.metrics.statistic import FloatArray

DRAWS = 9_999
MOST_EXACT = 13

_CELLS = 1_000_000  # floats per array of a chunk: 8 MB
_TIE = 1e-9  # of the largest sum there can be: flips that differ by rounding only are ties, and ties count

SIGNATURE = signature(
    "p", "own", test="author sign flips", sides=2, draws=DRAWS, exact=f"{MOST_EXACT} authors or fewer", version=1
)


def swap_test(sums: FloatArray, seed: int, draws: int = DRAWS) -> FloatArray:
    """Two-sided p (m,) of m differences, each the sum of what the authors contribute to it: ``sums`` (authors, m).

    Every difference meets the same flips. All flips are enumerated for 13 authors or fewer, where p is their share
    that is at least as far from 0 as what was seen, itself included; else p = (1 + hits)/(1 + draws).
    """
    authors = len(sums)
    exact = authors <= MOST_EXACT
    total = sums.sum(axis=0)
    least = np.abs(total) - _TIE * np.abs(sums).sum(axis=0)
    hits = np.zeros(sums.shape[1])
    for flipped in _every_flip(authors) if exact else _drawn_flips(authors, draws, seed):
        hits += (np.abs(total - 2 * (flipped @ sums)) >= least).sum(axis=0)
    return hits / 2**authors if exact else (1 + hits) / (1 + draws)


def _every_flip(authors: int) -> Iterator[FloatArray]:
    numbers = np.arange(2**authors)[:, None]
    yield ((numbers >> np.arange(authors)) & 1).astype(np.float64)


def _drawn_flips(authors: int, draws: int, seed: int) -> Iterator[FloatArray]:
    """1 where an author's labels are exchanged: (rows, authors), ``draws`` rows in all."""
    random = np.random.default_rng(seed)
    width = max(1, _CELLS // authors)
    for start in range(0, draws, width):
        rows = min(width, draws - start)
        packed: npt.NDArray[np.uint8] = random.integers(0, 256, (rows, (authors + 7) // 8), dtype=np.uint8)
        yield np.unpackbits(packed, axis=1, count=authors).astype(np.float64)
