"""What a time, a score, a text and a name of the corpus mean; pure functions, used by every reader of it."""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import UTC, datetime, timedelta
from decimal import Decimal

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?", re.ASCII)
_MILLISECONDS_FROM = 1e11  # as seconds this is the year 5138; nothing was posted then
_INT64 = 2**63

_DELETED = re.compile(r"[\\*_\s]*\[\s*(?:deleted|removed)\b[^\]]{0,100}\][\\*_\s.]*", re.IGNORECASE)

# A line that begins with a marker: the word itself, perhaps ordered ("second edit"), numbered or dated
# ("EDIT 2", "Update (3/14)"), and then a shape that prose does not have: a colon, a dash, a bracket,
# emphasis, or the end of the line. Prose stays: "Editing is hard", "Edit the file", "updated my drivers".
_OPEN = r"^[ \t]*+(?:[-•–—=#][-–—=# \t]*+)?[*_~\[({\"“<^\\]*+[ \t]*+"
_ORDER = (
    r"(?:(?:quick|small|minor|mini|tiny|little|short|brief|big|major|ninja|stealth|late|last|latest|final|obligatory"
    r"|important|another|further|next|extra|new|one|more|yet|an?|also|\d+(?:st|nd|rd|th)"
    r"|first|second|third|fourth|fifth)[ \t]+){0,3}"
)
_WORD = r"(?:edit(?:ed|s)?|updated?|eta)"
_WORDS = rf"{_WORD}(?:(?:[ \t]{{0,20}}[/&+,][ \t]{{0,20}}|[ \t]{{1,20}}(?:and[ \t]{{1,20}})?){_WORD}\b){{0,3}}"
_NUMBERED = (
    r"(?:[ \t]{0,20}(?:#|no\.?|number|part)?[ \t]{0,20}\d[\d/.\-]*(?:st|nd|rd|th)?|[ \t]{0,20}\([^)\n]{1,30}\))?"
)
_SHAPE = (
    r"[ \t]{0,20}[*_~\])}\"”>^\\]*[ \t]{0,20}"
    r"(?:[:;=]|—|--|[-–]+(?=\s|$)|\.+(?=\s|$)|[\])}](?=\s|$)|!*[*_]*[ \t]*$)"
)
_BARE = r"(?:\*{1,3}|_{1,3})edit(?:ed)?\d?(?:\*{1,3}|_{1,3})"  # **EDIT** and then anything
_BRACKETED = r"[\[({](?:edit(?:ed)?|update)[ \t]?\d?[\])}]"  # [edit] and then anything
_EXPLAINED = (
    r"(?:edit(?:ed)?\d*[ \t]+(?:to[ \t]+add|typos?\b|thanks\b|thank[ \t]+you|wow\b|fixed\b|added\b"
    r"|(?:(?:for|because)[ \t]+(?:of[ \t]+)?)?(?:clarity|spelling|grammar|formatting|typos?|context)\b)"
    r"|updated?[ \t]+to[ \t]+(?:add|answer|clarify)\b)"
)
# Words with which a remark begins, and prose does not go on after "edit" and a comma, a hyphen or a number.
_REMARK = (
    r"(?:i|i['’]\w+|thanks?|thx|ty|wow|typos?|forgot|sorry|oops|nvm|nevermind|wrong|holy|apparently|also|yes|yep|no|nope"
    r"|okay|ok|since|because|my|this|these|why|guys|added|fixed|spelling|grammar|formatting|clarity|well|so|people)\b"
)
_NOUN = (  # "EDIT button", "Edit-war", "UPDATE statements": the word is part of a name
    r"(?:modes?|wars?|warring|buttons?|distances?|histor\w+|statements?|quer\w+|clauses?|commands?|tables?|syntax|screens?"
    r"|conflicts?|menus?|keys?|tools?|heavy|friendly|based|only|free|protected|proof|in-place|a-?thons?|your?|and|or|is|are"
    r"|was|were|cycles?|requests?|summar\w+|pages?|links?|able|compile\w*)\b"
)
_DIRECT = (
    rf"(?-i:Edit(?:ed)?|EDIT(?:ED)?|Updated?|UPDATED?)(?:\d*[ \t]*–|\d*[ \t]+-+|\d*!+)(?=[ \t]*\S)"
    rf"|(?-i:Edit|EDIT)-(?!{_NOUN})(?=\w)"
    rf"|{_WORD}(?:-|,[ \t]*|[ \t]+-){_REMARK}"
    rf"|(?-i:Edit|EDIT|Update|UPDATE),[ \t]*(?!\w+[ \t]*,|\w+[ \t]+(?:and|or|&|then)\b)(?=\S)"
    rf"|{_WORD}[ \t]*#[ \t]?\d+[ \t]+(?=\S)"
    rf"|{_WORD}[ \t]*\d+[ \t]+{_REMARK}"
)
_SHOUTED = (
    rf"(?-i:EDIT(?:ED)?|UPDATE)\d*\b(?:[ \t]+{_REMARK}"
    rf"|(?![ \t]+(?:(?-i:[A-Z]{{2,}})|{_NOUN})|(?-i:[^\n]*\bSET\b))(?=[ \t]+\S))"
    r"|(?-i:ETA)[ \t]+(?:(?-i:I)\b|i['’]\w+|forgot|thanks?|thank|sorry|also|wow|oops|added|typo|link|source)\b"
)
_MARKER = re.compile(
    rf"{_OPEN}{_ORDER}{_WORDS}{_NUMBERED}{_SHAPE}"
    rf"|{_OPEN}(?:{_EXPLAINED}|{_DIRECT})"
    rf"|^[ \t]*+\d+[.)][ \t]*[*_]*{_ORDER}{_WORDS}{_NUMBERED}[*_]*[ \t]*:"  # a list item: "1. Edit: x"
    rf"|^[ \t]*+(?:{_BARE}|{_BRACKETED})"
    rf"|^[ \t]*+[*_~]*(?:{_SHOUTED})",
    re.IGNORECASE | re.MULTILINE,
)
_ETA = re.compile(r"\beta\b")
_SEEN_AS = {  # for matching only, one character for one
    **dict.fromkeys((code for code in range(0x80, 0x3001) if chr(code).isspace()), " "),
    **dict.fromkeys((0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x180E, 0x3164, 0xFEFF, *range(0x200B, 0x2010)), " "),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10)), " "),
    ord("："): ":",
    ord("﹕"): ":",
    ord("꞉"): ":",
    ord("；"): ";",
    ord("！"): "!",
    ord("，"): ",",
    ord("‐"): "-",
    ord("‑"): "-",
    ord("‒"): "–",
    ord("―"): "—",
    ord("−"): "–",
}
_ENTITY = re.compile(
    r"&(?:amp;)?(?:nbsp|ensp|emsp|thinsp|zwnj|zwj|shy|#0*(?:160|173|820[3-7])|#x0*(?:a0|ad|200[b-f]|feff));",
    re.IGNORECASE,
)

_REDDIT = re.compile(
    r"(?:(?:https?:)?//(?:[a-z0-9-]+\.)*reddit\.com)?/(?:r/(?P<name>\w+)|u(?:ser)?/(?P<user>[\w-]+)/comments/)",
    re.IGNORECASE | re.ASCII,
)

_APOSTROPHES = "'’ʼ`´"
_STRIPPED: dict[int, str | None] = {
    code: " "
    for code in range(0x20000)  # no punctuation stands above the second plane
    if unicodedata.category(chr(code)).startswith("P") or (code < 128 and chr(code) in "$+<=>^|~")
}
_STRIPPED.update({ord(mark): None for mark in _APOSTROPHES})
_STRIPPED.update(dict.fromkeys((0xAD, 0x200B, 0x200C, 0x2060, 0xFEFF)))  # invisible


def parse_time(value: object) -> datetime | None:
    """The instant in UTC, or None when there is none: naive is UTC.

    Reads ISO 8601 with ``T`` or a space, fractions, ``Z`` or an offset, and seconds (or milliseconds) since
    1970 as a number or a numeric string.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    try:
        if isinstance(value, str):
            value = value.strip()
            if not _NUMBER.fullmatch(value):
                return _iso(value)
        value = float(value)
        if not math.isfinite(value):
            return None
        seconds = value / 1000 if abs(value) >= _MILLISECONDS_FROM else value
        return _EPOCH + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return None


def _iso(text: str) -> datetime | None:
    if len(text) < 10 or text[4:5] != "-" or text[7:8] != "-":
        return None  # fromisoformat also takes week dates and the like, which nobody wrote here on purpose
    if text[-1] in "zZ":
        text = text[:-1].rstrip() + "+00:00"
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def parse_score(value: object) -> int | None:
    """The score as an integer, or None: booleans, NaN, infinities and other things are no scores.

    Numeric strings count (published files hold some); fractions are cut off towards zero, so that 3.6 is not 4.
    """
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            return None
        value = Decimal(text)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        score = int(value) if -_INT64 <= value < _INT64 else None  # NaN is in no range
    except ArithmeticError:
        return None  # a Decimal NaN cannot even be compared
    return score if score is None or score < _INT64 else None


def clean_text(text: str | None) -> tuple[str, bool]:
    r"""``(text, was_cut)``: line ends ``\n``, cut at the first line beginning with an edit marker, trimmed.

    What follows ``Edit:``, ``UPDATE 2 -`` or ``**ETA**:`` was written later and may say how the text was
    received. Quoted lines (``> Edit: …``) are somebody else's and cut nothing.
    """
    if not text:
        return "", False
    text = "\n".join(text.splitlines())  # also \r, U+2028 and the other separators
    lower = text.lower()
    if "edit" in lower or "update" in lower or ("eta" in lower and _ETA.search(lower)):  # the rest is slow
        marker = _MARKER.search(_seen(text))
        if marker:
            return text[: marker.start()].strip(), True
    return text.strip(), False


def _seen(text: str) -> str:
    """The text as it looks, character for character: what cannot be seen is a space."""
    if "&" in text:
        text = _ENTITY.sub(lambda found: " " * len(found[0]), text)
    return text if text.isascii() else text.translate(_SEEN_AS)


def is_deleted(text: str | None) -> bool:
    """Whether the text is only a notice of deletion: ``[deleted]``, ``[ Removed by Reddit ]``, …"""
    return text is not None and _DELETED.fullmatch(text.strip()) is not None


def is_usable(text: str | None) -> bool:
    """Whether there is something to read: not empty and not a notice of deletion."""
    return text is not None and bool(text.strip()) and not is_deleted(text)


def is_bot(author: str) -> bool:
    """AutoModerator and names that end in "bot"."""
    name = author.strip().casefold()
    return name == "automoderator" or name.endswith("bot")


def is_person(author: str | None) -> bool:
    """Whether somebody can be told apart by this name: not null, empty, deleted or a bot."""
    return is_usable(author) and author is not None and not is_bot(author)


def normalise(text: str | None) -> str:
    """The text for comparing: NFKC, case folded, punctuation to spaces, apostrophes gone, spaces collapsed.

    Letters of every script and emoji stay. A text of nothing but punctuation is kept as it is.
    """
    if not text:
        return ""
    folded = text.lower() if text.isascii() else _nfkc(_nfkc(text).casefold())
    return " ".join(folded.translate(_STRIPPED).split()) or " ".join(folded.split())


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def true_subreddit(url: str | None) -> str | None:
    """The subreddit that a reddit address names, lower case, or None: ``old.reddit.com/r/Art/…``: ``art``.

    A user's own page (``/user/name/comments/…``) is the subreddit ``u_name``, as reddit calls it.
    """
    match = _REDDIT.match(url.strip()) if url else None
    if match is None:
        return None
    return (match["name"] or f"u_{match['user']}").lower()
