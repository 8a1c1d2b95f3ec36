"""Metrics that need data or models which may not be here: what a table says in their place."""

from __future__ import annotations

from runner.metrics import embeddings, meteor

_MISSING = {"meteor": meteor.missing, "sbert": embeddings.missing}


def why_missing(metric: str) -> str:
    """Why no answer has this metric, and how to get it."""
    if metric.startswith("rank_"):
        return "n/a: there are no other replies to rank the answers among"
    sentence = _MISSING[metric]() if metric in _MISSING else None
    return f"n/a: {sentence or 'not computed when these answers were judged; score the run again'}"
