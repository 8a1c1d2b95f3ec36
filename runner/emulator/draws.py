"""Seeded draws of what a client cannot know: the same seed and key always give the same value."""

from __future__ import annotations

import random
from hashlib import blake2b


def integer(seed: int, *key: object) -> int:
    """A uniform 64-bit integer that is a function of the seed and the key."""
    text = "\x1f".join(map(str, (seed, *key)))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def unit(seed: int, *key: object) -> float:
    """A uniform number in [0, 1)."""
    return (integer(seed, *key) >> 11) / (1 << 53)


def between(low: int, high: int, seed: int, *key: object) -> int:
    """A uniform integer in ``low..high``, both ends included."""
    return low + integer(seed, *key) % (high - low + 1)


def stream(seed: int, *key: object) -> random.Random:
    """A generator of its own, for shuffles and samples."""
    return random.Random(integer(seed, *key))
