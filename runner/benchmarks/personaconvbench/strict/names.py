"""What the model sees of a text: no names, no links, nothing that could pass for our own tags.

One function of the content alone, applied to every text (title, body, comment, target, reference) before it is cut.
``OP`` wrote the post, ``user2``, ``user3``, … are the others by first appearance in time within the post; somebody
who is named but did not write in the post is ``another user``. A deleted author is ``[deleted]``.

Which bare words are names: in a post the names of those who wrote in it (exactly as written when the name could be an
ordinary word, such as ``Science``; in any case otherwise), and everywhere the name of any author of the corpus that
no ordinary word looks like: a digit or an underscore in it, three letters, five characters. ``u/name``, ``@name`` and
``r/u_name`` are names whoever they are. A real name that looks like a label (``OP``, ``user7``) stays as a bare word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

OP = "OP"
STRANGER = "another user"
DELETED = "[deleted]"
LINK = "<link>"

_TAGS = "instruction|post|thread|history|item|title|parent|reply|score|target|message|question"
_OUR_TAG = re.compile(rf"<(?=\s*/?\s*(?:{_TAGS})\b)", re.IGNORECASE)
_TLD = "com|org|net|edu|gov|io|it|be|me|co|uk|de|tv|gg|ly|ru|fr|ca|au|eu|nl|se|info|dev|app|ai|to|cc|us|jp|in"
_URL = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|\bwww\d?\.)[^\s<>()\[\]…][^\s<>()\[\]]*"
    rf"|(?<![\w@.-])(?:[a-z0-9-]+\.)+(?:{_TLD})/[^\s<>()\[\]]*"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w/])/?r/\w+/(?:comments|wiki|s)\b[^\s<>()\[\]]*",
    re.IGNORECASE,
)
_DOMAIN_PATH = re.compile(r"\.[a-z]{2,4}/")
_MENTION = re.compile(
    r"(?<![\w/])/?(?:u|user)/(?P<user>[\w-]{2,})(?:/(?:comments|submitted)\b[^\s<>()\[\]]*)?"
    r"|(?<!\w)@(?P<at>(?=[\w-]*[a-z])[\w-]{3,})"
    r"|(?<!\w)(?:/?r/)?u_(?P<page>[\w-]{3,})",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"(?<!\w)[a-zA-Z0-9_-]{3,}(?!\w)")
_LABEL = re.compile(r"op|user\d+", re.IGNORECASE)
_ROUNDS = 5
_WORDLIKE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


def _no_word(name: str) -> bool:
    """Whether a name (lower case) can be told from ordinary words wherever it stands."""
    return (
        len(name) >= 5
        and sum(letter.isalpha() for letter in name) >= 3
        and any(letter.isdigit() or letter == "_" for letter in name)
        and _TOKEN.fullmatch(name) is not None
        and _LABEL.fullmatch(name) is None
    )


def telling_names(authors: Iterable[str]) -> frozenset[str]:
    """The authors' names, lower case, that no ordinary word looks like: they are replaced in every text."""
    return frozenset(name for name in (author.lower() for author in authors) if _no_word(name))


def escape_tags(text: str) -> str:
    """The text with ``<`` of what looks like one of our tags made ``‹``."""
    return _OUR_TAG.sub("‹", text) if "<" in text else text


def holds_link(text: str) -> str | None:
    """The first link in a text, or None."""
    if not _may_hold_link(text):
        return None
    found = _URL.search(text)
    return found[0] if found else None


def _may_hold_link(text: str) -> bool:
    """A quick look, so that the slow one is taken at few texts."""
    lower = text.lower()
    return any(sign in lower for sign in ("://", "www", "@", "r/")) or _DOMAIN_PATH.search(lower) is not None


class Names:
    """The names of one post: ``labels`` maps each participant's name to ``OP``, ``user2``, …"""

    def __init__(self, labels: Mapping[str, str], telling: frozenset[str]) -> None:
        names = [name for name in labels if len(name) >= 3 and not _LABEL.fullmatch(name)]
        self._telling = telling
        self._mentioned = {name.lower(): label for name, label in reversed(list(labels.items()))}
        self._bare = {name: labels[name] for name in names if _TOKEN.fullmatch(name)}
        self._any_case = {n.lower(): label for n, label in self._bare.items() if not _WORDLIKE.fullmatch(n)}
        self._words = {name.lower() for name in self._bare}
        odd = sorted((name for name in names if name not in self._bare), key=len, reverse=True)
        self._odd_labels = {name: labels[name] for name in odd}
        pattern = "|".join(re.escape(name) for name in odd)
        self._odd = re.compile(rf"(?<!\w)(?:{pattern})(?!\w)") if odd else None

    def mask(self, text: str) -> str:
        """The text as every prompt shows it, uncut."""
        masked = self._masked(text)
        for _ in range(_ROUNDS):  # a replacement may bring about a link or a name: "u/ann://x" is "OP://x"
            if masked == text:
                break
            text, masked = masked, self._masked(masked)
        return masked

    def _masked(self, text: str) -> str:
        if "<" in text:
            text = _OUR_TAG.sub("‹", text)
        if _may_hold_link(text):
            text = _URL.sub(LINK, text)
        if "/" in text or "@" in text or "u_" in text or "U_" in text:
            text = _MENTION.sub(self._mention, text)
        if self._odd is not None:
            text = self._odd.sub(lambda found: self._odd_labels[found[0]], text)
        if self.bare_names(text):
            text = _TOKEN.sub(self._token, text)
        return text

    def bare_names(self, text: str) -> set[str]:
        """The words (lower case) of a text that may be somebody's name."""
        words = set(_TOKEN.findall(text.lower()))
        words |= {word.strip("_-") for word in words if word[0] in "_-" or word[-1] in "_-"}
        return (words & self._words) | (words & self._telling)

    def _mention(self, found: re.Match[str]) -> str:
        name = found["user"] or found["at"] or found["page"]
        label = self._mentioned.get(name.lower()) or self._mentioned.get(name.lower().rstrip("_-"))
        return label or STRANGER

    def _token(self, found: re.Match[str]) -> str:
        word = found[0]
        for form in (word, word.strip("_-")):
            label = self._bare.get(form) or self._any_case.get(form.lower())
            if label is None and form.lower() in self._telling:
                label = STRANGER
            if label is not None:
                return word.replace(form, label)
        return word
