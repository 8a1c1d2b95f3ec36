"""Requests to batches: consecutive blocks of sample order, within a file's limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from math import inf
from typing import Protocol

SAFE_SHARE = 0.9
"""What a batch may fill of the token queue: the provider's own count differs from ours by chat overhead."""

FIRST_BATCH = 50
"""Requests in the first batch of a new model x task: a wrong output limit shows before the rest is bought."""


class FileLimits(Protocol):
    """What one batch file may hold; the providers' ``Limits`` fit. A line without a limit has None."""

    @property
    def max_requests(self) -> int:
        """Lines of a file."""
        ...

    @property
    def max_bytes(self) -> int:
        """Bytes of a file, newlines included."""
        ...

    @property
    def max_line_bytes(self) -> int | None:
        """Bytes of one line with its newline."""
        ...


@dataclass(frozen=True, slots=True)
class Items:
    """Requests as columns of equal length, in sample order.

    ``encoded_bytes`` is the line without its newline, ``tokens`` its input tokens, ``instance`` whose request
    it is.
    """

    encoded_bytes: Sequence[int]
    tokens: Sequence[int]
    instance: Sequence[str]

    def __len__(self) -> int:
        return len(self.encoded_bytes)


@dataclass(frozen=True, slots=True)
class Packed:
    """``batches`` hold indices of the items, in sample order; ``too_large`` fit no batch, and why."""

    batches: tuple[tuple[int, ...], ...]
    too_large: tuple[tuple[int, str], ...]


def pack(items: Items, limits: FileLimits, *, queue_tokens: int | None, first_batch_max: int | None = None) -> Packed:
    """Put every request into exactly one batch, or into ``too_large``.

    A batch is a consecutive block of sample order, so that any number of finished batches is a valid sample.
    It stays within the file's requests and bytes and within SAFE_SHARE of ``queue_tokens`` (what the model's
    queue may hold; None for no limit), unless it is a single request. An instance's requests stay together
    unless no batch could hold them all. No packing under these rules has fewer batches: blocks are filled
    greedily. ``first_batch_max`` limits the requests of the first batch only.
    """
    reasons = [
        _too_large(size + 1, tokens, limits, queue_tokens)
        for size, tokens in zip(items.encoded_bytes, items.tokens, strict=True)
    ]
    sent = [index for index, reason in enumerate(reasons) if reason is None]
    bytes_before = list(accumulate((items.encoded_bytes[index] + 1 for index in sent), initial=0))
    tokens_before = list(accumulate((items.tokens[index] for index in sent), initial=0))
    most_tokens = inf if queue_tokens is None else queue_tokens * SAFE_SHARE

    def fits(start: int, stop: int, most_requests: int) -> bool:
        return (
            stop - start <= most_requests
            and bytes_before[stop] - bytes_before[start] <= limits.max_bytes
            and tokens_before[stop] - tokens_before[start] <= most_tokens
        )

    most = limits.max_requests
    first = most if first_batch_max is None else min(first_batch_max, most)
    starts = [0]  # of the batches, as positions in ``sent``; the last one is being filled
    for begin, end in _runs([items.instance[index] for index in sent]):
        room = first if len(starts) == 1 else most
        if fits(starts[-1], end, room):
            continue
        if begin > starts[-1] and fits(begin, end, most):
            starts.append(begin)
            continue
        for position in range(begin, end):  # too large for any batch, or for the small first one: cut where it must be
            room = first if len(starts) == 1 else most
            if position > starts[-1] and not fits(starts[-1], position + 1, room):
                starts.append(position)

    blocks = (sent[start:stop] for start, stop in pairwise([*starts, len(sent)]))
    return Packed(
        batches=tuple(tuple(block) for block in blocks if block),
        too_large=tuple((index, reason) for index, reason in enumerate(reasons) if reason is not None),
    )


def _runs(keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where each run of equal keys begins and ends."""
    begin = 0
    for _, run in groupby(keys):
        end = begin + sum(1 for _ in run)
        yield begin, end
        begin = end


def _too_large(file_bytes: int, tokens: int, limits: FileLimits, queue_tokens: int | None) -> str | None:
    """Why a request fits no batch, not even alone."""
    line_bytes = limits.max_bytes if limits.max_line_bytes is None else limits.max_line_bytes
    most_bytes = min(line_bytes, limits.max_bytes)
    if file_bytes > most_bytes:
        return f"its line has {file_bytes:,} bytes and the provider takes at most {most_bytes:,}"
    if queue_tokens is not None and tokens > queue_tokens:
        return f"it has {tokens:,} input tokens and the model's batch queue takes {queue_tokens:,}"
    return None
