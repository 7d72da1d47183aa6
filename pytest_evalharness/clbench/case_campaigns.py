"""Runs that are made for cases: once for all cases, workers and later sessions that ask for the same campaign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.case_plan import RunPlan
from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.ledger.failures import rebuilt, stored
from pytest_evalharness.ledger.states import CampaignState

if TYPE_CHECKING:
    from pytest_evalharness.clbench.campaign.plan import Campaign
    from pytest_evalharness.clbench.campaign.running import Outcome
    from pytest_evalharness.ledger.journal import Ledger

_CLAIM = "campaign"
"""The kind of the ledger's claim under which one process makes a run while the others wait."""
_PATIENCE = 8 * 86_400.0
"""Seconds for which a process waits for another one's campaign: longer than any supervisor lets one run."""
_POLL = 0.5


@dataclass(frozen=True)
class Making:
    """What it takes to make runs.

    Attributes:
        home: the harness's own folder.
        base: what a relative checkout is relative to.
        session: the pytest run's name: each session makes its own smoke, and asks once what a campaign brought.
        ledger: opens the journal.
        clock: tells the time and waits.
        say: told what happens, a line or some.
        note: told what every reader of a report must know.
        abandoned: whether nobody is there any more for whom something would be made.
    """

    home: Path
    base: Path
    session: str
    ledger: Callable[[], Ledger]
    clock: Clock
    say: Callable[[str], None]
    note: Callable[[str], None]
    abandoned: Callable[[], bool] = lambda: False


def campaign_made(plan: RunPlan, how: Making) -> dict[str, Any]:
    """A campaign that has ended, by whichever process asked first: `folder`, `state`, `notices`, `embedded`.

    One that was finished before is read and not run again; one that was begun is gone on with, and pays what is missing.

    Raises:
        EvalHarnessError: a check before the first dollar failed, it changed, or it could not be started.
        KeyboardInterrupt: a signal ended it, in order.
    """

    def produce() -> dict[str, Any]:
        campaign, outcome = _brought(plan, how)
        return _told(campaign, outcome, how)

    return _once(plan, how, produce)


def smoke_made(plan: RunPlan, how: Making) -> dict[str, Any]:
    """This session's smoke, run by whichever process asked first.

    Raises:
        EvalHarnessError: it could not begin.
        KeyboardInterrupt: a signal ended it, in order.
    """

    def produce() -> dict[str, Any]:
        from pytest_evalharness.clbench.campaign.smoke import run_smoke

        campaign = campaign_planned(plan, how)
        found = run_smoke(campaign, how.home, clock=how.clock, on_progress=how.say)
        return {
            "name": campaign.system,
            "embedded": campaign.checkout.embedded,
            "checkout": campaign.checkout.words,
            "questions": found.questions,
            "typed_answers": found.typed_answers,
            "whole": found.whole,
            "exit_code": found.exit_code,
            "stages": {str(one.name): str(one.seen) for one in found.stages},
            "seen": [f"{one.seen} {one.name}: {one.what}" for one in found.stages],
            "cost": found.cost,
            "log": str(found.log),
            "deviations": list(campaign.deviations),
            "notices": [found.schedule, *found.notices],
        }

    return _once(plan, how, produce)


def campaign_planned(plan: RunPlan, how: Making) -> Campaign:
    """The campaign of a plan; nothing is started, but for the miniature, which is laid out below the home.

    Raises:
        EvalHarnessError: there is no such checkout, task or name.
    """
    from pytest_evalharness.clbench.campaign.checkout import EMBEDDED, open_checkout
    from pytest_evalharness.clbench.campaign.plan import PlanKind, campaign_of

    told = str(plan.checkout)
    where = told if told == EMBEDDED else str((how.base / told).expanduser())
    kind = PlanKind(plan.plan)
    return campaign_of(
        open_checkout(where, how.home),
        str(plan.system),
        kind,
        plan.campaign,
        params=plan.params,
        tasks=plan.tasks,
    )


def _once(plan: RunPlan, how: Making, produce: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    asked = {"session": how.session, "plan": plan.to_json()}
    key = sha256(canonical_json(asked).encode()).hexdigest()

    def settled() -> dict[str, Any]:
        # A worker that waited and whose session was killed: of what it began, nobody would see the end.
        if how.abandoned():
            raise KeyboardInterrupt("the session is gone, so nothing was started for it")
        # What could not be made is not tried again for every case: the next session may.
        try:
            return {"made": produce()}
        except EvalHarnessError as error:
            return {"failure": stored(error)}

    deadline = Deadline.after(how.clock, _PATIENCE)
    value = how.ledger().once(_CLAIM, key, settled, deadline=deadline, poll=_POLL)
    if "failure" in value:
        raise rebuilt(value["failure"])
    made: dict[str, Any] = value["made"]
    return made


def _brought(plan: RunPlan, how: Making) -> tuple[Campaign, Outcome | None]:
    """The campaign, and how it ended; no outcome of one that was finished before."""
    from pytest_evalharness.clbench.campaign.key_watch import watch_over
    from pytest_evalharness.clbench.campaign.resuming import begun, require_same, with_images_of
    from pytest_evalharness.clbench.campaign.running import run_campaign

    ledger, campaign = how.ledger(), campaign_planned(plan, how)
    record = ledger.campaigns.find(campaign.name)
    if record is not None and record.state is CampaignState.FINISHED:
        require_same(with_images_of(record, campaign), record.identity, ())
        return campaign, None
    campaign = _allowed(campaign, how)
    outcome = run_campaign(
        campaign,
        ledger,
        clock=how.clock,
        on_progress=how.say,
        missing_only=begun(campaign),
        money=watch_over(campaign, how.clock),
    )
    if outcome.signalled:
        raise KeyboardInterrupt
    return campaign, outcome


def _allowed(campaign: Campaign, how: Making) -> Campaign:
    """The campaign, once nothing speaks against it, with the ids of its images.

    Raises:
        NotReady: something does; nothing was started.
    """
    from pytest_evalharness.clbench.campaign.preflight import Surroundings, preflight
    from pytest_evalharness.clbench.campaign.resuming import begun, still_to_run
    from pytest_evalharness.clbench.checking import State

    left = still_to_run(campaign, how.clock) if begun(campaign) else None
    found = preflight(campaign, Surroundings.here(how.home, how.clock, left=left)).whoever_has_the_name()
    found.require()
    doubts = [f"{one.name}: {printable(one.seen, 200)}" for one in found.checks if one.state is not State.OK]
    how.say(f"preflight: {found.answer}{': ' + '; '.join(doubts) if doubts else ''}")
    return found.campaign


def _told(campaign: Campaign, outcome: Outcome | None, how: Making) -> dict[str, Any]:
    from pytest_evalharness.clbench.campaign.resuming import age

    record = how.ledger().campaigns.find(campaign.name) if outcome is None else None
    since = f" {age(how.ledger(), record, how.clock)}" if record else ""
    return {
        "name": campaign.name,
        "folder": str(campaign.run_folder),
        "embedded": campaign.checkout.embedded,
        "checkout": campaign.checkout.words,
        "state": str(CampaignState.FINISHED if outcome is None else outcome.state),
        "deviations": list(campaign.deviations),
        "notices": [f"it was finished{since}: nothing was run"] if outcome is None else list(outcome.notices),
        "alarms": [] if outcome is None else [f"{one.kind}: {one.text}" for one in outcome.alarms],
    }
