"""What the model sees of a text: no names, no links, nothing that could pass for our own tags.

One function of the content alone, applied to every text (title, body, comment, target, reference) before it is cut.
``OP`` wrote the post, ``user2``, ``user3``, … are the others by first appearance in time within the post; somebody
who is named but did not write in the post is ``another user``. A deleted author is ``[deleted]``.

Which bare words are names: in a post the names of those who wrote in it (exactly as written when the name could be an
ordinary word, such as ``Science``; in any case otherwise), and everywhere the name of any author of the corpus that
no ordinary word looks like: a digit or an underscore in it, three letters, five characters; or, as written only, a
capital inside (``GallowBoob``) or a hyphen. Names end at anything but ASCII letters and digits. ``u/name``, ``@name``
and ``r/u_name`` are names whoever they are. A real name that looks like a label (``OP``, ``user7``) stays as a bare
word. Somebody who had not written by the time of a text is ``another user`` in it: his number is future information.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping

OP = "OP"
STRANGER = "another user"
DELETED = "[deleted]"
LINK = "<link>"

_TAGS = "instruction|post|thread|history|item|title|parent|reply|score|target|message|question"
_OUR_TAG = re.compile(rf"<(?=\s*/?\s*(?:{_TAGS})\b)", re.IGNORECASE)
_FILE = "js|ts|py|md|txt|json|html?|css|exe|png|jpe?g|gif|pdf|zip|java|cpp|sh|php|xml|csv|mp[34]"
_AFTER = r"(?:/|\?\w|:\d{2,5}\b)"  # what makes of "example.org" an address rather than a missing space
_URL = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|\bwww\d?\.)[^\s<>()\[\]…][^\s<>()\[\]]*"
    rf"|(?<![\w@.-])(?:[\w-]+\.)+(?!(?:{_FILE})\W)(?:[^\W\d_]{{2,}}|xn--[\w-]+)(?={_AFTER})[^\s<>()\[\]]*"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w/])/?r/\w+/(?:comments|wiki|s)\b[^\s<>()\[\]]*",
    re.IGNORECASE,
)
_DOMAIN_PATH = re.compile(rf"\.(?:[^\W\d_]{{2,}}|xn--[\w-]+){_AFTER}")
_FOLDS = re.compile("[ſ\u212aﬀ-ﬆ]")  # signs that fold to plain letters
_ESCAPED = re.compile(r"\\(?=[_-]\w)|(?<=\w)\\(?=[_-])")  # markdown: ann\_op\_1
_MENTION = re.compile(
    r"(?<![\w/])/?(?:u|user)/(?P<user>[\w-]{2,})(?:/(?:comments|submitted)\b[^\s<>()\[\]]*)?"
    r"|(?<!\w)@(?P<at>(?=[\w-]*[a-z])[\w-]{3,})"
    r"|(?<!\w)(?:/?r/)?u_(?P<page>[\w-]{3,})",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[a-zA-Z0-9_-]{3,}")
_LABEL = re.compile(r"op|user\d+", re.IGNORECASE)
_ROUNDS = 5
_WORDLIKE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


_INNER_CAPITAL = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+")
_BRANDS = frozenset(
    "YouTube GitHub JavaScript TypeScript PlayStation LinkedIn PayPal WordPress OnlyFans TikTok MacBook SpaceX"
    " AskReddit DoorDash FaceBook PowerPoint StackOverflow OpenAI ChatGPT WhatsApp SnapChat AirBnB".split()
)
_LONGEST = 64


def _no_word(name: str) -> bool:
    """Whether a name (lower case) can be told from ordinary words wherever it stands."""
    return (
        len(name) >= 5
        and sum(letter.isalpha() for letter in name) >= 3
        and any(letter.isdigit() or letter == "_" for letter in name)
        and _TOKEN.fullmatch(name) is not None
        and _LABEL.fullmatch(name) is None
        and len(name) <= _LONGEST
    )


def _telling_as_written(name: str) -> bool:
    """Whether a name without digit or underscore is told from words by a capital inside or a hyphen."""
    if not 6 <= len(name) <= _LONGEST or name in _BRANDS or _TOKEN.fullmatch(name) is None:
        return False
    return _INNER_CAPITAL.fullmatch(name) is not None or "-" in name.strip("-")


def telling_names(authors: Iterable[str]) -> frozenset[str]:
    """The authors' names that no ordinary word looks like: they are replaced in every text.

    Lower case when they are names in any case, as written when only so.
    """
    names = set()
    for author in authors:
        if _no_word(author.lower()):
            names.add(author.lower())
        elif _telling_as_written(author):
            names.add(author)
    return frozenset(names)


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
    """The names of one post: ``labels`` maps each participant's name to ``OP``, ``user2``, …

    ``since``: the time rank in the post from which a label is known; absent means always.
    """

    def __init__(
        self, labels: Mapping[str, str], telling: frozenset[str], since: Mapping[str, int] | None = None
    ) -> None:
        self._since = since or {}
        self._now: int | None = None
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

    def mask(self, text: str, now: int | None = None) -> str:
        """The text as every prompt shows it, uncut; ``now`` is the time rank of the text, None the end of time."""
        self._now = now
        masked = self._masked(text)
        for _ in range(_ROUNDS):  # a replacement may bring about a link or a name: "u/ann://x" is "OP://x"
            if masked == text:
                break
            text, masked = masked, self._masked(masked)
        return masked

    def _masked(self, text: str) -> str:
        if "\\" in text:
            text = _ESCAPED.sub("", text)
        if not text.isascii() and _FOLDS.search(text):
            text = _FOLDS.sub(lambda found: found[0].casefold(), text)
        if "<" in text:
            text = _OUR_TAG.sub("‹", text)
        if _may_hold_link(text):
            text = _URL.sub(LINK, text)
        if "/" in text or "@" in text or "u_" in text or "U_" in text:
            text = _MENTION.sub(self._mention, text)
        if self._odd is not None:
            text = self._odd.sub(lambda found: self._shown(self._odd_labels[found[0]]), text)
        if self.bare_names(text):
            text = _TOKEN.sub(self._token, text)
        return text

    def bare_names(self, text: str) -> set[str]:
        """The words of a text that may be somebody's name: as written, and lower case."""
        words = set(_TOKEN.findall(text))
        if "-" in text or "_" in text:
            words.update([part for word in words if "-" in word or "_" in word for part in _parts(word)])
        words.update([word.lower() for word in words])
        return (words & self._words) | (words & self._telling)

    def _mention(self, found: re.Match[str]) -> str:
        name = found["user"] or found["at"] or found["page"]
        label = self._mentioned.get(name.lower()) or self._mentioned.get(name.lower().rstrip("_-"))
        return self._shown(label) if label else STRANGER

    def _shown(self, label: str) -> str:
        return label if self._now is None or self._since.get(label, 0) <= self._now else STRANGER

    def _token(self, found: re.Match[str]) -> str:
        word = found[0]
        for form in (word, *_parts(word)):
            label = self._bare.get(form) or self._any_case.get(form.lower())
            if label is not None:
                label = self._shown(label)
            elif form.lower() in self._telling or form in self._telling:
                label = STRANGER
            if label is not None:
                return _replaced(word, form, label)
        return word


def _parts(word: str) -> list[str]:
    """Every stretch of a word between hyphens or underscores, longest first: ``pro-bob77x`` holds ``bob77x``."""
    signs = [at for at, sign in enumerate(word) if sign in "_-"]
    if not signs or len(signs) == len(word):
        return []
    starts = [0, *signs, *(at + 1 for at in signs)]
    ends = sorted({len(word), *signs, *(at + 1 for at in signs)})
    # Only ends within a name's length of each start: a text of nothing but hyphens must not cost its square.
    found = {
        word[low:high]
        for low in starts
        for high in ends[bisect_left(ends, low + 3) : bisect_right(ends, low + _LONGEST)]
    }
    return sorted(found - {word}, key=lambda part: (-len(part), part))


def _replaced(word: str, form: str, label: str) -> str:
    return re.sub(rf"(?<![a-zA-Z0-9]){re.escape(form)}(?![a-zA-Z0-9])", label, word)
