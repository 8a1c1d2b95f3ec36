"""From what ``score`` wrote to the files that are read: whole, small, and with everything beside an answer."""

import base64
import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from runner.benchmarks.base import Funnel
from runner.chain.files import write_frame
from runner.chain.report import write_report
from runner.chain.runs import Asked, Folders, Run, Workspace
from runner.request import Body, Message
from tests.reporting.runs_to_show import SETTINGS, summary

ASKED = Asked("personaconvbench", "3.1", "gpt-9", "openai", "openai", "strict", "1", "f00d", SETTINGS, None, 0, 1)
RUN = Run(ASKED, "sample", 0, 0, 0, Funnel((), {}), None, {}, "exact", True, (), (), None, {}, "2031-05-01")


def asked(number: int, setting: str) -> Body:
    return Body((Message("system", "Predict."), Message("user", f"instance {number}\nin {setting}")), 16)


def scored(root: Path, n: int, failed: frozenset[int] = frozenset(), tokens: int = 50) -> Folders:
    """A run of ``n`` instances in four settings, as the steps before leave it."""
    folders = Folders(Workspace(root), RUN.name)
    pairs = [(number, setting) for number in range(n) for setting in SETTINGS]
    names = [f"i{number}" for number, _ in pairs]
    settings = [setting for _, setting in pairs]
    ids = [f"{number}-{setting}" for number, setting in pairs]
    write_frame(folders.instances, pl.DataFrame({"instance_id": [f"i{number}" for number in range(n)]}))
    requests = pl.DataFrame({"instance_id": names, "setting": settings, "draw": 0, "n": 1, "request_id": ids})
    write_frame(folders.requests(1), requests.with_columns(tokens=tokens))
    write_frame(
        folders.bodies(1), pl.DataFrame({"request_id": ids, "body": [asked(*pair).to_json() for pair in pairs]})
    )
    answered = pl.DataFrame({"request_id": ids, "choice": 0, "model_version": "gpt-9-old", "bought_by": "another run"})
    write_frame(folders.responses, answered)
    items = pl.DataFrame(
        {
            "instance_id": names,
            "setting": settings,
            "sample": 0,
            "domain": ["gaming" if number % 2 else "science" for number, _ in pairs],
            "user": [f"u{number % 30}" for number, _ in pairs],
            "stratum": "all",
            "stratum_size": n,
            "reason": ["refused" if number in failed else None for number, _ in pairs],
            "truth": True,
            "predicted": ["negative" if number in failed else "positive" for number, _ in pairs],
            "correct": [number not in failed for number, _ in pairs],
            "request_id": ids,
            "text": [None if number in failed else "positive, I think" for number, _ in pairs],
            "reference": "positive",
        },
        schema_overrides={"reason": pl.String},
    )
    write_frame(folders.scores, items)
    folders.summary.write_text(summary(instances=n).to_json())
    return folders


def packed(html: str, name: str) -> Any:
    found = re.search(rf'id="{name}">([^<]*)<', html)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


@dataclass(frozen=True)
class Written:
    root: Path
    markdown: Path
    page: Path
    charts: Path

    @property
    def html(self) -> str:
        return self.page.read_text()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Of twelve instances, one failed; a chart of yesterday was in the way."""
    root = tmp_path_factory.mktemp("run")
    folders = scored(root, 12, failed=frozenset({3}))
    left_over = folders.results / "charts" / "of-yesterday.png"
    left_over.parent.mkdir(parents=True)
    left_over.write_bytes(b"not a result any more")
    return Written(root, *write_report(Workspace(root), RUN))


def test_a_report_is_two_files_and_a_folder_of_charts(report: Written) -> None:
    assert (report.markdown.name, report.page.name, report.charts.name) == ("report.md", "report.html", "charts")
    linked = set(re.findall(r'href="charts/([^"]+)"', report.html))
    assert linked == {path.name for path in report.charts.iterdir()}
    assert {path.suffix for path in report.charts.iterdir()} == {".svg", ".png", ".pdf"}
    assert all(f"charts/{path.name}" in report.markdown.read_text() for path in report.charts.glob("*.png"))


def test_beside_an_answer_stand_its_prompt_reference_scores_and_origin(report: Written) -> None:
    rows = packed(report.html, "rows")["instances"]
    assert [row["id"] for row in rows] == [f"i{number}" for number in range(12)]
    row, answer = rows[5], rows[5]["answers"][2]
    assert (row["domain"], row["reference"]) == ("gaming", "positive")
    assert (answer["setting"], answer["text"], answer["grade"]) == ("np-conv", "positive, I think", "right")
    assert (answer["version"], answer["bought"]) == ("gpt-9-old", "another run")
    assert answer["values"]["predicted"] == "positive"
    assert not {"user", "text", "reason"} & set(answer["values"])
    failed = rows[3]["answers"][0]
    assert (failed["text"], failed["reason"], failed["grade"]) == (None, "refused", "failed")


def test_a_prompt_is_shown_as_it_was_sent(report: Written) -> None:
    row = packed(report.html, "rows")["instances"][5]
    prompts = packed(report.html, f"prompts-{row['block']}")
    said = [
        Message(role, "\n".join(prompts["lines"][line] for line in lines))
        for role, lines in prompts["prompts"][row["answers"][2]["request"]]
    ]
    assert tuple(said) == asked(5, "np-conv").messages


def test_the_same_scores_give_the_same_files(report: Written) -> None:
    files = [report.markdown, report.page, *sorted(report.charts.iterdir())]
    first = [path.read_bytes() for path in files]
    write_report(Workspace(report.root), RUN)
    assert [path.read_bytes() for path in files] == first


def test_of_a_large_run_the_page_holds_the_first_and_some_that_failed_late(tmp_path: Path) -> None:
    late = frozenset(range(4_900, 5_000))
    scored(tmp_path, 5_000, late, tokens=20_000)  # as long as prompts come: few can be read in
    _, page, _ = write_report(Workspace(tmp_path), RUN, files=False)
    html = page.read_text()
    rows = packed(html, "rows")["instances"]
    assert 100 < len(rows) < 1_000
    assert f"Showing {len(rows)} of 5,000 instances" in html
    failures = sum(row["answers"][0]["grade"] == "failed" for row in rows)
    assert failures == min(len(late), len(rows) // 4)
    others = [row["place"] for row in rows if row["answers"][0]["grade"] != "failed"]
    assert others == list(range(len(others)))


def test_without_an_answer_the_report_says_so_and_draws_nothing(tmp_path: Path) -> None:
    folders = scored(tmp_path, 3)
    write_frame(folders.scores, pl.DataFrame())
    nothing = summary([], [], instances=3, failures=(), explanation="No answer is final yet.", state="partial")
    folders.summary.write_text(nothing.to_json())
    markdown, page, charts = write_report(Workspace(tmp_path), RUN)
    assert "No answer is final yet." in page.read_text()
    assert "No answer is final yet." in markdown.read_text()
    assert "explorer" not in re.sub(r"<style>.*?</style>", "", page.read_text(), flags=re.DOTALL)
    assert not charts.exists() or not list(charts.iterdir())
