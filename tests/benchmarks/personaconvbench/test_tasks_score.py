"""Every task judges and scores what it selects: a synthetic corpus, its own requests, answers of all kinds."""

from collections.abc import Collection, Mapping
from pathlib import Path

import polars as pl
import pytest

from runner.benchmarks.base import Context, Corpus, Design, Options
from runner.benchmarks.personaconvbench import BENCHMARK
from runner.benchmarks.personaconvbench.tasks import TASKS, PaperTask, StrictTask

ANSWERS = {"sign": "positive", "value": "7", "text": "I would say so, and I said it before."}


@pytest.fixture(scope="module")
def opened(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return BENCHMARK.load(corpus, tmp_path_factory.mktemp("opened") / "corpus")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.name}-{task.protocol}")
def test_a_task_scores_what_it_selects(opened: Corpus, task: StrictTask | PaperTask) -> None:
    options = Options(task.all_settings, limit=30)
    frame = task.instances(opened, options).frame
    context = Context(opened, options, lambda text: len(text) // 4, 1_000_000)
    (stage,) = task.stages
    asked = [(r.instance_id, r.setting, r.body.messages[-1].content) for r in stage.requests(frame, None, context)]
    said = [None if place % 7 == 0 else ANSWERS[task.kind] for place in range(len(asked))]
    answered = pl.DataFrame(
        {
            "instance_id": [instance for instance, _, _ in asked],
            "setting": [setting for _, setting, _ in asked],
            "sample": pl.Series([0] * len(asked), dtype=pl.Int32),
            "request_id": [str(place) for place in range(len(asked))],
            "status": ["refused" if text is None else "ok" for text in said],
            "text": said,
            "answer": [None if text is None else stage.parse(text) for text in said],
        }
    ).join(frame, on="instance_id", how="left", maintain_order="left")

    def prompts(ids: Collection[str]) -> Mapping[str, str]:
        return {name: asked[int(name)][2] for name in ids}

    items = task.judges[0].judge(answered, prompts)
    own = items.filter(pl.col("floor").is_null())
    keys = ["instance_id", "setting", "sample"]
    assert own.select(keys).equals(answered.select(keys))
    assert own["reason"].is_not_null().to_list() == [text is None for text in said]
    settings = set(answered["setting"])
    result = task.score(items, Design(family=task.family(task.settings)))
    primary = [row for row in result.rows if (row.metric, row.group) == (task.primary, "all")]
    assert {row.setting for row in primary} == settings and all(row.value is not None for row in primary)
    beaten = [effect for effect in result.effects if effect.kind == "floor"]
    assert {effect.name.partition(" - ")[0] for effect in beaten} == settings
    assert [effect.family for effect in result.effects if effect.family] == list(task.family(task.settings))
    assert {row.metric.partition("@")[0] for row in result.rows} >= {task.primary}
    same = task.versus(items, items, "a - a", Design())
    assert {effect.group for effect in same} == settings and all(effect.value == 0 for effect in same)
