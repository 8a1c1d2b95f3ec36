"""What `persona-runner prices` shows: every price with its source and its day, and what is not known as unknown."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from runner.chain.price_list import price_sheet
from runner.cli.prices import prices
from runner.errors import RunnerError
from runner.models import all_models
from runner.reporting.price_view import price_table
from runner.reporting.table import Table

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def shown(name: str, at: datetime = AT) -> Table:
    return price_table(price_sheet(name, at))


def row(table: Table, label: str) -> tuple[str, ...]:
    (found,) = [cells for name, *cells in table.rows if name == label]
    return tuple(found)


def test_a_price_is_shown_in_a_batch_and_without_and_for_long_prompts():
    table = shown("claude-haiku-5-5")
    assert row(table, "batch") == ("0.05", "0.005", "0.0625", "0.1", "0.25")
    assert row(table, "batch, above 100,000 tokens") == ("0.25", "0.025", "0.3125", "0.5", "1.25")
    assert row(table, "without batch") == ("0.1", "0.01", "0.125", "0.2", "0.5")
    assert row(table, "without batch, above 100,000 tokens") == ("0.5", "0.05", "0.625", "1", "2.5")
    assert table.title == "Prices of claude-haiku-5-5 at anthropic on 2026-11-20"


def test_only_what_has_a_price_of_its_own_is_shown_as_kept_an_hour():
    assert row(shown("gpt-5.6-sol"), "batch") == ("2", "0.2", "2.5", "—", "10")


def test_a_change_is_shown_with_its_day_its_source_and_that_it_is_announced_only():
    table = shown("gpt-5.6-sol")
    assert row(table, "batch from 2026-11-22*") == ("2.5", "0.25", "3.125", "—", "15")
    assert row(table, "batch from 2026-11-22*, above 272,000 tokens") == ("5", "0.5", "6.25", "—", "22.5")
    notes = "\n".join(table.notes)
    assert "batch from 2026-11-22: OpenAI pricing page" in notes
    assert "* the lower price of gpt-5.6-sol ends on 2026-11-21, as announced" in notes
    assert "no change" not in notes
    after = shown("gpt-5.6-sol", AT + timedelta(days=2))
    assert row(after, "batch*")[0] == "2.5"
    assert row(after, "without batch*")[0] == "5"
    assert "no change of the batch price is announced" in after.notes


@pytest.mark.parametrize("model", all_models(), ids=lambda model: f"{model.provider}/{model.id}")
def test_every_price_of_every_listed_model_names_its_source_and_day(model):
    sheet = price_sheet(f"{model.provider}/{model.id}", AT)
    table = price_table(sheet)
    terms = [each for each in (sheet.batch, sheet.standard, *(then for _, then in sheet.changes)) if each]
    for each in terms:
        assert any(note.endswith(f": {each.source}, checked {each.checked}") for note in table.notes)
        assert each.assumed is None or f"* {each.assumed}" in table.notes
    assert bool(table.rows) == bool(terms)
    starred = sum(name.split(",")[0].endswith("*") for name, *_ in table.rows)
    assert starred == sum(len(each.tiers) for each in terms if each.assumed)


def test_a_model_without_a_price_is_said_to_have_none_and_never_zero():
    table = shown("vllm/meta-llama/Llama-3.3-70B-Instruct")
    assert table.rows == ()
    assert "price unknown" in table.notes[0]
    half = shown("openai/some-model-of-our-own")
    assert half.rows == ()


def test_the_end_of_a_model_is_shown():
    assert "the model is shut down on 2026-12-01" in shown("gemini-2.5-pro").notes
    assert "the model was shut down on 2026-12-01" in shown("gemini-2.5-pro", datetime(2026, 12, 1, tzinfo=UTC)).notes


def test_the_command_prints_a_table_for_each_model_and_the_same_as_json():
    words = CliRunner().invoke(prices, ["gpt-4o-mini", "claude-sonnet-5"], catch_exceptions=False).stdout
    assert words.index("Prices of gpt-4o-mini at openai") < words.index("Prices of claude-sonnet-5 at anthropic")
    found = json.loads(CliRunner().invoke(prices, ["gpt-4o-mini", "--json"], catch_exceptions=False).stdout)
    assert [sheet["model"] for sheet in found] == ["gpt-4o-mini"]
    assert found[0]["batch"]["tiers"][0]["input"] == 0.075
    assert found[0]["standard"]["tiers"][0]["input"] == 0.15
    assert found[0]["batch"]["source"]
    assert found[0]["batch"]["checked"] == "2026-10-14"


@pytest.mark.parametrize(("arguments", "said"), [([], "of which models"), (["no-such-model"], "is not known")])
def test_what_cannot_be_priced_is_said_in_a_sentence(arguments, said):
    outcome = CliRunner().invoke(prices, arguments)
    assert isinstance(outcome.exception, RunnerError)
    assert outcome.exception.exit_code == 2
    assert said in str(outcome.exception)
