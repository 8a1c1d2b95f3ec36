"""What is told to a provider's cache, and what that is expected to save."""

from datetime import UTC, date, datetime
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.caching import PREFIX_ORDER, Lifetime, Rules, plan, rules_of
from runner.emulator.tariff import tariff
from runner.models import all_models, find_model
from runner.pricing import price
from runner.request import Body, Message

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SONNET, LUNA, MINI, GPT_41 = "anthropic/claude-sonnet-5", "openai/gpt-5.6-luna", "openai/gpt-5.4-mini", "openai/gpt-4.1"
WORDS = "lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam nonumy eirmod tempor"


def text_of(*turns, limit=16):
    return Body(tuple(Message(role, content) for role, content in turns), limit).to_json()


def ordered(bodies):
    return pl.DataFrame({"body": bodies}, schema={"body": pl.String}).sort(PREFIX_ORDER)["body"].to_list()


def contents(body):
    return "".join(message.content for message in Body.from_json(body).messages)


def page(name, tokens=2000):
    """A text of so many words, each a token, in lines of ten."""
    words = (WORDS.split() * (tokens // 13 + 1))[: tokens - 1]
    lines = [" ".join(words[start : start + 10]) for start in range(0, len(words), 10)]
    return f"{name}\n" + "\n".join(lines) + "\n"


def tokens_in(bodies):
    return [len(contents(body).split()) for body in bodies]


def planned(model, bodies, rules=None):
    known = find_model(model)
    bodies = ordered(bodies)
    return plan(bodies, tokens_in(bodies), price(known, NOW), rules or rules_of(known.provider, known.id)), bodies


def asked(head, readers, name=""):
    return [text_of(("user", f"{head}Question {name}{number}: what is it?")) for number in range(readers)]


# Which groups get a breakpoint


@pytest.mark.parametrize(
    ("readers", "ttl"),
    [(2, None), (3, None), (4, "5m"), (7, "5m"), (8, "1h"), (50, "1h")],
)
def test_a_breakpoint_stands_where_its_readers_pay_for_the_writing_and_for_an_hour_where_they_are_many(readers, ttl):
    found, _ = planned(SONNET, asked(page("A post"), readers))
    assert {mark.ttl for hint in found.hints if hint for mark in hint.marks} == ({ttl} if ttl else set())
    assert (found.saved_usd > 0) is (ttl is not None)
    assert found.marked == (ttl is not None)


@pytest.mark.parametrize(
    ("scale", "readers", "ttl"),
    [
        (0.0, 50, None),
        (0.3, 50, None),
        (0.7, 50, None),
        (0.9, 50, "1h"),
        (1.0, 8, "1h"),
        (1.5, 4, "1h"),
        (9.0, 2, "5m"),
    ],
)
def test_hits_that_were_seen_decide_instead_of_those_that_are_assumed(scale, readers, ttl):
    known = find_model(SONNET)
    rules = rules_of(known.provider, known.id).as_seen(scale)
    found, _ = planned(SONNET, asked(page("A post"), readers), rules)
    assert {mark.ttl for hint in found.hints if hint for mark in hint.marks} == ({ttl} if ttl else set())
    assert all(each.hits <= 0.98 + 1e-9 for each in rules.lifetimes)


def test_what_stands_before_a_mark_is_shared_and_ends_with_a_line():
    found, bodies = planned(SONNET, asked(page("One post"), 9) + asked(page("Another post"), 9))
    heads = {contents(body)[: hint.marks[0].end] for body, hint in zip(bodies, found.hints, strict=True)}
    assert heads == {page("One post"), page("Another post")}


@pytest.mark.parametrize(("tokens", "is_marked"), [(1018, False), (1030, True)])
def test_a_beginning_below_the_providers_least_is_left_alone(tokens, is_marked):
    found, _ = planned(SONNET, asked(page("A post", tokens), 20))
    assert (found.marked == 1) is is_marked


def test_a_text_without_lines_is_cut_between_words():
    head = " ".join(page("x").split())
    found, bodies = planned(SONNET, [text_of(("user", f"{head} wor{end}")) for end in "abcdefghij"])
    assert {contents(body)[: hint.marks[0].end] for body, hint in zip(bodies, found.hints, strict=True)} == {head}


def test_shared_messages_are_marked_at_the_end_of_the_last_of_them():
    shared = [("system", page("Rules")), ("user", "I say."), ("assistant", "I answer.")]
    found, bodies = planned(SONNET, [text_of(*shared, ("user", f"{number} is my question")) for number in range(9)])
    assert {hint.marks[0].end for hint in found.hints} == {sum(len(content) for _, content in shared)}
    assert len(bodies) == 9


def test_the_same_beginning_in_another_role_is_another_beginning():
    found, _ = planned(SONNET, [text_of((role, page("A post"))) for role in ("user", "system")] * 2)
    assert found.sharing == 4
    assert all(not hint for hint in found.hints)  # two groups of two, not one of four


def test_draws_of_one_prompt_are_marked_at_its_end():
    found, bodies = planned(SONNET, [text_of(("user", page("A post")))] * 10)
    assert {hint.marks[0].end for hint in found.hints} == {len(contents(bodies[0]))}


def test_a_group_within_a_group_adds_its_own_breakpoint_and_what_is_kept_longer_stands_first():
    bodies = [body for post in range(4) for body in asked(page("Rules") + page(f"Post {post}"), 5, f"{post}.")]
    found, _ = planned(SONNET, bodies)
    told = {tuple(mark.ttl for mark in hint.marks) for hint in found.hints}
    assert told == {("1h", "5m")}
    assert found.marked == 5


def test_no_request_has_more_than_four_breakpoints():
    def heads(depth):
        return [""] if not depth else [head + page(f"{depth}{side}") for head in heads(depth - 1) for side in "ab"]

    bodies = [body for head in heads(6) for body in asked(head, 2)]
    lasting = Rules(1024, "nobody", date.today(), lifetimes=(Lifetime("5m", 1.0),))
    found, _ = planned(SONNET, bodies, lasting)
    assert {len(hint.marks) for hint in found.hints} == {4}


def test_a_step_too_small_for_one_of_the_four_is_not_taken():
    bodies = [body for part in "abcdefgh" for body in asked(page("Rules") + f"Part {part}\nIt is short.\n", 9, part)]
    found, _ = planned(SONNET, bodies)
    assert {hint.marks[0].end for hint in found.hints if len(hint.marks) == 1} == {len(page("Rules"))}
    assert found.marked == 1


# What is expected


def simulated(bodies, hints, tokens):
    """Tokens read and written by a cache that keeps all that was marked and always hits."""
    known, read, written = set(), 0.0, 0.0
    for body, hint, size in zip(bodies, hints, tokens, strict=True):
        text, last = contents(body), 0.0
        for mark in hint.marks if hint else ():
            end = mark.end * size / len(text)
            if text[: mark.end] in known:
                read += end - last
            else:
                written += end - last
            known.add(text[: mark.end])
            last = end
    return read, written


GROUPS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 12)), min_size=1, max_size=5)


@settings(max_examples=50)
@given(GROUPS, st.permutations(range(5)))
def test_the_expectation_is_what_a_cache_does_that_always_hits(sizes, order):
    bodies = [
        body
        for number, (pages, readers) in enumerate(sizes)
        for body in asked(page("Rules") + "".join(page(f"{order[number]}.{each}") for each in range(pages)), readers)
    ]
    lasting = Rules(1024, "nobody", date.today(), lifetimes=(Lifetime("5m", 1.0),))
    found, bodies = planned(SONNET, bodies, lasting)
    read, written = simulated(bodies, found.hints, tokens_in(bodies))
    assert found.expected["cached_tokens"].sum() == pytest.approx(read, rel=0.01)
    assert found.expected["cache_write_tokens"].sum() == pytest.approx(written, rel=0.01)


@settings(max_examples=50)
@given(GROUPS, st.floats(0, 1), st.floats(0, 1))
def test_no_decision_is_expected_to_cost_more_than_none(sizes, short, long):
    bodies = [
        body
        for number, (pages, readers) in enumerate(sizes)
        for body in asked(page("Rules") * (number % 2) + page(f"{number}") * pages, readers)
    ]
    lifetimes = (Lifetime("1h", long), Lifetime("5m", short))
    found, bodies = planned(SONNET, bodies, Rules(1024, "nobody", date.today(), lifetimes=lifetimes))
    assert found.saved_usd >= -1e-12
    order = ["".join(mark.ttl for mark in hint.marks) for hint in found.hints if hint]
    assert not any("5m1h" in ttls for ttls in order)  # Anthropic refuses it
    assert len(found.hints) == found.expected.height == len(bodies)
    used = found.expected["cached_tokens"] + found.expected["cache_write_tokens"]
    assert all(mine <= whole * 1.001 for mine, whole in zip(used, tokens_in(bodies), strict=True))
    assert (found.expected["cache_write_long_tokens"] <= found.expected["cache_write_tokens"] + 1e-9).all()


@settings(max_examples=50)
@given(GROUPS)
def test_every_mark_ends_a_beginning_that_a_neighbour_has_and_marks_alike(sizes):
    bodies = [
        body for number, (pages, readers) in enumerate(sizes) for body in asked(page(f"{number}é😀\n") * pages, readers)
    ]
    found, bodies = planned(SONNET, bodies)
    told = [(contents(body), hint.marks if hint else ()) for body, hint in zip(bodies, found.hints, strict=True)]
    for place, (text, marks) in enumerate(told):
        assert all(before.end < after.end for before, after in pairwise(marks))
        around = told[max(0, place - 1) : place] + told[place + 1 : place + 2]
        for mark in marks:
            assert any(other[: mark.end] == text[: mark.end] and mark in theirs for other, theirs in around)


def test_savings_are_reckoned_from_the_price_of_each_request():
    found, bodies = planned(SONNET, asked(page("A post"), 8))
    each = tokens_in(bodies)[0]
    share = found.expected["cache_write_tokens"][0]  # the first writes the page; 7 read it with 64 % or write it again
    by_hand = 7 * share - share - 7 * share * (0.64 * 0.1 + 0.36 * 2.0)  # in units of the input's price, $1 a million
    assert found.input_usd == pytest.approx(8 * each / 1e6, rel=0.01)
    assert found.saved_usd == pytest.approx(by_hand / 1e6)


# What each provider is told


def test_whole_prompts_are_not_written_where_that_costs_more_and_nobody_reads_them():
    found, bodies = planned(LUNA, [text_of(("user", page(f"Post {number}"))) for number in range(5)])
    assert all(hint.only_marked and not hint.marks for hint in found.hints)
    assert found.avoided_usd == pytest.approx(sum(tokens_in(bodies)) * 0.25 * 0.1 / 1e6)
    assert "for writing whole prompts are avoided" in found.sentence


def test_a_provider_that_caches_by_itself_is_told_who_begins_alike():
    found, bodies = planned(MINI, asked(page("One"), 3) + asked(page("Two"), 3) + asked("Short. ", 2))
    keys = {}
    for body, hint in zip(bodies, found.hints, strict=True):
        keys.setdefault(contents(body)[:3], set()).add(hint and hint.key)
        assert hint is None or (not hint.marks and not hint.only_marked)
    assert keys["Sho"] == {None}
    assert len(keys["One"]) == len(keys["Two"]) == 1
    assert keys["One"] != keys["Two"]
    again, _ = planned(MINI, asked(page("One"), 9, "other"))
    assert again.hints[0].key in keys["One"]  # in whatever batch


def test_expected_reads_of_a_provider_that_caches_by_itself_come_in_its_steps():
    found, _ = planned(MINI, asked(page("One"), 4))
    read = found.expected["cached_tokens"].to_list()
    assert read[0] == 0
    assert {tokens / 0.5 % 128 for tokens in read} == {0}
    assert all(0.5 * 1800 < tokens <= 0.5 * 2000 for tokens in read[1:])


@pytest.mark.parametrize("model", [GPT_41, "openai/o3"])
def test_where_reading_from_the_cache_is_no_cheaper_nothing_is_told(model):
    found, _ = planned(model, asked(page("A post"), 20))
    assert set(found.hints) == {None}
    assert found.saved_usd == 0
    assert found.sentence.endswith("nothing to gain by it")


def test_gemini_is_told_nothing_and_expected_to_find_what_it_finds():
    found, _ = planned("google/gemini-2.5-pro", asked(page("A post", 4000), 20))
    assert set(found.hints) == {None}
    assert found.saved_usd > 0


def test_without_a_price_or_rules_nothing_is_told_or_expected():
    bodies = asked(page("A post"), 3)
    for found in (plan(bodies, [2000] * 3, None, rules_of("anthropic", "claude-sonnet-5")),
                  plan(bodies, [2000] * 3, price(find_model(SONNET), NOW), None)):  # fmt: skip
        assert found.hints == (None,) * 3
        assert found.expected.sum().row(0) == (0, 0, 0)
    assert rules_of("nebius", "anything") is None


def test_the_sentence_says_what_is_shared_where_it_pays_and_what_is_assumed():
    found, _ = planned(SONNET, asked(page("A post"), 20) + asked(page("Another"), 2))
    assert found.sentence.startswith("cache: 22 of 22 requests share beginnings of 2,0")
    assert "; breakpoints in 1 of 2 groups, where they pay; expected saving $0.00" in found.sentence
    assert found.sentence.endswith("(assumed: 64% hits within an hour, 30% hits within 5 minutes)")
    nobody, _ = planned(SONNET, [text_of(("user", "Hello."))])
    assert nobody.sentence == "cache: none of 1 requests share a beginning that is long enough"


# Order and rules


TEXTS = st.lists(st.text('ab"\\\n\u2028é{', max_size=5), min_size=1, max_size=12)


@settings(max_examples=50)
@given(TEXTS, st.data())
def test_in_prefix_order_whoever_begins_alike_stands_together_whatever_else_differs(texts, data):
    limits = data.draw(st.lists(st.integers(1, 999), min_size=len(texts), max_size=len(texts)))
    bodies = ordered([text_of(("user", text), limit=limit) for text, limit in zip(texts, limits, strict=True)])
    found = [contents(body) for body in bodies]
    for text in texts:
        for end in range(len(text) + 1):
            places = [place for place, other in enumerate(found) if other.startswith(text[:end])]
            assert places == list(range(places[0], places[-1] + 1))


@pytest.mark.parametrize("model", [each for each in all_models() if each.provider in ("openai", "anthropic", "google")],
                         ids=lambda each: each.id)  # fmt: skip
def test_the_rules_are_those_that_the_emulator_was_told_by_its_own_sources(model):
    ours = rules_of(model.provider, model.id)
    theirs = tariff(model.provider)
    row = theirs.models.get(model.id) or theirs.models[model.id.rsplit("-", 1)[0]]
    assert ours.from_tokens == (row.cache_from or theirs.rules.cache.from_tokens)
    assert ours.step_tokens == 1 or ours.step_tokens == theirs.rules.cache.step_tokens
    assert ours.writes_whole is (model.provider == "openai" and row.cache_write is not None)
    assert ours.unasked is (theirs.rules.cache.automatic and not ours.writes_whole)
