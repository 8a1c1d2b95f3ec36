"""How wide an interval will be, before it is bought: the author-clustered variance of a mean, by linearisation.

A mean (or the plain mean of the means inside k classes: balanced accuracy) is Σ a_i z_i with a_i = w_i/(k·W_class).
Where scores z have the variance σ²_class and two scores of one author the correlation ρ, resampling authors gives

    V = Σ a_i²σ_i² + ρ·Σ_g[(Σ_{i in g} a_iσ_i)² − Σ_{i in g} a_i²σ_i²]

(the design effect of unequal clusters: Kish 1965; Kish and Frankel 1974), and ``intervals`` prints about
± t(G_eff − 1)·√V: its √(G/(G − 1)) makes up for the means that it estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from runner.metrics.intervals import FEWEST_AUTHORS
from runner.metrics.statistic import FloatArray

PRIOR_ICC = 0.05
PRIOR_ICC_SD = 0.1
"""What is taken for the intra-author correlation until a pilot has enough authors with several instances."""
RANGE = 0.9
"""Of the range about an expected half-width."""

_POOLED_ROWS = 20.0  # so many rows of the pooled variance join those of each class: pilots have few negatives


@dataclass(frozen=True)
class Design:
    """What n instances are worth. Sums over rows of a² by class, over pairs of one author of a·a' by two classes."""

    squares: Mapping[str, float]
    pairs: Mapping[tuple[str, str], float]
    authors: float
    instances: int


@dataclass(frozen=True)
class Spread:
    """How scores vary: variance by class, what the variances are uncertain by, and the correlation inside authors.

    ``errors`` are relative standard errors of the variances. ``instances`` is the size of the pilot, None where the
    figures are assumed or known.
    """

    variances: Mapping[str, float]
    errors: Mapping[str, float]
    icc: float
    icc_sd: float
    instances: int | None = None


@dataclass(frozen=True)
class Expected:
    """A half-width, and the range (``RANGE``) of what may be printed at this size."""

    half_width: float
    low: float
    high: float


def design(weights: FloatArray, authors: npt.NDArray[np.object_], classes: npt.NDArray[np.object_]) -> Design:
    """Of rows (n,) that will be bought. ``classes`` is constant where the metric is a plain mean."""
    names, in_class = np.unique(classes.astype(str), return_inverse=True)
    _, member = np.unique(authors, return_inverse=True)
    shares = _shares(weights, in_class)
    by_author = _by_author(shares, member, in_class)
    squares = np.bincount(in_class, shares**2)
    pairs = by_author.T @ by_author - np.diag(squares)
    mass = [np.bincount(member[in_class == c], weights[in_class == c]) for c in range(len(names))]
    return Design(
        squares=dict(zip(names.tolist(), squares.tolist(), strict=True)),
        pairs={(a, b): float(pairs[i, j]) for i, a in enumerate(names.tolist()) for j, b in enumerate(names.tolist())},
        authors=min((float(m.sum() ** 2 / (m**2).sum()) for m in mass), default=0.0),  # as intervals: the smaller class
        instances=len(weights),
    )


def spread(
    scores: FloatArray, weights: FloatArray, authors: npt.NDArray[np.object_], classes: npt.NDArray[np.object_]
) -> Spread | None:
    """From the scores (n,) of a pilot; None where they do not vary, so that nothing can be learnt from them.

    Few rows of a class are joined by the pooled variance, and few pairs of one author by ``PRIOR_ICC``, in
    proportion to what each is worth (a normal prior on the correlation).
    """
    names, in_class = np.unique(classes.astype(str), return_inverse=True)
    _, member = np.unique(authors, return_inverse=True)
    mass = np.bincount(in_class, weights)
    kish = mass**2 / np.bincount(in_class, weights**2)
    if (kish <= 1).any():
        return None
    means = np.bincount(in_class, weights * scores) / mass
    residuals = (scores - means[in_class]) * np.sqrt(kish / (kish - 1))[in_class]
    own = np.bincount(in_class, (weights * residuals) ** 2) / np.bincount(in_class, weights**2)
    pooled = float(np.average(own, weights=kish))
    if pooled <= 1e-18:
        return None
    variances = (kish * own + _POOLED_ROWS * pooled) / (kish + _POOLED_ROWS)
    if len(names) == 1:
        variances = own
    icc, icc_sd = _correlation(residuals, _shares(weights, in_class), np.sqrt(variances)[in_class], member)
    return Spread(
        variances=dict(zip(names.tolist(), variances.tolist(), strict=True)),
        errors=dict(zip(names.tolist(), _errors(residuals, weights, member, in_class, variances), strict=True)),
        icc=icc,
        icc_sd=icc_sd,
        instances=len(scores),
    )


def expected(planned: Design, known: Spread, level: float) -> Expected | None:
    """The half-width of the interval of ``level``; None where there will be none.

    That is under 20 effective authors, or where a class is missing on either side.

    The range holds what the spread is uncertain by and, after a pilot, how the variance of the larger sample will
    itself fall out: chi-square with the degrees of freedom that give its relative variance (Satterthwaite 1946).
    """
    from scipy.special import chdtri, stdtrit

    if planned.authors < FEWEST_AUTHORS or set(planned.squares) != set(known.variances):
        return None
    independent, paired, error = _variance(planned, known)
    total = independent + known.icc * paired
    if total <= 0:
        return None
    half = float(stdtrit(planned.authors - 1, (1 + level) / 2) * np.sqrt(total))
    sampled = 0.0 if known.instances is None else error**2 * known.instances / planned.instances
    relative = error**2 + sampled + (known.icc_sd * paired / total) ** 2
    if relative <= 0:
        return Expected(half, half, half)
    freedom = max(1.0, 2 / relative)
    bounds = (chdtri(freedom, (1 + side * RANGE) / 2) for side in (-1, 1))  # upper quantiles: the high one first
    low, high = (half * float(np.sqrt(freedom / bound)) for bound in bounds)
    return Expected(half, low, high)


def smallest(largest: int, width: Callable[[int], float | None], wanted: float) -> int | None:
    """The fewest instances, up to ``largest``, from which on the half-width is at most ``wanted``; None: too few.

    By bisection: half-widths fall with n but for the small steps by which the weights of a prefix change.
    """
    if largest < 1 or not _reaches(width(largest), wanted):
        return None
    short, enough = 0, largest
    while enough - short > 1:
        middle = (short + enough) // 2
        if _reaches(width(middle), wanted):
            enough = middle
        else:
            short = middle
    return enough


def _reaches(half: float | None, wanted: float) -> bool:
    return half is not None and half <= wanted


def _shares(weights: FloatArray, in_class: npt.NDArray[np.intp]) -> FloatArray:
    """a_i: what a row's score adds to the metric."""
    mass = np.bincount(in_class, weights)
    shares: FloatArray = weights / (mass[in_class] * len(mass))
    return shares


def _by_author(values: FloatArray, member: npt.NDArray[np.intp], in_class: npt.NDArray[np.intp]) -> FloatArray:
    """Sums (authors, classes)."""
    width = int(in_class.max()) + 1 if len(in_class) else 1
    height = int(member.max()) + 1 if len(member) else 0
    sums = np.bincount(member * width + in_class, values, height * width).astype(np.float64)
    return sums.reshape(height, width)


def _variance(planned: Design, known: Spread) -> tuple[float, float, float]:
    """Independent part; what ρ = 1 would add; relative standard error of the first."""
    terms = {name: known.variances[name] * square for name, square in planned.squares.items()}
    independent = sum(terms.values())
    sd = {name: known.variances[name] ** 0.5 for name in planned.squares}
    paired = sum(sd[a] * sd[b] * pair for (a, b), pair in planned.pairs.items())
    error = sum((term * known.errors[name]) ** 2 for name, term in terms.items()) ** 0.5
    return independent, max(0.0, paired), error / independent if independent else 0.0


def _correlation(
    residuals: FloatArray, shares: FloatArray, sd: FloatArray, member: npt.NDArray[np.intp]
) -> tuple[float, float]:
    """ρ and its standard deviation: the moment estimate over pairs of one author, joined by the prior."""

    def over_pairs(values: FloatArray) -> float:
        return float((np.bincount(member, values) ** 2).sum() - (values**2).sum())

    possible = over_pairs(shares * sd)
    if possible <= 1e-12 * float(((shares * sd) ** 2).sum()):
        return PRIOR_ICC, PRIOR_ICC_SD
    found = over_pairs(shares * residuals) / possible
    error2 = 2 * over_pairs((shares * sd) ** 2) / possible**2  # at ρ = 0
    prior2 = PRIOR_ICC_SD**2
    icc = (found * prior2 + PRIOR_ICC * error2) / (prior2 + error2)
    return float(np.clip(icc, 0, 1)), float(np.sqrt(prior2 * error2 / (prior2 + error2)))


def _errors(
    residuals: FloatArray,
    weights: FloatArray,
    member: npt.NDArray[np.intp],
    in_class: npt.NDArray[np.intp],
    variances: FloatArray,
) -> list[float]:
    """Relative standard errors of the classes' variances, clustered by author."""
    off = weights**2 * (residuals**2 - variances[in_class])
    squares = (_by_author(off, member, in_class) ** 2).sum(axis=0)
    errors: list[float] = (np.sqrt(squares) / np.bincount(in_class, weights**2) / variances).tolist()
    return errors
