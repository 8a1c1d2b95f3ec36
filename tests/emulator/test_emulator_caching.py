"""The emulated caches: what may be asked for, what is found, and how often."""

import pytest

from runner.emulator.caching import PrefixCache
from runner.emulator.protocols.anthropic_body import marks_of as anthropic_marks
from runner.emulator.protocols.anthropic_body import params_refusal
from runner.emulator.protocols.openai_caching import caching_refusal, marks_of
from runner.emulator.rules import CacheRules
from runner.emulator.tariff import tariff
from runner.emulator.wire import Ask, Mark

SONNET = tariff("anthropic").models["claude-sonnet-5"]
LUNA, MINI = (tariff("openai").models[name] for name in ("gpt-5.6-luna", "gpt-5.4-mini"))
FLASH = tariff("google").models["gemini-2.5-flash"]
PAGE = "All of this is known. " * 400
TOKENS = 2_000
EXPLICIT = {"mode": "explicit"}


def block(text="Known.", **control):
    return {"type": "text", "text": text} | ({"cache_control": {"type": "ephemeral"} | control} if control else {})


def anthropic(*blocks, **others):
    return {"model": SONNET.name, "max_tokens": 50, "messages": [{"role": "user", "content": list(blocks)}], **others}


def refused(params):
    found = params_refusal(params, SONNET, "2026-10-21", 100)
    return found and found["message"]


def openai(*parts, **others):
    return {"model": LUNA.name, "messages": [{"role": "user", "content": list(parts)}], **others}


def part(text, *, is_marked=False):
    return {"type": "text", "text": text} | ({"prompt_cache_breakpoint": EXPLICIT} if is_marked else {})


# What may be said


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (anthropic(block(ttl="5m"), block(ttl="1h"), block()), "a ttl='1h' cache_control block must not come after"),
        (
            anthropic(block(ttl="5m"), system=[block(ttl="5m")], cache_control={"type": "ephemeral", "ttl": "1h"}),
            "a ttl",
        ),
        (anthropic(block(ttl="30m")), "cache_control.ephemeral.ttl: Input should be '5m' or '1h'"),
        (anthropic(block(type="lasting")), "cache_control: Input tag does not match"),
        (anthropic(*[block(ttl="5m")] * 4, system=[block(ttl="1h")]), "A maximum of 4 blocks with cache_control may"),
    ],
)
def test_marks_that_anthropic_refuses(params, said):
    assert refused(params).startswith(said)


def test_marks_that_anthropic_takes():
    assert (
        refused(anthropic(block(ttl="1h"), block(ttl="5m"), block(type="ephemeral"), system=[block(ttl="1h")])) is None
    )
    assert refused(anthropic(block("Short.", ttl="5m"))) is None  # too short to be cached is no error


@pytest.mark.parametrize(
    ("body", "model", "code"),
    [
        (openai(part("x"), prompt_cache_options=EXPLICIT), MINI, "unsupported_parameter"),
        (openai(part("x", is_marked=True)), MINI, "unsupported_parameter"),
        (openai(part("x"), prompt_cache_options={"mode": "none"}), LUNA, "invalid_value"),
        (openai(part("x") | {"prompt_cache_breakpoint": {"mode": "here"}}), LUNA, "invalid_value"),
        (openai(part("x"), prompt_cache_key="k" * 65), MINI, "string_above_max_length"),
        (openai(part("x"), prompt_cache_key=7), MINI, "invalid_type"),
    ],
)
def test_what_openai_refuses(body, model, code):
    assert caching_refusal(body, "messages", model)["code"] == code


def test_what_openai_takes():
    assert caching_refusal(openai(part("x"), prompt_cache_key="k" * 64), "messages", MINI) is None
    both = openai(part("x", is_marked=True), part("y"), prompt_cache_options=EXPLICIT, prompt_cache_key="k")
    assert caching_refusal(both, "messages", LUNA) is None


# Where the marks stand


def test_a_mark_between_blocks_stands_within_the_message_and_one_at_its_end_behind_it():
    params = anthropic(block("abc", ttl="1h"), block("defg", ttl="5m"), block("h"), system=[block("s", ttl="1h")])
    assert anthropic_marks(params) == (Mark(1, True), Mark(1, True, 3), Mark(1, False, 7))
    assert anthropic_marks(anthropic(block("abc", ttl="5m"))) == (Mark(1),)


def test_openais_new_models_mark_the_end_by_themselves_unless_they_are_told_not_to():
    body = openai(part("abc", is_marked=True), part("d"))
    assert marks_of(body, "messages", LUNA) == (Mark(0, chars=3), Mark(1))
    assert marks_of(body | {"prompt_cache_options": EXPLICIT}, "messages", LUNA) == (Mark(0, chars=3),)
    assert marks_of(openai(part("d")) | {"prompt_cache_options": EXPLICIT}, "messages", LUNA) == ()
    assert marks_of({"input": "a text"}, "input", LUNA) == (Mark(1),)
    assert marks_of(body, "messages", MINI) is None
    many = openai(*[part("a", is_marked=True)] * 6)
    assert len(marks_of(many, "messages", LUNA)) == 4


# What is found


def use(cache, model, custom_id, text, marks=None, tokens=TOKENS):
    return cache.use(Ask(custom_id, model, messages=(("user", text),), marks=marks), model, tokens)


def always(provider):
    return PrefixCache(0, 1, CacheRules(provider != "anthropic", hit_rate=1.0))


def test_a_beginning_within_a_message_is_written_once_and_then_read():
    cache, mark = always("anthropic"), (Mark(0, True, len(PAGE)),)
    first = use(cache, SONNET, "1", PAGE + "Who?" * 100, mark)
    second = use(cache, SONNET, "2", PAGE + "What?" * 80, mark)
    assert first[0] == 0 and 1500 < first[1] == first[2] < TOKENS
    assert second == (first[1], 0, 0)


def test_without_a_breakpoint_where_they_part_new_models_write_everything_and_find_nothing():
    cache = always("openai")
    texts = [f"{PAGE}Question {number}?" for number in range(5)]
    told = [
        use(cache, LUNA, str(n), text, marks_of(openai(part(text)), "messages", LUNA)) for n, text in enumerate(texts)
    ]
    assert told == [(0, TOKENS, 0)] * 5
    assert use(cache, LUNA, "again", texts[0], (Mark(1),)) == (TOKENS, 0, 0)
    assert use(cache, LUNA, "never", texts[0], ()) == (0, 0, 0)


def test_older_models_find_the_longest_beginning_in_steps_and_writing_costs_nothing():
    cache = always("openai")
    told = [use(cache, MINI, str(number), f"{PAGE}Question {number}?") for number in range(3)]
    assert told[0] == (0, 0, 0)
    assert all(read >= 1024 and read % 128 == 0 and written == 0 for read, written, _ in told[1:])


@pytest.mark.parametrize(("tokens", "is_cached"), [(2047, False), (3000, True)])
def test_gemini_caches_from_two_thousand_tokens_on(tokens, is_cached):
    cache = PrefixCache(0, 1, CacheRules(step_tokens=1, hit_rate=1.0))
    use(cache, FLASH, "1", PAGE * 9, tokens=tokens)
    assert (use(cache, FLASH, "2", PAGE * 9, tokens=tokens)[0] > 0) is is_cached


# How often


def share_found(seed, model, *, is_long):
    cache, n = PrefixCache(seed, 1, tariff("anthropic").rules.cache), 400
    mark = (Mark(0, is_long, len(PAGE)),)
    return sum(use(cache, model, str(number), f"{PAGE}{number}?", mark)[0] > 0 for number in range(n)) / n


def test_hits_are_drawn_by_seed_between_what_is_documented_and_fewer_are_found_after_minutes():
    long, short = ([share_found(seed, SONNET, is_long=is_long) for seed in range(8)] for is_long in (True, False))
    assert all(0.22 < rate < 1 for rate in long + short)
    assert max(long) - min(long) > 0.2
    assert all(after_minutes <= after_an_hour for after_minutes, after_an_hour in zip(short, long, strict=True))
    assert long == [share_found(seed, SONNET, is_long=True) for seed in range(8)]
