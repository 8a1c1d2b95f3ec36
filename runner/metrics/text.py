"""How near one text is to another: ROUGE-L, ROUGE-1, BLEU, METEOR, length ratio; all on 0–1 but the last.

Each value is that of the library in its signature, to the last bit: see ``rouge``, ``bleu`` and ``meteor``. Length
ratio is whitespace words of the answer over those of the reference, null where that has none. Closeness of
meaning, which needs a model, is in ``embeddings``.
"""

from __future__ import annotations

import polars as pl

from runner.metrics import bleu, meteor, rouge
from runner.metrics.signature import signature

QUALITY = ("rouge_l", "rouge_1", "bleu", "meteor")
"""Those of which more is better; the length ratio is best at 1."""

SCHEMA: dict[str, pl.DataType] = {
    "reference": pl.String(),
    "answer": pl.String(),
    "rouge_l": pl.Float64(),
    "rouge_1": pl.Float64(),
    "bleu": pl.Float64(),
    "meteor": pl.Float64(),
    "length_ratio": pl.Float64(),
}


def score_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """One row per distinct (``reference``, ``answer``) with the metrics (see ``SCHEMA``).

    Pairs with a null are left out; ``meteor`` is null in all rows where WordNet is not there (``meteor.missing``).
    Needs nothing but its rows, so a partition of a table can be given to any process; pairs with the same
    reference are cheapest in one partition.
    """
    words, has_meteor = rouge.tokenizer(), meteor.missing() is None
    columns: list[tuple[str, str, float, float, float, float | None, float | None]] = []
    by_reference = (
        pairs.select("reference", "answer")
        .drop_nulls()
        .unique(maintain_order=True)
        .group_by("reference", maintain_order=True)
        .agg("answer")
    )
    for reference, answers in by_reference.iter_rows():
        length = len(reference.split())
        for answer in answers:
            pair = words(reference), words(answer)
            columns.append(
                (
                    reference,
                    answer,
                    rouge.rouge_l(*pair),
                    rouge.rouge_1(*pair),
                    bleu.score(reference, answer),
                    meteor.score(reference, answer) if has_meteor else None,
                    len(answer.split()) / length if length else None,
                )
            )
    return pl.DataFrame(columns, schema=SCHEMA, orient="row")


def signatures() -> dict[str, str]:
    """What produced each metric, with the installed versions; METEOR is not among them while it cannot be had."""
    facts = {**rouge.facts(), "averaging": "weighted mean"}
    return {
        "rouge_l": signature("rouge_l", **facts),
        "rouge_1": signature("rouge_1", **facts),
        "bleu": bleu.signature(),
        **({"meteor": meteor.signature()} if meteor.missing() is None else {}),
        "length_ratio": signature(
            "length_ratio", "own", tokenizer="whitespace", averaging="weighted mean of ratios", version=1
        ),
    }
