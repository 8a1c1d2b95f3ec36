"""Token counts: exact ones by tiktoken where the model's encoding is known, marked estimates elsewhere."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from math import ceil
from typing import TYPE_CHECKING

from runner.models import Model
from runner.request import Body

if TYPE_CHECKING:
    from tiktoken import Encoding

TOKENS_PER_MESSAGE = 3
TOKENS_PER_REPLY = 3
MARGIN_PER_MESSAGE = 4
MARGIN_PER_BODY = 8

LOAD_SECONDS = 20.0
"""How long a vocabulary may take to load or download; tiktoken itself would wait for ever."""

_THREADS = 2  # tiktoken frees the GIL while it encodes, but not while it builds its lists: more do not help
_SLICE = 256

# No piece of tiktoken's patterns spans a newline and a letter after it: the counts of blocks add up to the
# count of the whole. Prompts of one instance share whole blocks, which are then counted once.
_BLOCK_END = re.compile(r"\n\n(?=[A-Za-z])")
_BLOCKS_KEPT = 16_384


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts tokens of one model. ``name`` says how; where ``exact`` is False every count is an estimate.

    Without an encoding a token is taken for ``bytes_per_token`` bytes of UTF-8.
    """

    name: str
    exact: bool
    encoding: Encoding | None = None
    bytes_per_token: float = 4.0

    def count(self, text: str) -> int:
        """Tokens of ``text`` alone. Special tokens in it count as the plain text that they are."""
        if self.encoding is None:
            return ceil(_bytes(text) / self.bytes_per_token)
        *blocks, last = _BLOCK_END.split(text)
        whole = sum(_block_tokens(self.encoding, block + "\n\n") for block in blocks)
        return whole + _block_tokens(self.encoding, last)

    def count_body(self, body: Body) -> int:
        """Input tokens of a chat request.

        Per message 3, its role and its content, and 3 to begin the reply: OpenAI's cookbook, "How to count
        tokens with tiktoken", section 6. It was published for gpt-4o and older; newer models are unconfirmed.
        """
        return TOKENS_PER_REPLY + sum(
            TOKENS_PER_MESSAGE + self.count(message.role) + self.count(message.content) for message in body.messages
        )

    def count_bodies(self, bodies: Iterable[Body]) -> list[int]:
        """``count_body`` of each, in order, in two threads."""
        listed = list(bodies)
        if self.encoding is None or len(listed) <= _SLICE:
            return [self.count_body(body) for body in listed]
        slices = [listed[start : start + _SLICE] for start in range(0, len(listed), _SLICE)]
        with ThreadPoolExecutor(_THREADS) as pool:
            return [count for counts in pool.map(self._count_slice, slices) for count in counts]

    def bound_body(self, body: Body) -> int:
        """What the input tokens cannot exceed: the exact count, or else the UTF-8 bytes, and a margin.

        Bytes bound any tokenizer that falls back to bytes, as all of today's do; the margin is for a chat overhead
        other than the published one.
        """
        margin = MARGIN_PER_BODY + MARGIN_PER_MESSAGE * len(body.messages)
        if self.exact:
            return self.count_body(body) + margin
        text_bytes = sum(_bytes(message.role) + _bytes(message.content) for message in body.messages)
        return text_bytes + TOKENS_PER_REPLY + TOKENS_PER_MESSAGE * len(body.messages) + margin

    def _count_slice(self, bodies: Sequence[Body]) -> list[int]:
        return [self.count_body(body) for body in bodies]


def counter(model: Model) -> Counter:
    """The best counter there is for ``model``: never an error, never a long wait, never a silent estimate.

    Where the encoding is assumed or its vocabulary cannot be had, ``exact`` is False and ``name`` says why.
    """
    by_bytes = f"estimate: UTF-8 bytes / {model.bytes_per_token:g}"
    if model.encoding is None:
        return Counter(f"{by_bytes}, no tokenizer is known for {model.id}", False, None, model.bytes_per_token)
    encoding = _encoding(model.encoding)
    if encoding is None:
        return Counter(f"{by_bytes}, no vocabulary", False, None, model.bytes_per_token)
    name = f"{model.encoding} (tiktoken {metadata.version('tiktoken')})"
    if model.encoding_assumed:
        return Counter(f"estimate: {name}, assumed for {model.id}", exact=False, encoding=encoding)
    return Counter(name, exact=True, encoding=encoding)


@cache
def _encoding(name: str) -> Encoding | None:
    """From TIKTOKEN_CACHE_DIR or the network; tried once per process, also when that fails.

    tiktoken downloads without a timeout, so it works in a thread that is left behind when it takes too long.
    """
    loaded: list[Encoding] = []

    def load() -> None:
        import tiktoken

        try:
            loaded.append(tiktoken.get_encoding(name))
        except (OSError, ValueError):  # no network, no folder, a spoilt file; requests' errors are OSErrors
            return

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    thread.join(LOAD_SECONDS)
    return loaded[0] if loaded else None


@lru_cache(maxsize=_BLOCKS_KEPT)
def _block_tokens(encoding: Encoding, block: str) -> int:
    return len(encoding.encode_ordinary(block))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
