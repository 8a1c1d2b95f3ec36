"""From a model's text to its answer; one parser for all models, so that strictness never differs between them.

The rule everywhere: what is said plainly is read, what could mean two things is no answer (None). In order:

1. Reasoning between ``<think>`` tags is dropped; one that never closes leaves no answer.
2. A JSON object's ``answer`` (or the like) decides.
3. Else the lines marked as the final answer decide (``Final answer: …``, ``\\boxed{…}``); without any, the lines
   marked as an answer (``Answer: …``); without any, the whole text. What decides must say one thing only: two
   different words or numbers, a negated word (``not negative``) or a number that may be a range, a date or a
   list mark is no answer. A marked line that says nothing (no word, no number) is passed over.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import zip_longest
from typing import TypeVar

import orjson

T = TypeVar("T")

# ---------------------------------------------------------------- what all three share

_REASONING = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_JSON_KEYS = ("final_answer", "answer", "prediction", "label", "score", "value")
_MARK = r"[\s*_`\"'>]*(?:\bis\b|\bwould be\b|\bwill be\b|[:=>])"
_PLAIN = re.compile(r"\b(?:answer|prediction|predicted score|label|verdict)\b" + _MARK, re.IGNORECASE)
_FINAL = re.compile(r"\bfinal (?:answer|prediction|score|label|verdict)\b" + _MARK + r"|\\boxed\b", re.IGNORECASE)


def strip_reasoning(text: str) -> str | None:
    """The text without ``<think>`` (or ``<thinking>``) blocks; None when one is still open at the end.

    A closing tag alone drops what stands before it: chat templates often swallow the opening one.
    """
    kept: list[str] = []
    start, inside = 0, False
    for tag in _REASONING.finditer(text):
        if tag[1]:
            if not inside:
                kept.clear()
            start, inside = tag.end(), False
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
    return None if inside else "".join((*kept, text[start:]))


def _decide(text: str, read: Callable[[str], set[T | None]]) -> T | None:
    """Apply the order of the module's docstring; ``read`` gives what a piece says, None for what is unclear."""
    answer = strip_reasoning(text)
    if answer is None:
        return None
    spoken = _json_answer(answer)
    if spoken is not None:
        answer = spoken
    for pieces in (_marked(answer, _FINAL), _marked(answer, _PLAIN), iter((answer,))):
        said: set[T | None] = set()
        for piece in pieces:
            said |= read(piece)
        if said:
            return said.pop() if len(said) == 1 else None
    return None


def _marked(text: str, mark: re.Pattern[str]) -> Iterator[str]:
    """What follows each mark, to the next mark or the end of the line; of the next line when that is bare."""
    marks = list(mark.finditer(text))
    for found, following in zip_longest(marks, marks[1:]):
        line, _, after = text[found.end() : following.start() if following else None].partition("\n")
        yield line if any(map(str.isalnum, line)) else after.lstrip().partition("\n")[0]


def _unfenced(text: str) -> str:
    """The inside of a code fence that encloses the whole text, else the text."""
    text = text.strip()
    if len(text) < 6 or not (text.startswith("```") and text.endswith("```")):
        return text
    inner = text[3:-3]
    if "```" in inner:
        return text
    info, newline, body = inner.partition("\n")
    return (body if newline else info).strip()


def _json_answer(text: str) -> str | None:
    """The answer inside a JSON object (fenced or not); None when the text is no such thing."""
    inner = _unfenced(text)
    if not inner.startswith("{"):
        return None
    try:
        loaded = orjson.loads(inner)
    except ValueError:
        return None
    values = {str(key).lower().replace(" ", "_"): value for key, value in loaded.items()}
    for key in _JSON_KEYS:
        value = values.get(key)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return str(value)
    return None


# ---------------------------------------------------------------- one word of a few

_NEGATORS = (
    "not", "no", "non", "never", "neither", "nor", "cannot", "without", "unlikely", "hardly", "anything but",
    "far from", "rather than", "instead of", r"[a-z]+n['’]t",
)  # fmt: skip
_CLAUSE = re.compile(r"[.;:!?\n]|\bbut\b(?<!anything but)", re.IGNORECASE)


def parse_word(text: str, words: tuple[str, ...] = ("positive", "negative")) -> str | None:
    """The one of ``words`` (lower case) that the text gives as its answer, else None.

    Case, punctuation, quotes, markdown and a sentence around the word do not matter. A word with a negation
    before it in the same clause is unclear, also where only two words exist: "not negative" may mean neither.
    """
    negators = [word for word in _NEGATORS if word not in words]
    # Letters and digits bound a word; an underscore is markdown.
    mention = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, words))})(?![^\W_])")
    negator = re.compile(rf"(?<![^\W_])(?:{'|'.join(negators)})(?![^\W_])")

    def read(piece: str) -> set[str | None]:
        said: set[str | None] = set()
        for clause in _CLAUSE.split(unicodedata.normalize("NFKC", piece).lower()):
            negated = negator.search(clause)
            for found in mention.finditer(clause):
                said.add(None if negated and negated.start() < found.start() else found[0])
        return said

    return _decide(text, read)


# ---------------------------------------------------------------- one integer

_LARGEST_EXPONENT = 308  # beyond it a number is no finite float: as good as inf, which is refused
_DIGITS = str.maketrans({chr(0xFF10 + digit): str(digit) for digit in range(10)})
_DASHES = str.maketrans(dict.fromkeys("−–‑‐﹣－", "-") | {"＋": "+"})
_SPACED_MINUS = re.compile(r"(?:(?<!\w)−\s*|\b(?:minus|negative)\s+)(?=\d)", re.IGNORECASE)
_UNCLEAR = re.compile(r"[-–—][ \t\u00a0]+[-+]?\d|\d[ \t\u00a0]+(?:k|hundred|thousand|million|billion)\b", re.IGNORECASE)
_SPACED_THOUSANDS = re.compile(
    r"(?<![\w.,'’/%+-])([-+]?\d{1,3})((?:[ \u00a0\u2009\u202f]\d{3})+)(?![\w/%-]|[ \u00a0\u2009\u202f]\d)"
)
_CHUNK = re.compile(r"[\w.,'’+\-—±/%]+")
_NUMBER = re.compile(
    r"(?P<sign>[-+]?)(?P<whole>\d+|[1-9]\d{0,2}(?:(?:,\d{3})+|(?:_\d{3})+|(?:['’]\d{3})+))?"
    r"(?P<part>\.\d*)?(?:(?P<kilo>[kK])|[eE](?P<exponent>[-+]?\d{1,4}))?",
    re.ASCII,
)


def parse_integer(text: str) -> int | None:
    """The integer that the text gives as its answer, else None.

    Read: signs (also the Unicode minus, "minus 5"), thousands separators (``1,234``, ``1 234``, ``1_234``,
    ``1'234``), ``1.2k``, exponents, decimals (rounded half to even, so that rounding favours no side), and a
    sentence around numbers that all agree. Refused: nan, inf and whatever exceeds a finite float; a comma or
    dot that could be either mark (``1.234`` is a decimal, ``12,5`` nothing); ranges, dates, fractions, percents;
    a dash with a space before a number (a minus or a list mark?); "2 thousand"; a plain number near the word
    "negative".
    """
    return _decide(text, _integers)


def _integers(piece: str) -> set[int | None]:
    piece = _SPACED_MINUS.sub("-", piece.translate(_DIGITS))
    if _UNCLEAR.search(piece):
        return {None}
    piece = _SPACED_THOUSANDS.sub(lambda m: m[1] + re.sub(r"\s", "", m[2]), piece.translate(_DASHES))
    said: set[int | None] = set()
    for found in _CHUNK.finditer(re.sub(r"\.{2,}", " ", piece)):
        chunk = found[0].lstrip("'’_/").rstrip(".,'’_/-—")
        # A digit inside a name (user2, gpt-4) is no number; anything else that is not clean is unclear.
        if any(map(str.isdigit, chunk)) and not chunk[0].isalpha():
            said.add(_integer(chunk))
    if re.search(r"\b(?:negative|minus)\b", piece, re.IGNORECASE) and any(n is not None and n > 0 for n in said):
        return {None}
    return said


def _integer(chunk: str) -> int | None:
    number = _NUMBER.fullmatch(chunk)
    if number is None or not re.search(r"\d", (number["whole"] or "") + (number["part"] or "")):
        return None
    whole = re.sub(r"\D", "", number["whole"] or "0")
    exponent = 3 if number["kilo"] else int(number["exponent"] or 0)
    value = Decimal(f"{number['sign']}{whole}{number['part'] or ''}e{exponent}")
    if value and value.adjusted() > _LARGEST_EXPONENT:
        return None
    return int(value.to_integral_value(rounding=ROUND_HALF_EVEN))


# ---------------------------------------------------------------- a text

_PREFIX = re.compile(r"[*_#\s]*(?:reply|response)[*_\s]*:[*_]*\s*", re.IGNORECASE)
_QUOTES = {'"': '"', "“": "”", "«": "»", "'": "'", "‘": "’", "`": "`"}


def clean_text_answer(text: str) -> str | None:
    """The text that was asked for, without reasoning, code fence, ``Reply:`` or quotes around all of it.

    Quotes go only when they enclose the whole and stand nowhere inside. Empty is None.
    """
    answer = strip_reasoning(text)
    if answer is None:
        return None
    before = None
    while before != answer:
        before, answer = answer, _unwrapped(answer.strip())
    return answer or None


def _unwrapped(text: str) -> str:
    if text.startswith("```"):
        return _unfenced(text)
    prefix = _PREFIX.match(text)
    if prefix:
        return text[prefix.end() :]
    close = _QUOTES.get(text[:1])
    if len(text) > 1 and close and text.endswith(close):
        inner = text[1:-1]
        if close not in inner and text[0] not in inner:
            return inner
    return text
