"""Numbers and strangers' texts become words here, and only here: a figure reads the same everywhere."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

UNKNOWN_PRICE = "price unknown"
NOT_DEFINED = "n/a"
NOT_GIVEN = "—"
_ROUNDING = 1e-12  # what is left of a difference of equal numbers

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|[ -/]*[0-~])")
_JOINERS = "\u200c\u200d"  # scripts and emoji need them; every other invisible format character goes
# Unicode's Default_Ignorable_Code_Point outside Cf, but for the two selectors that emoji need (U+FE0E, U+FE0F).
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0d\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


def plain(text: str, *, lines: bool = False) -> str:
    """``text`` without what could move a cursor, reorder a line or hide: ANSI, control, bidi, tag characters, fillers.

    Line ends become spaces unless ``lines``; a lone surrogate becomes U+FFFD, so that it can be written.
    """
    text = re.sub(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]", "\n", _ANSI.sub("", text)).replace("\t", "    ")
    text = re.sub(r"[^ -~\n]", _visible, text)
    return text if lines else " ".join(text.split("\n"))


def _visible(found: re.Match[str]) -> str:
    char = found[0]
    if _IGNORABLE.match(char):
        return ""
    kind = unicodedata.category(char)
    if kind == "Cs":
        return "\ufffd"
    return "" if kind == "Cc" or (kind == "Cf" and char not in _JOINERS) else char


def usd(amount: float | None) -> str:
    """Dollars: cents, or two significant digits where that is finer. None (no price known) is not zero."""
    if amount is None or not math.isfinite(amount):
        return UNKNOWN_PRICE
    finer = 1 - math.floor(math.log10(abs(amount))) if amount else 2
    return f"{'-' if amount < 0 else ''}${abs(amount):,.{max(2, finer)}f}"


def billed(amount: float | None, *, is_bound: bool) -> str:
    """Dollars that were paid; ``≤`` where some of it is only known to be no more."""
    return f"≤ {usd(amount)}" if is_bound and amount is not None else usd(amount)


def count(n: int | None) -> str:
    """A whole number with thousands separated."""
    return NOT_DEFINED if n is None else f"{n:,}"


def tokens(n: float | None) -> str:
    """A number of tokens in three significant digits: ``950``, ``12.3k``, ``4.56M``."""
    if n is None:
        return NOT_DEFINED
    for size, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if n >= size * 0.9995:
            return f"{n / size:.3g}{unit}"
    return f"{n:.0f}"


def percent(share: float) -> str:
    """A share of one. Only the whole is ``100 %`` and only nothing is ``0 %``: never rounded to either."""
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    tenths = min(math.floor(share * 1000 + 1e-9), 999)
    return f"{tenths / 10:.1f} %" if tenths else "<0.1 %"


def shares(parts: Sequence[float]) -> list[str]:
    """The parts of a whole as ``percent`` words them, and so that they add up to 100 (largest remainder).

    A part that is too small for a tenth of a percent takes up one all the same: ``<0.1 %``.
    """
    whole = sum(parts)
    if whole <= 0:
        return [NOT_DEFINED] * len(parts)
    exact = [1000 * part / whole for part in parts]
    tenths = [max(math.floor(part + 1e-9), 1) if part > 0 else 0 for part in exact]
    by_remainder = sorted(range(len(parts)), key=lambda place: tenths[place] - exact[place])
    for place in by_remainder[: max(1000 - sum(tenths), 0)]:
        tenths[place] += 1
    largest = max(range(len(parts)), key=lambda place: tenths[place])
    tenths[largest] += 1000 - sum(tenths)  # what the smallest have taken too much
    return [percent(n / 1000) if part == 0 or part >= 1 else "<0.1 %" for n, part in zip(tenths, exact, strict=True)]


def duration(seconds: float) -> str:
    """Time that has passed, in its two largest units."""
    whole = max(0, int(seconds))
    for size, unit, small, small_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            return f"{whole // size}{unit}{whole % size // small:02d}{small_unit}"
    return f"{whole}s"


def figure(value: float | None) -> str:
    """A metric's value; ``n/a`` where it is undefined; ``0`` is exact, ``0.000`` is what was rounded."""
    if value is None or not math.isfinite(value):
        return NOT_DEFINED
    return _fixed(value, _decimals(value))


def estimate(value: float | None, low: float | None, high: float | None) -> str:
    """A value with its interval, ``0.612 [0.55, 0.67]``; bounds have a digit less unless they are close."""
    if value is None or low is None or high is None or not all(map(math.isfinite, (value, low, high))):
        return figure(value)
    value, low, high = (0.0 if is_zero(number) else number for number in (value, low, high))
    digits = _decimals(max(value, low, high, key=abs))
    bounds = max(0, digits - 1)
    while bounds < 9 and (0 < (high - low) * 10**bounds < 5 or any(b and round(b, bounds) == 0 for b in (low, high))):
        bounds += 1  # a bound near zero keeps its side
    return f"{_fixed(value, max(digits, bounds))} [{_fixed(low, bounds)}, {_fixed(high, bounds)}]"


def signed(value: float | None, low: float | None, high: float | None) -> str:
    """A difference with its interval: ``+0.031 [0.012, 0.050]``."""
    text = estimate(value, low, high)
    return f"+{text}" if value is not None and value > 0 and text[:1].isdigit() and not is_zero(value) else text


def is_zero(value: float) -> bool:
    """Whether it is nothing but what is left of a difference of equal numbers."""
    return abs(value) < _ROUNDING


def _decimals(value: float) -> int:
    size = abs(value)
    if 0 < size < 0.01:
        return min(8, 1 - math.floor(math.log10(size)))
    return next((digits for digits, end in ((3, 10), (2, 100), (1, 1000)) if size < end), 0)


def _fixed(value: float, digits: int) -> str:
    if is_zero(value):
        return "0"
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text
