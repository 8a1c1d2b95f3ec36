"""What counts as an answer: the reference's evaluators for GPT models, to the letter.

Its other evaluators read differently, which is a reason not to compare its rows with each other:

* 3.1: the GPT, Claude and Gemini ones ask for equality, as here; the one for logged outputs (Llama, DeepSeek) takes
  the last whole word positive/negative anywhere, after removing closed ``<think>`` blocks.
* 3.2: the GPT one and Claude's own branch fall back on the last number in the text, as here; the branches for
  GPT-4o and Gemini in Claude's file have no fallback; the one for logged outputs removes thinking, then takes the
  last number.
* 3.3: the GPT ones take each of the candidates as it is, as here; Claude's has one candidate; the one for logged
  outputs removes thinking and drops every text that holds "Error:".
* Output limits differ as well: 3.2 allows 7, 15 or 25 tokens, depending on the model.
"""

from __future__ import annotations

import math
import re

from runner.benchmarks.personaconvbench.paper.frame import Kind

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def parse(kind: Kind, text: str) -> str | None:
    """``positive``/``negative``, a number as Python writes it, or the text as it is; None when unusable."""
    if kind == "sign":
        word = text.strip().lower()
        return word if word in ("positive", "negative") else None
    if kind == "value":
        return _number(text)
    return text if text.strip() else None


def _number(text: str) -> str | None:
    """The whole text as a float, else the last number in it.

    "nan" and "inf" pass the reference's ``float`` and then spoil its metrics; here they are no answer.
    """
    try:
        value = float(text)
    except ValueError:
        found = _NUMBER.findall(text)
        if not found:
            return None
        value = float(found[-1])
    return repr(value) if math.isfinite(value) else None
