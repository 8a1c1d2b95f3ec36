"""What a person of the synthetic corpus writes: sentences from templates, by habit, community and mood."""

from __future__ import annotations

from random import Random

from runner.benchmarks.personaconvbench.sample_people import Community, Habit
from runner.benchmarks.personaconvbench.sample_words import (
    ADJECTIVES,
    CLOSERS,
    EDITS_BAD,
    EDITS_GOOD,
    EDITS_PLAIN,
    HARSH,
    OPENERS,
    PLAIN,
    TITLES,
    WARM,
)

_FAVOURED = 0.6  # how often a word is a favourite one where the writer has any


def title(habit: Habit, place: Community, rng: Random) -> str:
    """A post's title."""
    return _filled(rng.choice(TITLES), habit, place, rng)


def self_text(habit: Habit, place: Community, rng: Random) -> str:
    """A post's own text: one to four paragraphs, edited now and then."""
    paragraphs = [_paragraph(habit, place, rng, 0.0, 0.05) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.05:
        paragraphs.append(rng.choice((*EDITS_GOOD, *EDITS_PLAIN)))
    return "\n\n".join(paragraphs)


def reply(
    habit: Habit, place: Community, score: int, parent: str, addressed: str, rng: Random, heated: bool = False
) -> str:
    """A comment that will end at ``score``; its tone tells a little of that, and of a quarrel around it.

    A later edit may tell all.
    """
    warm, harsh = (0.05, 0.45) if score < 0 else (0.3, 0.06)
    if heated:
        warm, harsh = warm / 3, harsh + 0.15
    text = _paragraph(habit, place, rng, warm, harsh)
    if rng.random() < habit.opens:
        start = text[0] if text.startswith("I ") else text[0].lower()
        text = f"{_favourite(habit.openers, OPENERS, rng)} {start}{text[1:]}"
    if rng.random() < habit.closes:
        text = f"{text} {_favourite(habit.closers, CLOSERS, rng)}"
    if rng.random() < habit.shows_emoji:
        text = f"{text} {rng.choice(habit.emoji)}"
    if habit.lower_case:
        text = text.lower()
    return _decorated(text, score, parent, addressed, rng)


def _decorated(text: str, score: int, parent: str, addressed: str, rng: Random) -> str:
    chance = rng.random()
    if chance < 0.06 and parent:
        text = f"> {parent.split(chr(10))[0][:160]}\n\n{text}"
    elif chance < 0.08:
        text = f"u/{addressed} {text}"
    elif chance < 0.11:
        text = f"{text} [Here is a link](https://example.org/{rng.randrange(10**6)}) for the details."
    elif chance < 0.115:
        text = text.replace(". ", ".\u2028", 1)
    elif chance < 0.12:
        text = f"{text} Voilà, naïve café talk — ﬁn. こんにちは"
    if rng.random() < 0.03:
        edits = EDITS_PLAIN if rng.random() < 0.5 else EDITS_GOOD if score > 0 else EDITS_BAD
        text = f"{text}\n\n{rng.choice(edits)}"
    return text


def _paragraph(habit: Habit, place: Community, rng: Random, warm: float, harsh: float) -> str:
    count = max(1, min(12, round(rng.gauss(habit.sentences, 0.3 * habit.sentences))))
    sentences = []
    for _ in range(count):
        mood = rng.random()
        if mood < harsh:
            template = rng.choice(HARSH)
        elif mood < harsh + warm:
            template = rng.choice(WARM)
        else:
            template = _favourite(habit.templates, PLAIN, rng)
        sentences.append(_filled(template, habit, place, rng))
    sentences[-1] = sentences[-1].removesuffix(".") + habit.end
    return " ".join(sentences)


def _filled(template: str, habit: Habit, place: Community, rng: Random) -> str:
    one, other = _noun(habit, place, rng), _noun(habit, place, rng)
    while other == one:
        other = rng.choice(place.nouns)
    adjective = _favourite(habit.adjectives, ADJECTIVES, rng)
    article = "an" if adjective[0] in "aeiou" and not adjective.startswith("use") else "a"
    if adjective == "honest":
        article = "an"
    text = template.format(n=one, m=other, a=adjective, b=f"{article} {adjective}")
    return text[0].upper() + text[1:]


def _noun(habit: Habit, place: Community, rng: Random) -> str:
    where = rng.choice(habit.nouns) if rng.random() < _FAVOURED else rng.random()
    return place.nouns[int(where * len(place.nouns))]


def _favourite(own: tuple[str, ...], everybodys: tuple[str, ...], rng: Random) -> str:
    return rng.choice(own) if rng.random() < _FAVOURED else rng.choice(everybodys)
