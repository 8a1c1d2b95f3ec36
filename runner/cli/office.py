"""What every command needs at hand: the folder, the ledger, the clock, the environment, a way to each venue."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runner import models, providers
from runner.chain.advance import Orders, advance
from runner.chain.approve import approve, withdraw
from runner.chain.build import Wanted, build
from runner.chain.calibrate import calibrate
from runner.chain.deleted import fetched_blindly, unknown_jobs
from runner.chain.estimate import estimate
from runner.chain.recover import enter, opened, set_aside
from runner.chain.runs import Run, Workspace, latest_run, read_run, touch
from runner.chain.standing import Standing, halted, open_runs, standing, withheld
from runner.chain.views import job_views
from runner.cli.printing import asker, say, show
from runner.cli.wording import worded
from runner.errors import RunnerError
from runner.ledger import OPEN, Ledger, State
from runner.providers.counting import Count, counter_of
from runner.reporting.estimate_view import Estimate, estimate_table
from runner.reporting.progress import watch
from runner.reporting.words import usd
from runner.venues import EMULATOR, is_rehearsal, rehearsal, rehearsed_day

if TYPE_CHECKING:
    from runner.providers.base import Limits, Provider

Say = Callable[[str], None]
SLOWEST_S = 60.0
TRIES = 8
"""How often waiting tries to send, at a growing pace, while nothing could be sent: half a minute."""
NOWHERE = "http://127.0.0.1:9"
"""An address for what needs one and asks nobody."""
VARIANTS = {"min_history": "min_history", "history_lag": "history_lag_days", "match_length": "match_length"}


@dataclass
class Office:
    """One command's surroundings. Opened by ``office()``, which also stops what it started."""

    workspace: Workspace
    ledger: Ledger
    env: Mapping[str, str]
    exits: ExitStack
    emulators: dict[date | None, str] = field(default_factory=dict)
    providers: dict[tuple[str, str], Provider] = field(default_factory=dict)
    orders: Orders = field(default_factory=Orders)
    tier: str | None = None

    @property
    def now(self) -> datetime:
        """The time, aware."""
        return datetime.now(UTC)

    def connect(self, provider: str, venue: str) -> Provider:
        """Open a venue once per command; the emulator is started when it is the one that answers."""
        key = (provider, venue)
        if key not in self.providers:
            if is_rehearsal(venue):
                url = f"{self._emulator(rehearsed_day(venue))}/{provider}"
                self.providers[key] = providers.connect(provider, self.env_of(provider), base_url=url, venue=venue)
            else:
                here = providers.venue_of(provider, self.env)
                if here != venue:
                    raise RunnerError(
                        f"This run is asked at {venue}, but the environment leads to {here}; set the base URL "
                        f"({provider.upper()}_BASE_URL) that it was submitted with."
                    )
                self.providers[key] = providers.connect(provider, self.env_of(provider))
        return self.providers[key]

    def _emulator(self, day: date | None) -> str:
        if day not in self.emulators:
            from runner.emulator import start

            folder = self.workspace.batches / EMULATOR
            state = folder / str(day) if day else folder
            self.emulators[day] = self.exits.enter_context(start(state, at=day)).base_url
        return self.emulators[day]

    def obey(self, tier: str | None, deadline: timedelta | None, keep_files: bool) -> None:
        """Take in what is ordered for jobs; a tier given by option goes before the environment's."""
        self.tier = tier
        self.orders = Orders(deadline, keep_files)

    def env_of(self, provider: str) -> Mapping[str, str]:
        """The environment for a provider, with the tier that was ordered."""
        variable = providers.tier_variable(provider)
        return {**self.env, variable: self.tier} if self.tier and variable else self.env

    def limits(self, run: Run) -> Limits:
        """What the registry allows the run's model under this environment; needs no key and asks nobody."""
        provider = run.asked.provider
        return providers.connect(provider, self.env_of(provider), base_url=NOWHERE).limits(run.asked.model)

    def check_key(self, options: Mapping[str, Any]) -> None:
        """Say at once that a key is missing, or that nothing can be rehearsed, before any work is done."""
        if not options["model"]:
            return
        provider = models.find_model(options["model"]).provider
        if options["emulate"]:
            providers.connect(provider, self.env_of(provider), base_url=NOWHERE, venue=rehearsal(provider))
        else:
            providers.connect(provider, self.env_of(provider))

    def build(self, options: Mapping[str, Any]) -> Run:
        """The run that the options ask for, by name or by description, built if needed."""
        if options["run_name"]:
            touch(self.workspace, read_run(self.workspace, options["run_name"]).name)
            return read_run(self.workspace, options["run_name"])
        return build(self.workspace, self.wanted(options), self.now, say)

    def wanted(self, options: Mapping[str, Any]) -> Wanted:
        """What the options describe. Raises RunnerError where they name no model or no task."""
        missing = [name for name in ("model", "task") if not options[name]]
        if missing:
            raise RunnerError(f"Say {' and '.join(name.upper() + '=…' for name in missing)} (or RUN=<name of a run>).")
        variants = {there: options[here] for here, there in VARIANTS.items() if options[here]}
        if options["label_balance"] == "off":
            variants["label_balance"] = False
        return Wanted(
            task=options["task"],
            model=options["model"],
            source=options["data"],
            protocol=options["protocol"] or "strict",
            settings=options["settings"],
            limit=options["limit"],
            seed=options["seed"],
            samples=options["samples"],
            variants=variants,
            effort=options["effort"],
            temperature=not options["no_temperature"],
            looks=options["looks"],
            fresh=options["fresh"] or 0,
            emulate=options["emulate"],
            as_of=options["as_of"],
            env=self.env,
        )

    def pick(self, options: Mapping[str, Any]) -> Run:
        """A run that exists: by name, or the latest one of this model, task and protocol."""
        name = options["run_name"] or latest_run(
            self.workspace,
            model=options["model"] and models.find_model(options["model"]).id,
            task=options["task"],
            protocol=options["protocol"],
            emulated=options["emulate"],
            as_of=options["as_of"],
        )
        return read_run(self.workspace, name)

    def open_runs(self, options: Mapping[str, Any]) -> list[str]:
        """The one run that the options name, or all that are open."""
        if self.is_named(options):
            return [self.pick(options).name]
        return open_runs(self.workspace, self.ledger)

    def recover(self) -> None:
        """Complete the ledger from what lies in the folder, or make it anew; ``orphans`` then asks the providers."""
        with self.workspace.locked(say):
            self.ledger.close()
            self.ledger = set_aside(self.workspace, say)
            self.exits.callback(self.ledger.close)
            jobs = enter(self.workspace, self.ledger)
        if jobs:
            here = sum(bool(job.part) for job in jobs)
            out = f", and {len(jobs) - here} that `make collect` looks for" if here < len(jobs) else ""
            say(f"Entered again: {here} batch(es) whose answers are here{out}. `make submit` asks for a new yes.")

    def deleted_runs(self) -> list[str]:
        """Runs with a job whose requests nothing here tells any more: it is brought home whatever is asked."""
        return list(dict.fromkeys(job.run for job in unknown_jobs(self.workspace, self.ledger)))

    def blind(self) -> list[str]:
        """What is said of such jobs."""
        return [fetched_blindly(job) for job in unknown_jobs(self.workspace, self.ledger)]

    def is_named(self, options: Mapping[str, Any]) -> bool:
        """Whether the options choose a run."""
        return any(options[name] for name in ("run_name", "model", "task", "protocol", "emulate"))

    def cancel(self, run: Run) -> list[Standing]:
        """Take the yes back, cancel what is out, and keep what it has answered so far."""
        withdraw(self.workspace, self.ledger, run, self.now, say)
        return self.advance([run.name])

    def estimate(self, run: Run) -> Estimate:
        """What is still to be bought of a run, and for how much; the provider may count some of its prompts first."""
        calibrate(self.workspace, self.ledger, run, lambda: self._counter(run), say)
        return estimate(self.workspace, self.ledger, run, self.now, self.limits(run))

    def _counter(self, run: Run) -> Count | None:
        """The count of the run's own venue, if it offers one and the environment leads there with a key."""
        provider, venue = run.asked.provider, run.asked.venue
        if is_rehearsal(venue):
            if counter_of(provider, self.env, base_url=NOWHERE) is None:
                return None  # no emulator is started for nothing
            url = f"{self._emulator(rehearsed_day(venue))}/{provider}"
            return counter_of(provider, self.env, base_url=url, venue=venue)
        return counter_of(provider, self.env) if providers.venue_of(provider, self.env) == venue else None

    def submit(
        self,
        run: Run,
        budget: float | None,
        yes: bool,
        pilot: int | None = None,
        *,
        quiet: bool = False,
        may_overrule: bool = False,
    ) -> bool:
        """Show the cost (unless ``quiet``), ask, and keep the yes. False when the user said no.

        What has stopped the run is said; only ``submit`` itself may overrule it, never a script that runs again.
        """
        if not is_rehearsal(run.asked.venue):
            self.connect(run.asked.provider, run.asked.venue)  # a missing key is said before anything is asked
        shown = self.estimate(run)
        if not quiet:
            show(estimate_table(shown))
        is_ending = self.ledger.is_withdrawn(run.name) and self.ledger.jobs(run=run.name, states=OPEN)
        if is_ending:
            say("This run is cancelled and its jobs are being stopped; submit it again when `make collect` is done.")
            return False
        if shown.total.to_buy == 0:
            say(_nothing_to_buy(shown))
        elif trouble := withheld(self.ledger, run):
            raise RunnerError(f"{run.name}: {trouble}", code="stopped", exit_code=1)
        elif trouble := halted(self.workspace, self.ledger, run):
            if not may_overrule:
                raise RunnerError(f"{run.name}: {trouble}", code="stopped", exit_code=1)
            say(f"Stopped so far: {trouble}")
        return approve(self.workspace, self.ledger, run, shown, budget, asker(yes), self.now, say, pilot)

    def advance(self, names: Sequence[str], tell: Say = say) -> list[Standing]:
        """Collect what ended and submit what became possible, once."""
        return advance(self.workspace, self.ledger, names, self.connect, self.now, tell, self.orders)

    def standings(self, names: Sequence[str]) -> list[Standing]:
        """Where runs stand by what is here; asks no provider."""
        return [standing(self.workspace, self.ledger, read_run(self.workspace, name)) for name in names]

    def wait(self, names: Sequence[str], poll: float | None) -> list[Standing]:
        """Advance until everything is answered or cannot go on, showing each batch."""
        pause, tries = poll or 1.0, 0
        told: set[str] = set()
        with watch(sys.stderr) as display:

            def tell(sentence: str) -> None:
                if sentence not in told:  # what is said at every poll is said once
                    told.add(sentence)
                    display.note(worded(sentence))

            while True:
                standings = self.advance(names, tell)
                rehearsed = all(is_rehearsal(each.run.asked.venue) for each in standings)
                is_out = any(each.is_in_flight for each in standings)
                tries = tries + 1 if not is_out and any(each.unsent for each in standings) else 0
                if tries == TRIES or not any(each.is_moving for each in standings):
                    if self.ledger.jobs(states=[State.COLLECTED]):
                        self.advance(names, tell)  # input files that could not be removed: once more
                    return standings
                step = min(pause, 0.2) if rehearsed and poll is None else pause
                money = [self.ledger.spent(run=each.run.name) for each in standings]
                spent = sum(each.billed_usd for each in money) if all(each.is_known for each in money) else None
                done = sum(each.final for each in standings)
                total = sum(each.total for each in standings)
                unsent = sum(each.not_sent for each in standings)
                stuck = f"{unsent:,} not sent, " if unsent else ""
                footer = f"{done:,} of {total:,} answered, {stuck}{usd(spent)} so far"
                display.show(job_views(standings, self.ledger), footer)
                time.sleep(step)
                pause = poll or min(SLOWEST_S, pause * 1.5)


def _nothing_to_buy(shown: Estimate) -> str:
    total = shown.total
    if total.not_sent:
        return (
            f"Nothing more to buy: {total.not_sent:,} requests were approved and are not sent yet; they are tried now."
        )
    return f"Nothing to buy: every request is answered{' or in flight' if total.in_flight else ''}."


STOPPED = "Stopped; nothing is lost. Jobs that were sent go on at the provider; the same command goes on from here."
STOPPED_REHEARSAL = (
    "Stopped; nothing is lost. This is a rehearsal on the emulator: nothing was sent anywhere and nothing is paid for; "
    "the same command goes on from here."
)


@contextmanager
def office(stopped: str | None = None, *, reads: bool = False) -> Iterator[Office]:
    """The folder where the command was called, with its ledger. ``stopped`` is what Ctrl-C is answered with.

    Where the ledger is not whole, only a command that ``reads``, and buys nothing, goes on: by what the folder tells.
    """
    workspace = Workspace(Path.cwd())
    with ExitStack() as exits:
        ledger, trouble = opened(workspace)
        exits.callback(ledger.close)
        if trouble and not reads:
            raise RunnerError(trouble, code="ledger")
        if trouble:
            say(trouble)
        here = Office(workspace, ledger, os.environ, exits)
        try:
            yield here
        except (KeyboardInterrupt, click.Abort):
            is_rehearsed = here.providers and all(is_rehearsal(venue) for _, venue in here.providers)
            sentence = stopped or (STOPPED_REHEARSAL if is_rehearsed else STOPPED)
            raise RunnerError(sentence, code="interrupted", exit_code=130) from None


def check_selected(run: Run) -> None:
    """End with exit code 1 when a run has no instance: why, and what would leave one."""
    if run.explanation:
        raise RunnerError(run.explanation, code="empty_selection", exit_code=1)


def problems(standings: Iterable[Standing], others: Iterable[str] = ()) -> None:
    """End with exit code 1 when a run cannot go on by itself, was to send and did not, or of what ``others`` say."""
    said = [f"{each.run.name}: {each.trouble}" for each in standings if each.trouble]
    said += [sentence for sentence in others if not any(sentence in each for each in said)]
    if said:
        raise RunnerError("\n".join(said), code="stopped", exit_code=1)
