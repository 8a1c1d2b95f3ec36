"""Made-up answers for the tests of the explorer."""

from collections.abc import Iterator

from runs_to_show import SETTINGS

from runner.reporting.explorer import Answer, Instance, Prompt

DOMAINS = ("gaming", "science", "politics")


def prompt(number: int, setting: str, lines: int = 30) -> Prompt:
    """A system and a user message; what instances share stands in both."""
    thread = "\n".join(f"comment {line} of thread {number}: a thought about the matter" for line in range(lines))
    history = "\n".join(
        f"reply {line} of {'the author' if setting.startswith('p-') else 'a stranger'}" for line in range(9)
    )
    return (
        ("system", "You predict how an author will be received.\nAnswer with one word."),
        (
            "user",
            f"{history}\n\n{thread if setting.endswith('-conv') else ''}\n\nIs the next reply positive or negative?",
        ),
    )


def answer(number: int, setting: str, sample: int = 0, **changes: object) -> Answer:
    """Right three times of four; every seventh instance fails without own history."""
    right = (number + SETTINGS.index(setting)) % 4 != 0
    failed = number % 7 == 3 and setting == "np-conv"
    fields: dict[str, object] = {
        "setting": setting,
        "sample": sample,
        "request_id": f"{number:05d}{SETTINGS.index(setting)}{sample}".rjust(26, "a"),
        "prompt": prompt(number, setting),
        "text": None if failed else ("positive" if right else "negative"),
        "reason": "refused" if failed else None,
        "values": {"predicted": "positive", "correct": right and not failed, "weight": 1.25},
        "model_version": "gpt-9-2031-05-01",
        "bought_by": "3.1__gpt-9__strict__ab12",
        **changes,
    }
    return Answer(**fields)  # type: ignore[arg-type]


def instance(number: int, answers: tuple[Answer, ...] | None = None, **changes: object) -> Instance:
    """One of them, in all four settings."""
    fields: dict[str, object] = {
        "place": number,
        "instance_id": f"reply-{number:05d}",
        "domain": DOMAINS[number % 3],
        "reference": "positive" if number % 5 else "negative",
        "answers": answers or tuple(answer(number, setting) for setting in SETTINGS),
        **changes,
    }
    return Instance(**fields)  # type: ignore[arg-type]


def instances(n: int) -> Iterator[Instance]:
    """The first n, in sample order."""
    return (instance(number) for number in range(n))
