"""Everything that can be known before the first dollar: each check with what it saw, what it needs and how to mend it; go or no go."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_evalharness.base.clock import Clock, iso
from pytest_evalharness.base.files import canonical_json, readable_json, write_atomic
from pytest_evalharness.clbench.campaign import preflight_checkout as of_checkout
from pytest_evalharness.clbench.campaign import preflight_machine as of_machine
from pytest_evalharness.clbench.campaign.asking import Answer, variables
from pytest_evalharness.clbench.campaign.costs import Estimate, budget_check, cost_check, estimate_of
from pytest_evalharness.clbench.campaign.parameters import resolved
from pytest_evalharness.clbench.campaign.plan import Campaign, PlanKind
from pytest_evalharness.clbench.campaign.preflight_dry_run import dry_runs, parameter_check, run_check
from pytest_evalharness.clbench.campaign.preflight_engine import engine_check, repository_of
from pytest_evalharness.clbench.campaign.preflight_keys import OPENROUTER, key_checks_of
from pytest_evalharness.clbench.campaign.preflight_orders import order_check, orders_of
from pytest_evalharness.clbench.campaign.preflight_variables import variable_check
from pytest_evalharness.clbench.checking import Check, State
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.errors import NotReady

FILE = "preflight.json"


class Answered(StrEnum):
    """What the whole says."""

    GO = "go"
    DOUBTS = "go, with doubts"
    """Nothing speaks against it, but something is incomplete or cannot be told."""
    NO_GO = "no go"


@dataclass(frozen=True)
class Preflight:
    """What was found.

    Attributes:
        campaign: with the ids of the images that it will use.
        checks: in the order in which they are told.
        estimate: what it costs, or why nothing tells.
        fingerprint: digest of the campaign's identity: what must not change before a resume.
        record: the file that holds all of this.
    """

    campaign: Campaign
    checks: tuple[Check, ...]
    estimate: Estimate | str
    fingerprint: str
    record: Path

    @property
    def answer(self) -> Answered:
        """Go or no go."""
        states = {one.state for one in self.checks}
        if State.FAILED in states:
            return Answered.NO_GO
        return Answered.GO if states <= {State.OK} else Answered.DOUBTS

    def whoever_has_the_name(self) -> Preflight:
        """Without the check of the run's name: whether that is free is the ledger's to say, whose campaigns are gone on with."""
        return replace(self, checks=tuple(one for one in self.checks if one.name != of_checkout.NAME_CHECK))

    def require(self) -> None:
        """Let nothing start that a check speaks against.

        Raises:
            NotReady: names every check that failed, with what mends it.
        """
        failed = [one for one in self.checks if one.state is State.FAILED]
        if failed:
            raise NotReady(
                f"no go: {'; '.join(f'{one.name}: {one.seen}' for one in failed)}",
                not_done="nothing was started, and nothing was paid",
                next_step="; ".join(dict.fromkeys(one.mend for one in failed if one.mend)),
            )


@dataclass(frozen=True)
class Surroundings:
    """What a preflight asks outside of the checkout.

    Attributes:
        home: the harness's own folder, where the record goes.
        clock: tells the time and bounds questions.
        rng: draws the jitter between tries.
        inherited: variables of this process.
        key_url: the provider's API for keys.
        like: a finished run of the same configuration, for what things cost.
        left: tasks that are still to be run, of a campaign that is gone on with: the others are paid. None of a new one.
        on_step: told what is being looked at.
    """

    home: Path
    clock: Clock
    rng: random.Random
    inherited: Mapping[str, str]
    key_url: str = OPENROUTER
    like: PublishedRun | None = None
    left: tuple[str, ...] | None = None
    on_step: Callable[[str], None] = lambda _: None

    @classmethod
    def here(cls, home: Path, clock: Clock, **more: Any) -> Surroundings:
        """Those of this process."""
        return cls(home, clock, random.Random(), dict(os.environ), **more)


def preflight(campaign: Campaign, around: Surroundings) -> Preflight:
    """Look at everything; nothing is started that costs anything."""
    environment = variables(campaign.environment, around.inherited)
    around.on_step("the checkout: what each task would run")
    answers = dry_runs(campaign, environment)
    applied = _applied(answers)
    images = of_machine.found_images(of_machine.images_of(campaign, applied), around.clock, environment)
    campaign = of_machine.with_images(campaign, images)
    engine = repository_of(campaign, environment, around.clock) if of_machine.runs_engines(campaign) else None
    if engine is not None and engine.revision:
        # What is cloned is as much a part of what is measured as an image.
        campaign = replace(campaign, images={**campaign.images, f"engine at {engine.path}": engine.revision})
    estimate = estimate_of(
        campaign if around.left is None else replace(campaign, tasks=around.left), around.like
    )
    checks = [
        *_checkout_checks(campaign, answers, around, environment),
        cost_check(estimate),
        budget_check(campaign, estimate),
    ]
    around.on_step("the key: what it may spend")
    checks += key_checks_of(
        campaign,
        estimate,
        environment,
        model=str(applied.get("model") or campaign.params.get("model") or ""),
        clock=around.clock,
        rng=around.rng,
        url=around.key_url,
    )
    if engine is not None:
        checks.append(engine_check(engine))
    around.on_step("the machine: memory, disk, images, bridge")
    checks += of_machine.machine_checks(
        campaign, applied, images, clock=around.clock, environment=environment
    )
    checks.append(of_checkout.secrets_check(campaign))
    return _recorded(campaign, checks, estimate, around)


def _checkout_checks(
    campaign: Campaign, answers: Mapping[str, Answer], around: Surroundings, environment: Mapping[str, str]
) -> Iterator[Check]:
    yield of_checkout.revision_check(campaign, around.clock)
    yield of_checkout.program_check(campaign.checkout)
    yield of_checkout.name_check(campaign)
    yield of_checkout.schedule_check(campaign)
    yield of_checkout.coverage_check(campaign)
    yield of_checkout.system_check(campaign)
    yield parameter_check(campaign, answers)
    yield variable_check(campaign)
    yield run_check(campaign, answers)
    if campaign.kind is PlanKind.SMOKE:
        yield order_check(campaign, [])
        return
    around.on_step("the tasks: in which orders seeds would meet instances")
    yield order_check(campaign, orders_of(campaign, environment))


def _applied(answers: Mapping[str, Answer]) -> Mapping[str, Any]:
    """The system's parameters as the first dry run that succeeded resolved them."""
    told = (resolved(one.said) for one in answers.values() if one.ok)
    return next((one.params for one in told if one is not None), {})


def _recorded(
    campaign: Campaign, checks: list[Check], estimate: Estimate | str, around: Surroundings
) -> Preflight:
    """The result, written down beside the campaign's other records."""
    identity = campaign.identity()
    fingerprint = sha256(canonical_json(identity).encode("utf-8", "backslashreplace")).hexdigest()[:16]
    record = around.home / "clbench" / "campaigns" / campaign.slug / FILE
    count = len(identity["environment"])
    seen = f"{fingerprint}: {count} variables, {len(campaign.images)} images and engines, the revision and the arguments, in {record}"
    needed = "what must not change before a resume is written down"
    fine = Check("fingerprint", State.OK, seen, needed)
    found = Preflight(campaign, (*checks, fine), estimate, fingerprint, record)
    try:
        write_atomic(record, readable_json({**told(found), "at": iso(around.clock.now())}), mode=0o600)
    except OSError as problem:
        seen = f"{record} cannot be written: {problem.strerror or problem}"
        return replace(
            found,
            checks=(
                *checks,
                Check("fingerprint", State.FAILED, seen, needed, "--home DIR that can be written"),
            ),
        )
    return found


def told(found: Preflight) -> dict[str, Any]:
    """A preflight as JSON: no prompt, no secret."""
    campaign, estimate = found.campaign, found.estimate
    return {
        "answer": str(found.answer),
        "name": campaign.name,
        "plan": str(campaign.kind),
        "checkout": str(campaign.checkout.root),
        "embedded": campaign.checkout.embedded,
        "recipe": campaign.recipe,
        "deviations": list(campaign.deviations),
        "rollouts": campaign.rollouts,
        "tasks": list(campaign.tasks),
        "dollars": None if isinstance(estimate, str) else round(estimate.dollars, 2),
        "checks": [
            {
                "name": one.name,
                "state": str(one.state),
                "seen": one.seen,
                "needed": one.needed,
                "mend": one.mend,
            }
            for one in found.checks
        ],
        "fingerprint": found.fingerprint,
        "identity": campaign.identity(),
    }
