from dataclasses import dataclass
from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from runner.packing import SAFE_SHARE, Items, Packed, pack
from runner.providers.base import Limits


@dataclass(frozen=True)
class Case:
    items: Items
    limits: Limits
    queue_tokens: int | None
    first_batch_max: int | None

    def packed(self) -> Packed:
        return pack(self.items, self.limits, queue_tokens=self.queue_tokens, first_batch_max=self.first_batch_max)

    def holds(self, indices: list[int], *, is_first: bool = False) -> bool:
        """Whether a file may consist of these requests: the rules again, said over whole lists."""
        most = self.limits.max_requests
        if is_first and self.first_batch_max is not None:
            most = min(most, self.first_batch_max)
        file_bytes = sum(self.items.encoded_bytes[index] + 1 for index in indices)
        tokens = sum(self.items.tokens[index] for index in indices)
        queue_holds = self.queue_tokens is None or tokens <= SAFE_SHARE * self.queue_tokens or len(indices) == 1
        return len(indices) <= most and file_bytes <= self.limits.max_bytes and queue_holds

    def can_be_sent(self, index: int) -> bool:
        line = self.items.encoded_bytes[index] + 1
        longest = self.limits.max_line_bytes
        return (
            line <= self.limits.max_bytes
            and (longest is None or line <= longest)
            and (self.queue_tokens is None or self.items.tokens[index] <= self.queue_tokens)
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    groups = draw(st.lists(st.integers(1, 6), max_size=12))
    instance = [f"i{number}" for number, size in enumerate(groups) for _ in range(size)]
    n = len(instance)

    def column(values: st.SearchStrategy) -> list:
        return draw(st.lists(values, min_size=n, max_size=n))

    items = Items(column(st.integers(1, 40)), column(st.integers(0, 40)), instance)
    limits = Limits(
        max_requests=draw(st.integers(1, 9)),
        max_bytes=draw(st.integers(20, 120)),
        queue_tokens=None,
        window_tokens=1_000,
        max_line_bytes=draw(st.none() | st.integers(10, 60)),
    )
    return Case(items, limits, draw(st.none() | st.integers(20, 120)), draw(st.none() | st.integers(1, 5)))


@given(cases())
def test_every_request_is_packed_once_or_reported_once(case: Case) -> None:
    packed = case.packed()
    sent = [index for batch in packed.batches for index in batch]
    refused = [index for index, _ in packed.too_large]
    assert sorted(sent + refused) == list(range(len(case.items)))
    assert all(case.can_be_sent(index) for index in sent)
    assert not any(case.can_be_sent(index) for index in refused)


@given(cases())
def test_no_batch_exceeds_a_limit(case: Case) -> None:
    for number, batch in enumerate(case.packed().batches):
        assert batch
        assert case.holds(list(batch), is_first=number == 0)


@given(cases())
def test_batches_are_consecutive_blocks_of_sample_order(case: Case) -> None:
    packed = case.packed()
    assert [i for batch in packed.batches for i in sorted(batch)] == sorted(i for b in packed.batches for i in b)


@given(cases())
def test_an_instance_is_split_only_if_no_batch_holds_it(case: Case) -> None:
    batch_of = {index: number for number, batch in enumerate(case.packed().batches) for index in batch}
    for _, run in groupby(sorted(batch_of), key=case.items.instance.__getitem__):
        indices = list(run)
        begins_a_small_first_batch = indices[0] == min(batch_of) and not case.holds(indices, is_first=True)
        if case.holds(indices) and not begins_a_small_first_batch:
            assert len({batch_of[index] for index in indices}) == 1


@given(cases())
def test_no_batch_is_closed_while_the_next_thing_still_fits(case: Case) -> None:
    """Which makes the number of batches the least that consecutive blocks of whole instances allow."""
    batches = [sorted(batch) for batch in case.packed().batches]
    packed_instance = {
        key: list(run)
        for key, run in groupby((i for batch in batches for i in batch), key=case.items.instance.__getitem__)
    }
    for number, (batch, following) in enumerate(pairwise(batches)):
        whole = packed_instance[case.items.instance[following[0]]]
        begins_here = whole[0] == following[0]
        next_thing = whole if begins_here and case.holds(whole) else following[:1]
        assert not case.holds(batch + next_thing, is_first=number == 0)


def test_the_first_batch_of_a_new_model_is_small_and_keeps_instances_whole() -> None:
    n = 1_000
    items = Items([100] * n, [10] * n, [f"i{index // 4}" for index in range(n)])
    packed = pack(items, Limits(50_000, 10**8, None, 10**5), queue_tokens=None, first_batch_max=50)
    assert [len(batch) for batch in packed.batches] == [48, 952]


def test_a_request_that_fits_no_batch_is_named_with_the_reason_and_stops_nothing() -> None:
    items = Items([10, 500, 10], [5, 5, 5_000], ["a", "b", "c"])
    packed = pack(items, Limits(10, 400, None, 10**5), queue_tokens=1_000)
    assert packed.batches == ((0,),)
    (first, why_bytes), (second, why_tokens) = packed.too_large
    assert (first, second) == (1, 2)
    assert "501 bytes" in why_bytes
    assert "5,000 input tokens" in why_tokens


def test_nothing_to_pack_is_no_batch() -> None:
    assert pack(Items([], [], []), Limits(10, 400, None, 10**5), queue_tokens=None) == Packed((), ())
