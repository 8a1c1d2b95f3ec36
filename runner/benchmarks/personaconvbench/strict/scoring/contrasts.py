"""What is compared with what: the 2 x 2 of own-versus-stranger history and thread-or-none, its parts, its arms."""

from __future__ import annotations

from runner.metrics.effects import Contrast

_P, _PN, _NP, _NN = "p-conv", "p-nonconv", "np-conv", "np-nonconv"

MAIN = (
    Contrast("personal", "main", {_P: 0.5, _NP: -0.5, _PN: 0.5, _NN: -0.5}),
    Contrast("conversation", "main", {_P: 0.5, _PN: -0.5, _NP: 0.5, _NN: -0.5}),
    Contrast("interaction", "main", {_P: 1.0, _NP: -1.0, _PN: -1.0, _NN: 1.0}),
)
SIMPLE = tuple(
    Contrast(f"{a} - {b}", "simple", {a: 1.0, b: -1.0}) for a, b in ((_P, _NP), (_PN, _NN), (_P, _PN), (_NP, _NN))
)
ARMS = tuple(
    tuple(Contrast(f"{a} - {arm}", "arm", {a: 1.0, arm: -1.0}) for a in pair)
    for arm, pair in (("none-conv", (_P, _NP)), ("none-nonconv", (_PN, _NN)))
)
"""Against no history at all, with and without the thread."""


def declared(task: str, effect: str, metric: str) -> str:
    """The name of one confirmatory test, as a run declares it before any answer is seen."""
    return f"{task}: {effect} effect on {metric}"
