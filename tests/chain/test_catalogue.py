from datetime import UTC, datetime, timedelta

import pytest

from runner.chain.catalogue import COLUMNS, models_table
from runner.errors import RunnerError
from runner.models import all_models, find_model, providers
from runner.reporting.table import PIPE_WIDTH, Table, fits

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def row(table: Table, name: str) -> dict[str, str]:
    return next(dict(zip(COLUMNS, cells, strict=True)) for cells in table.rows if cells[0] == name)


def test_every_listed_model_has_one_row_under_a_name_that_leads_to_it() -> None:
    table = models_table(None, NOW)
    named = [find_model(cells[0]) for cells in table.rows]
    assert {(model.provider, model.id) for model in named} == {(model.provider, model.id) for model in all_models()}
    assert len(table.rows) == len(all_models())
    assert all(len(cells) == len(COLUMNS) for cells in table.rows)


def test_a_row_says_limits_prices_and_what_is_not_sent() -> None:
    table = models_table(None, NOW)
    assert row(table, "gpt-5-mini") == {
        "model": "gpt-5-mini",
        "at": "openai",
        "window": "272k",
        "output": "128k",
        "$ in": "0.125",
        "$ out": "1",
        "tokens": "exact",
        "not sent": "n, sampling",
        "until": "2026-12-11",
        "instead": "gpt-5.6-terra",
    }
    assert row(table, "llama-3.3-70b")["at"] == "nebius: meta-llama/Llama-3.3-70B-Instruct"
    assert row(table, "llama-3.3-70b")["$ in"] == "0.065*"
    assert row(table, "deepinfra/llama-3.3-70b")["at"] == "deepinfra: meta-llama/Llama-3.3-70B-Instruct"
    assert row(table, "claude-sonnet-5-5")["tokens"] == "about"
    assert row(table, "claude-sonnet-4-6")["not sent"] == "n, top_p"


def test_a_retired_model_is_marked_from_its_day_and_comes_last() -> None:
    o3_ends = datetime(2026, 12, 11, tzinfo=UTC)
    before, after = (models_table("openai", when) for when in (o3_ends - timedelta(seconds=1), o3_ends))
    assert row(before, "o3")["until"] == "2026-12-11"
    assert row(after, "o3")["until"] == "RETIRED 2026-12-11"
    marked = ["RETIRED" in cells[COLUMNS.index("until")] for cells in after.rows]
    assert marked == sorted(marked)
    assert row(after, "o4-mini")["instead"] == "gpt-5.6-terra"


@pytest.mark.parametrize("provider", providers())
def test_one_provider_alone_has_its_models_and_its_sources(provider: str) -> None:
    table = models_table(provider, NOW)
    assert len(table.rows) == sum(model.provider == provider for model in all_models())
    sources = [note for note in table.notes if note.startswith(("limits of", "prices of"))]
    assert len(sources) == (2 if table.rows else 0)
    assert all(f" of {provider}, 20" in note for note in sources)
    assert any(f"{provider}/" in note or "provider/model" in note for note in table.notes)


def test_a_provider_that_there_is_none_of_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(RunnerError, match="choose one of openai, anthropic"):
        models_table("opnai", NOW)


def test_the_whole_table_fits_the_width_of_a_file() -> None:
    assert fits(models_table(None, NOW), PIPE_WIDTH)
