"""What the three questions are measured by: names of metrics in the order of tables, directions, signatures."""

from __future__ import annotations

from typing import Literal

from runner.metrics import classification, embeddings, intervals, recall, regression, swap, text

Kind = Literal["sign", "value", "text"]

METRICS: dict[Kind, tuple[str, ...]] = {
    "sign": ("balanced_accuracy", "accuracy", "f1_positive", "f1_macro", "f1_weighted", "mcc"),
    "value": ("log_mae", "mae", "median_ae", "rmse", "spearman"),
    "text": (
        "rouge_l", "rouge_1", "bleu", "meteor", "sbert", "rank_strangers", "rank_author", "length_ratio", "recalled",
    ),
}  # fmt: skip
PRIMARY: dict[Kind, str] = {kind: names[0] for kind, names in METRICS.items()}

LESS_IS_BETTER = frozenset({"log_mae", "mae", "median_ae", "rmse"})
NO_QUALITY = frozenset({"length_ratio", "recalled"})
"""Neither more nor less of it is better: in no effect, in no best-of-n."""
NOTES = {"rmse": "no test: one viral reply decides it"}
SEED = 0

_FAILED = {
    "sign": "opposite of the truth",
    "value": "-sign(y)*max(1, median|score| of the domain's others)",
    "text": "0",
}


def signatures(kind: Kind) -> dict[str, str]:
    """What produced each metric, its interval and its p."""
    rule = f"failed:{_FAILED[kind]}|protocol:strict"
    resampled = {"interval": f"{intervals.SIGNATURE}|seed:{SEED}", "p": f"{swap.SIGNATURE}|seed:{SEED}"}
    return {metric: f"{each}|{rule}" for metric, each in _each(kind).items()} | resampled


def _each(kind: Kind) -> dict[str, str]:
    if kind == "sign":
        return dict(classification.SIGNATURES)
    if kind == "value":
        return dict(regression.SIGNATURES)
    known = {**text.signatures(), **recall.signatures(), **embeddings.signatures()}
    return {metric: known[metric] for metric in METRICS["text"] if metric in known}
