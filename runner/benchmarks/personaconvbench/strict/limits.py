"""The constants of the strict protocol, and the hash that every draw of it comes from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from runner.benchmarks.base import Variant
from runner.errors import RunnerError

VERSION = "strict-1"
"""Of the rules and the prompts together: a changed word is a new version, and a new run."""

SETTINGS = ("p-conv", "p-nonconv", "np-conv", "np-nonconv")
ARMS = ("none-conv", "none-nonconv")
"""Optional: no history at all, on every fourth instance of the sample order (``none_arm``)."""

Kind = Literal["sign", "value", "value-all", "text"]
"""What is asked: 3.1, 3.2, ``3.2-all`` and 3.3. The instance frame carries it."""

MIN_ABS_SCORE = 4
MIN_WORDS = 4
MAX_ITEMS = 8
MAX_PER_AUTHOR = 10
MIN_AUTHORS_FOR_DEV = 200
DONOR_POOL = 20
NONE_ARM_STEP = 4
NEGATIVE_SHARE = 0.3
STRANGERS = 9

SHINGLE_WORDS = 8
SHINGLE_SHARE = 0.5
WHOLE_CHARS = 40

THREAD_CHARS = 12_000
COMMENT_CHARS = 1_200
BODY_CHARS = 2_400
ITEM_CHARS = 2_400
POST_TITLE_CHARS = 300
"""The protocol names no limit for the post's title; this is reddit's own, so that nothing real is cut."""
HISTORY_TITLE_CHARS = 150
HISTORY_PARENT_CHARS = 320
HISTORY_REPLY_CHARS = 600

ANSWER_TOKENS: Mapping[Kind, int] = {"sign": 16, "value": 16, "value-all": 16, "text": 400}
"""Room for the answer alone, the same for every corpus and model: 400 tokens hold some 300 words."""

DAY_US = 86_400_000_000
NEVER = 2**63 - 1
"""An unreadable time, in microseconds: later than everything, so that nothing of it is ever visible."""


@dataclass(frozen=True)
class Switches:
    """The protocol's own options: ``history_lag_days`` in days, ``min_history`` in items."""

    min_history: int = 3
    history_lag_days: int = 7
    label_balance: bool = True
    match_length: bool = False
    dev: bool = False

    @classmethod
    def of(cls, variants: Mapping[str, Variant]) -> Switches:
        """From the user's variants; others of the benchmark are not ours. Raises RunnerError on impossible ones."""
        known = {name: variants[name] for name in cls.__dataclass_fields__ if name in variants}
        switches = cls(**known)  # type: ignore[arg-type]
        if switches.min_history < 1:
            raise RunnerError(f"min_history is {switches.min_history}; a history has at least 1 item.")
        if switches.history_lag_days < 0:
            raise RunnerError(
                f"history_lag_days is {switches.history_lag_days}; a history ends before the reply, so 0 or more."
            )
        return switches


def draw(*parts: object) -> int:
    """64 bits of sha256 over the parts: the only source of chance, equal on every machine."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
