"""Effects: what a hand would compute, swaps that are swaps, and nothing said that was not measured."""

from collections.abc import Mapping

import numpy as np
import pytest

from runner.metrics import classification, regression
from runner.metrics.effects import Contrast, Measured, effects
from runner.metrics.intervals import intervals
from runner.metrics.statistic import Reweighted, estimate, evaluate, mean
from runner.metrics.swap import swap_test

SETTINGS = ("p-conv", "p-nonconv", "np-conv", "np-nonconv")


def _contrast(name: str, *factors: float) -> Contrast:
    return Contrast(name, "main", dict(zip(SETTINGS, factors, strict=True)))


PERSONAL = _contrast("personal", 0.5, 0.5, -0.5, -0.5)
CONVERSATION = _contrast("conversation", 0.5, -0.5, 0.5, -0.5)
INTERACTION = _contrast("interaction", 1, -1, -1, 1)
MAIN = (PERSONAL, CONVERSATION, INTERACTION)
SIMPLE = Contrast("p-conv - np-conv", "simple", {"p-conv": 1, "np-conv": -1})


class World:
    """Answers of several authors in four settings, with weights."""

    def __init__(self, seed: int, authors: int, each: int = 4) -> None:
        random = np.random.default_rng(seed)
        who = np.repeat(np.arange(authors), random.integers(1, each + 1, authors))
        n = len(who)
        self.n, self.who = n, who
        self.authors = np.array([f"u{i:03}" for i in who], dtype=object)
        self.weights = random.uniform(0.5, 1.5, n)
        self.truth = random.random(n) < 0.7
        self.said = {s: (random.random(n) < 0.75) == self.truth for s in SETTINGS}
        self.scores = random.integers(-60, 60, n).astype(float)
        self.answers = {s: random.integers(-60, 60, n).astype(float) for s in SETTINGS}

    def signs(self, said: Mapping[str, np.ndarray] | None = None) -> dict[str, dict[str, Measured]]:
        tested = ("balanced_accuracy", "accuracy")
        return {
            setting: {
                name: Measured(statistic, (answer == self.truth).astype(float) if name in tested else None)
                for name, statistic in classification.statistics(self.truth, answer).items()
            }
            for setting, answer in (said or self.said).items()
        }

    def values(self) -> dict[str, dict[str, Measured]]:
        return {
            setting: {
                name: Measured(
                    statistic,
                    np.abs(answer - self.scores) if name == "mae" else None,
                    1.0 if name == "spearman" else -1.0,
                )
                for name, statistic in regression.statistics(self.scores, answer).items()
            }
            for setting, answer in self.answers.items()
        }

    def effects(self, contrasts, measured, **options):
        options = {"instances": self.n, "classes": self.truth.astype(object), **options}
        return effects(contrasts, measured, self.weights, self.authors, **options)


def test_four_values_by_hand() -> None:
    # Two rows per author; right answers of the first row, of the second row, in each setting.
    right = {"p-conv": (1, 1), "p-nonconv": (1, 0), "np-conv": (0, 1), "np-nonconv": (0, 0)}
    names = np.array([f"u{i:02}" for i in np.repeat(np.arange(25), 2)], dtype=object)
    weights = np.tile([1.0, 3.0], 25)
    measured = {s: {"rouge_l": Measured(mean(x := np.tile(np.array(r, float), 25)), x)} for s, r in right.items()}
    found = effects((*MAIN, SIMPLE), measured, weights, names, instances=50, draws=99)
    # Values: 1, 1/4, 3/4, 0.
    assert [(e.name, e.kind, e.value) for e in found] == [
        ("personal", "main", pytest.approx(0.5 * (0.25 + 0.25))),
        ("conversation", "main", pytest.approx(0.5 * (0.75 + 0.75))),
        ("interaction", "main", pytest.approx(0.25 - 0.25)),
        ("p-conv - np-conv", "simple", pytest.approx(0.25)),
    ]
    assert {(e.n, e.authors, e.metric, e.group, e.level) for e in found} == {(50, 25, "rouge_l", "all", 0.95)}
    # Every author has the same difference, so no swap but the two trivial ones does as much, and resamples say nothing.
    assert {(e.low, e.high, e.note) for e in found[:2]} == {(None, None, "no interval: the same in every resample")}
    assert [e.p for e in found] == [0.01, 0.01, 1.0, 0.01]


def test_less_is_better_is_turned_so_that_plus_is_better() -> None:
    world = World(1, 30)
    errors = {"p-conv": 1.0, "p-nonconv": 2.0, "np-conv": 4.0, "np-nonconv": 9.0}
    worse = {s: {"mae": Measured(mean(np.full(world.n, error)), sign=-1)} for s, error in errors.items()}
    assert [e.value for e in world.effects(MAIN, worse)] == pytest.approx([(3 + 7) / 2, (1 + 5) / 2, 3 - 7])


def test_every_metric_is_the_contrast_of_the_four_values() -> None:
    world = World(2, 40)
    for measured in (world.signs(), world.values()):
        found = world.effects((*MAIN, SIMPLE), measured, replicates=60, draws=60)
        metrics = list(measured["p-conv"])
        assert [(e.name, e.metric) for e in found] == [(c.name, m) for c in (*MAIN, SIMPLE) for m in metrics]
        for effect in found:
            (contrast,) = (c for c in (*MAIN, SIMPLE) if c.name == effect.name)
            cells = {s: measured[s][effect.metric] for s in contrast.coefficients}
            wanted = sum(
                f * cells[s].sign * (estimate(cells[s].statistic, world.weights) or 0)
                for s, f in contrast.coefficients.items()
            )
            assert effect.value == pytest.approx(wanted, abs=1e-12)


def test_intervals_are_those_of_the_difference_under_the_same_resamples() -> None:
    world = World(3, 60)
    for measured in (world.signs(), world.values()):
        for effect in world.effects((PERSONAL, INTERACTION), measured, seed=5, level=0.9, replicates=300, draws=60):
            factors = {"personal": PERSONAL, "interaction": INTERACTION}[effect.name].coefficients
            cells = [(f, measured[s][effect.metric]) for s, f in factors.items()]
            plainly = Reweighted(lambda w, cells=cells: sum(f * c.sign * evaluate(c.statistic, w) for f, c in cells))
            (alone,) = intervals([plainly], world.weights, world.authors, 5, 300, 0.9)
            assert effect.level == 0.9
            if effect.metric not in classification.OF_CLASSES:
                assert (effect.low, effect.high) == pytest.approx((alone.low, alone.high), abs=1e-12)
                assert effect.authors == alone.g_eff
            else:  # as sure as the smaller class: the same bounds, further out by one factor
                assert effect.authors < alone.g_eff
                wider = [
                    (b - effect.value) / (a - effect.value)
                    for a, b in ((alone.low, effect.low), (alone.high, effect.high))
                ]
                assert wider[0] > 1 and wider[0] == pytest.approx(wider[1])


def test_exchanging_an_authors_settings_turns_the_sign_of_his_share() -> None:
    """What the test flips is what an exchange of labels does to the effect: for each of the three effects."""
    world = World(4, 30)
    own_for_donor, thread_for_none = (
        {s: SETTINGS[(at + 2) % 4] for at, s in enumerate(SETTINGS)},
        {s: SETTINGS[at ^ 1] for at, s in enumerate(SETTINGS)},
    )
    other = {"personal": own_for_donor, "conversation": thread_for_none, "interaction": own_for_donor}
    mass = {label: world.weights[world.truth == label].sum() for label in (True, False)}
    share = world.weights / (2 * np.where(world.truth, mass[True], mass[False]))
    for contrast in MAIN:
        (before,) = (e for e in world.effects([contrast], world.signs(), draws=60) if e.metric == "balanced_accuracy")
        rows = sum(f * (world.said[s] == world.truth) * share for s, f in contrast.coefficients.items())
        assert before.value == pytest.approx(rows.sum(), abs=1e-12)
        for author in range(30):
            his = world.who == author
            swapped = {s: np.where(his, world.said[other[contrast.name][s]], world.said[s]) for s in SETTINGS}
            (after,) = (e for e in world.effects([contrast], world.signs(swapped), tested=False, replicates=2)
                        if e.metric == "balanced_accuracy")  # fmt: skip
            assert after.value == pytest.approx(before.value - 2 * rows[his].sum(), abs=1e-12)


def test_p_is_the_swap_test_of_authors_sums() -> None:
    world = World(5, 45)
    found = {e.metric: e for e in world.effects([PERSONAL], world.values(), seed=3, draws=499)}
    rows = sum(-f * np.abs(world.answers[s] - world.scores) for s, f in PERSONAL.coefficients.items())
    sums = np.bincount(world.who, rows * world.weights)
    assert found["mae"].p == swap_test(sums[:, None], 3, 499)[0]
    assert {name for name, effect in found.items() if effect.p is not None} == {"mae"}


def test_replies_of_one_author_are_no_independent_evidence() -> None:
    world = World(6, 40, each=1)
    base = world.signs()
    nine = {s: np.tile(base[s]["accuracy"].scores, 9) for s in SETTINGS}
    copied = {s: {"accuracy": Measured(mean(scores), scores)} for s, scores in nine.items()}
    (once,) = (e for e in world.effects([PERSONAL], base) if e.metric == "accuracy")
    (often,) = effects(
        [PERSONAL], copied, np.tile(world.weights, 9), np.tile(world.authors, 9), instances=world.n
    )  # fmt: skip
    assert (often.value, often.low, often.high) == pytest.approx((once.value, once.low, once.high))
    assert often.p == once.p


def test_few_authors_get_no_interval_and_no_p_and_it_is_said() -> None:
    world = World(7, 19)
    for effect in world.effects(MAIN, world.signs()):
        assert (effect.low, effect.high, effect.p) == (None, None, None)
        assert "effective authors" in str(effect.note) and str(effect.note).endswith("no test")
        assert effect.authors < 20


def test_untested_effects_keep_their_interval() -> None:
    world = World(8, 60)
    tested, untested = (world.effects(MAIN, world.signs(), tested=flag, draws=60) for flag in (True, False))
    assert [(e.value, e.low, e.high) for e in tested] == [(e.value, e.low, e.high) for e in untested]
    assert all(e.p is None for e in untested)
    assert all((e.p is not None) == (e.metric in ("balanced_accuracy", "accuracy")) for e in tested)


def test_undefined_is_not_zero() -> None:
    world = World(9, 30)
    world.truth[:] = True  # nobody is negative
    found = {e.metric: e for e in world.effects([PERSONAL], world.signs(), draws=60)}
    assert (found["balanced_accuracy"].value, found["balanced_accuracy"].p) == (None, None)
    assert str(found["balanced_accuracy"].note).startswith("n/a")
    assert found["accuracy"].value is not None and found["accuracy"].p is not None
    empty = np.array([])
    nothing = {s: {"mae": Measured(mean(empty), empty)} for s in SETTINGS}
    (none,) = effects([PERSONAL], nothing, empty, np.array([], dtype=object), instances=0)
    assert (none.value, none.low, none.p, none.n, none.authors) == (None, None, None, 0, 0)


def test_scores_that_are_not_the_values_are_refused() -> None:
    world = World(10, 150)
    wrong = {s: {"mae": Measured(mean(a), a + (s == "p-conv"))} for s, a in world.answers.items()}
    with pytest.raises(ValueError, match="scores of mae"):
        world.effects([PERSONAL], wrong)
    with pytest.raises(ValueError, match="balanced_accuracy"):  # classes are needed to weigh its scores
        world.effects([PERSONAL], world.signs(), classes=None)


def test_huge_scores_that_cancel_are_no_contradiction() -> None:
    world = World(12, 30)
    for seed in range(20):
        far = 1e7 * np.random.default_rng(seed).random(world.n)
        same = {s: {"mae": Measured(mean(far), far, -1)} for s in SETTINGS}
        (effect,) = world.effects([PERSONAL], same, replicates=2, draws=60)
        assert effect.value == pytest.approx(0, abs=1e-6)


def test_scores_that_cancel_but_for_rounding_show_nothing() -> None:
    world = World(13, 40)
    own, donor = (np.random.default_rng(seed).random(world.n) * seed / 10 for seed in (7, 3))
    same = {s: {"rouge_l": Measured(mean(x), x)} for s, x in zip(SETTINGS, (own, own, donor, donor), strict=True)}
    crossed = {"p-conv": 1, "np-conv": -1, "p-nonconv": -1, "np-nonconv": 1}  # in this order the sum is not exactly 0
    (effect,) = world.effects([Contrast("interaction", "main", crossed)], same, draws=999)
    assert effect.p == 1


def test_only_metrics_that_all_settings_have() -> None:
    world = World(11, 30)
    measured = world.signs()
    del measured["np-conv"]["mcc"]
    found = world.effects((SIMPLE, Contrast("p", "simple", {"p-conv": 1, "p-nonconv": -1})), measured, draws=60)
    assert [e.metric for e in found if e.name == SIMPLE.name] == [m for m in classification.METRICS if m != "mcc"]
    assert [e.metric for e in found if e.name == "p"] == list(classification.METRICS)
    assert world.effects((), measured) == ()


@pytest.mark.slow
def test_without_habits_one_test_in_twenty_rejects() -> None:
    """Authors differ in how hard they are and in what suits them, but not in favour of their own history."""
    random, false = np.random.default_rng(12), np.zeros(2)
    names = np.array([f"u{i:02}" for i in np.repeat(np.arange(60), 4)], dtype=object)
    for _ in range(1_500):
        author = random.normal(size=(60, 5)).repeat(4, axis=0).T
        measured = {}
        for at, setting in enumerate(SETTINGS):
            scores = author[4] + author[at] * 0.8 + random.standard_t(3, size=240)
            measured[setting] = {"rouge_l": Measured(mean(scores), scores)}
        (e,) = effects(
            [PERSONAL], measured, np.ones(240), names, instances=240, seed=int(random.integers(1 << 30)),
            replicates=600, draws=499,
        )  # fmt: skip
        false += [(e.p or 0) <= 0.05, not (e.low or 0) <= 0 <= (e.high or 0)]
    assert ((false / 1_500 >= 0.037) & (false / 1_500 <= 0.063)).all()
