"""Why a selection is empty: the rule that took most, the one that took the last, and what would leave more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise


def emptied(steps: Sequence[tuple[str, int]], ways: Mapping[str, str]) -> str:
    """A funnel that ends with nothing, in words. ``steps`` begins with what there is to choose from.

    ``ways`` says how a rule is relaxed, where an option does it.
    """
    taken = [(rule, before - left, before) for (_, before), (rule, left) in pairwise(steps) if before]
    if not taken:
        return f"No instance is left: the corpus has no {steps[0][0]}."
    most, n, of = max(taken, key=lambda one: one[1])
    last = next((rule for rule, left in steps if not left), most)
    said = f'No instance is left of {steps[0][1]:,} {steps[0][0]}: the rule "{most}" took most ({n:,} of {of:,})'
    if last != most:
        said += f', "{last}" the last'
    found = [f'{ways[rule]} relaxes "{rule}"' for rule in dict.fromkeys((most, last)) if rule in ways]
    return f"{said}. {'; '.join(found) or 'No option relaxes that: it takes a larger corpus'}."
