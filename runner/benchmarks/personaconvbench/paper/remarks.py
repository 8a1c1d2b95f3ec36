"""What sets a number of the paper protocol apart from one of the strict protocol, sentence by sentence."""

from __future__ import annotations

from runner.benchmarks.personaconvbench.paper.frame import Kind
from runner.benchmarks.personaconvbench.paper.leaks import KNOWN_LEAKS

_OF_ALL = (
    "There is no np-nonconv, so there is no 2 x 2, and no effect of history or thread is computed or tested.",
    "No instance is weighted, and each setting is averaged over whichever of its answers could be read.",
    "The published table has no trivial predictors; the floors beside these numbers are ours.",
    "Intervals are ours, too: the published table has none, and one run at temperature 0.7 stands behind 3.3.",
    "The published rows were read by different parsers, with different output limits, on different subsets (the first "
    "100, the first 500, or all); here all models are read as its GPT rows were.",
)
_OF: dict[Kind, tuple[str, ...]] = {
    "sign": (
        "The published F1 is of the positive class for GPT and Claude and weighted over classes for LLaMA and "
        "DeepSeek: f1_positive stands beside the former, f1_weighted beside the latter, never beside both.",
        "Accuracy says little at this class balance: always positive reaches .8205 on the published sample.",
    ),
    "value": (
        "RMSE is decided by a few viral replies, and no error is taken on a log scale.",
        "A failed answer costs nothing in RMSE and MAE; only coverage shows it.",
    ),
    "text": (
        "BLEU is nltk's with smoothing method 1 on lower-cased words, not sacrebleu's, and SBERT is the raw cosine, "
        "which strict cuts off at 0.",
        "Each metric takes, of each prompt, the best of the answers to it by the reference text for itself: no single "
        "answer reaches the row's values together, and rows of different numbers of answers are not comparable.",
        "A prompt whose best value is 0 leaves the mean of that metric, so the worst answers raise it.",
    ),
}


def remarks(kind: Kind) -> tuple[str, ...]:
    """The leaks that the protocol keeps, then what its aggregation does otherwise."""
    return (*KNOWN_LEAKS, *_OF_ALL, *_OF[kind])
