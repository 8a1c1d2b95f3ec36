"""What metrics are called where there is room for words: with unit and direction."""

from __future__ import annotations

from collections.abc import Sequence

from runner.reporting.tables import LOWER_IS_BETTER
from runner.reporting.words import plain

_NAMES = {
    "bleu": "BLEU",
    "f1_macro": "macro F1",
    "f1_positive": "F1 of the positive class",
    "f1_weighted": "weighted F1",
    "log_mae": "log error",
    "mae": "absolute error",
    "mcc": "MCC",
    "median_ae": "median absolute error",
    "meteor": "METEOR",
    "rmse": "RMSE",
    "rouge_1": "ROUGE-1",
    "rouge_l": "ROUGE-L",
    "sbert": "SBERT cosine",
    "spearman": "Spearman's ρ",
}
_UNITS = {
    "log_mae": "mean distance of s(answer) from s(score), s(x) = sign(x)·ln(1+|x|)",
    "mae": "votes",
    "median_ae": "votes",
    "rmse": "votes",
    "rouge_l": "F1",
    "rouge_1": "F1",
}
_LONGEST = 28


def metric_name(metric: str) -> str:
    """``balanced accuracy`` for ``balanced_accuracy``."""
    return _NAMES.get(metric, plain(metric).replace("_", " "))


def metric_axis(metric: str) -> str:
    """Name, unit and direction, for an axis that shows values."""
    unit = f" ({_UNITS[metric]})" if metric in _UNITS else ""
    return f"{metric_name(metric)}{unit}, {direction(metric)}"


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def opening(text: str) -> str:
    """Its first letter made a capital; the others keep their size (``ROUGE-L``)."""
    return text[:1].upper() + text[1:]


def direction(metric: str) -> str:
    """``higher is better``, or lower."""
    return "lower is better" if metric in LOWER_IS_BETTER else "higher is better"


def short(text: str, longest: int = _LONGEST) -> str:
    """A stranger's text as a label: cleaned, in one line, cut with an ellipsis."""
    text = plain(text).strip()
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def domain_of(group: str) -> str | None:
    """The domain that a table's group is, or None."""
    return group.removeprefix("domain=") if group.startswith("domain=") else None
