"""How would it go?"""

from __future__ import annotations

import json
import os
import tempfile
import urllib.request
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from runner import emulator, providers
from runner.chain.runs import REHEARSALS, Run, Workspace
from runner.cli import options
from runner.cli.office import Office, check_selected, office
from runner.cli.printing import print_json, say, show
from runner.errors import RunnerError
from runner.ledger import Ledger
from runner.reporting.rehearsal_view import Course
from runner.reporting.steps import steps
from runner.venues import rehearsed_day

STOPPED = (
    "Stopped. A rehearsal is played on the emulator, in a folder that is thrown away: nothing was sent anywhere and "
    "nothing was bought; the same command plays it anew."
)


@click.command()
@options.asked
@click.option("--tier", metavar="TIER", help="The account's usage tier at the provider (default: the lowest).")
@options.as_json
def rehearse(tier: str | None, as_json: bool, **chosen: Any) -> None:
    """Play what a run is still to buy on the emulator: waves, time, bill; buys nothing."""
    from runner.chain.queues import queue_of
    from runner.chain.rehearse import EXPIRING
    from runner.reporting.rehearsal_view import Rehearsed, rehearsal_table

    with office(STOPPED) as here:
        here.obey(tier, None, keep_files=True)
        here.check_key({**chosen, "emulate": True})
        run = here.build(chosen)
        check_selected(run)
        expected = here.estimate(run)
        n = expected.total.to_buy
        if not n:
            say("Nothing to rehearse: every request is answered, in flight, or packed and not sent (`make status`).")
            if as_json:
                print_json({"title": expected.title, "calm": None, "troubled": None})
            return
        found = providers.tier_of(run.asked.provider, here.env_of(run.asked.provider))
        day = rehearsed_day(run.asked.venue)
        with tempfile.TemporaryDirectory(prefix=f"{REHEARSALS}{os.getpid()}-", dir=here.workspace.batches) as folder:
            state = Path(folder) / "emulator"
            place = found[0] if found else None
            with emulator.start(state, tier=place, at=day, seed=run.asked.seed) as server:
                here.emulators[day] = server.base_url
                calm, troubled = (
                    _play(here, run, n, Workspace(Path(folder) / name), server.base_url, is_troubled=name == "troubled")
                    for name in ("calm", "troubled")
                )
        queue = queue_of(here.ledger, run.asked.venue, None, run.asked.model, here.limits(run), here.now)
        shown = Rehearsed(
            title=expected.title,
            tier=found[1] if found else None,
            queue=f"in the queue now: {queue}",
            calm=calm,
            troubled=troubled,
            expiring=EXPIRING,
            low_usd=expected.total.low_usd,
            mid_usd=expected.total.mid_usd,
            high_usd=expected.total.high_usd,
            bound_usd=expected.bound_usd,
            window_h=expected.window_h,
        )
        if as_json:
            print_json(asdict(shown))
        else:
            show(rehearsal_table(shown))


def _play(here: Office, run: Run, to_buy: int, stage: Workspace, url: str, *, is_troubled: bool) -> Course:
    """One play, in a workspace that is gone afterwards."""
    from runner.chain.rehearse import play, prepare

    said = "with batches that expire" if is_troubled else "all going well"
    before = _billed(url)
    with closing(Ledger(stage.ledger)) as ledger, steps(f"Rehearsing, {said}", to_buy) as tell:
        course = play(
            stage,
            ledger,
            prepare(here.workspace, here.ledger, run, stage, ledger, here.now),
            here.connect,
            (lambda job: _strike(url, job)) if is_troubled else None,
            lambda: _billed(url) - before,
            tell,
        )
    if not course.batches:
        raise RunnerError(f"Nothing could be sent: {course.stopped}")
    return course


def _strike(url: str, job: str) -> None:
    name = job.rpartition("/")[2]  # Gemini's are batches/…
    body = json.dumps({"job": name, "fault": "expired_partial"}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{url}/control/jobs", body)).close()


def _billed(url: str) -> float:
    with urllib.request.urlopen(f"{url}/control/bill") as reply:
        return float(json.load(reply)["totals"]["usd"])
