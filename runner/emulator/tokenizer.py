"""Token counts as the service makes them: o200k_base where its vocabulary is at hand, else bytes / 4."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

VOCABULARY = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
BYTES_PER_TOKEN = 4

# No token spans a line end and a "<" or a letter after it: the counts of such blocks add up. Prompts share blocks.
BLOCK = re.compile(r"(?s).+?(?:\n\n(?=[A-Za-z])|\n(?=<[a-z]+>\n)|\Z)")
MOST_KNOWN = 500_000
_known: dict[int, int] = {}
"""Tokens by the hash of a text or block: an int each, so that the texts need not be kept."""


@lru_cache(maxsize=1)
def _encoding() -> Encoding | None:
    """The vocabulary from tiktoken's own cache folder. A local service downloads nothing."""
    default = Path(tempfile.gettempdir()) / "data-gym-cache"
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", str(default)))
    if not folder or not (Path(folder) / hashlib.sha1(VOCABULARY.encode()).hexdigest()).is_file():
        return None
    import tiktoken

    try:
        return tiktoken.get_encoding("o200k_base")
    except (OSError, ValueError):
        return None


def name() -> str:
    """``o200k_base`` or ``approximate``."""
    return "approximate" if _encoding() is None else "o200k_base"


def count(text: str) -> int:
    """Tokens of a text."""
    encoding = _encoding()
    if encoding is None:
        return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)
    found = _known.get(hash(text))
    if found is None:
        found = _remember(text, sum(_of_block(encoding, block) for block in BLOCK.findall(text)))
    return found


def _of_block(encoding: Encoding, block: str) -> int:
    found = _known.get(hash(block))
    return _remember(block, len(encoding.encode_ordinary(block))) if found is None else found


def _remember(text: str, tokens: int) -> int:
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    _known[hash(text)] = tokens
    return tokens


def cut(text: str, limit: int) -> tuple[str, int, bool]:
    """The text's first ``limit`` tokens, how many they are, and whether something was cut off."""
    encoding = _encoding()
    if encoding is None:
        data = text.encode("utf-8", "replace")
        tokens = -(-len(data) // BYTES_PER_TOKEN)
        if tokens <= limit:
            return text, tokens, False
        return data[: limit * BYTES_PER_TOKEN].decode("utf-8", "ignore"), limit, True
    ids = encoding.encode_ordinary(text)
    if len(ids) <= limit:
        return text, len(ids), False
    return encoding.decode(ids[:limit]).rstrip("�"), limit, True
