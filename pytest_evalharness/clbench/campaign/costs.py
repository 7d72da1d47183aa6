"""What a plan is expected to cost, by task: from published campaigns of the runbook's configuration, or from a run that is named. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from pytest_evalharness.clbench.artifact import TaskArtifact
from pytest_evalharness.clbench.campaign.command_lines import SMOKE_QUESTIONS
from pytest_evalharness.clbench.campaign.plan import Campaign, PlanKind
from pytest_evalharness.clbench.campaign.recipe import BUDGET, DEFAULT_BUDGET, OUROBOROS, RUNBOOK
from pytest_evalharness.clbench.checking import Check, State
from pytest_evalharness.clbench.domains import (
    BY_TASK,
    CODEBASE,
    COHORT,
    DATABASE,
    POKER,
    SALES,
    SPECTRUM,
)
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.whole_passes import usable

SAFETY = 1.2
"""What is expected, times this, has to fit under a cap: a rollout that meets its cap is worthless from there on."""
SMOKE = 5.0
_LOW = {POKER: 117.0, SPECTRUM: 60.0, COHORT: 58.0, CODEBASE: 33.0, SALES: 26.0, DATABASE: 25.0}
"""Dollars of one rollout at effort low: the runbook's measurement of one seed."""
_HIGH = {POKER: 149.52, COHORT: 84.11, SALES: 76.18, SPECTRUM: 71.42, CODEBASE: 31.47, DATABASE: 27.96}
"""At effort high: means over five rollouts of the published submission."""
_SEED = 530.0
"""One seed at effort low with all baselines; what is not rollouts is baselines, and nobody told them by task."""
BASELINE_SHARE = (_SEED - sum(_LOW.values())) / sum(_LOW.values())
"""Dollars of a task's baseline for each dollar of one rollout of it."""
_MINIATURE = {
    "mini_ledger_lookup": (0.08, 0.09),
    "mini_coin_duel": (0.03, 0.03),
    "mini_band_scan": (0.03, 0.03),
    "mini_shop_forecast": (0.04, 0.04),
}
"""Make-believe dollars of the dearest of the miniature's systems without an engine, rounded up."""
_MINIATURE_ENGINE = {
    "mini_ledger_lookup": (1.65, 1.97),
    "mini_coin_duel": (0.60, 0.57),
    "mini_band_scan": (0.42, 0.41),
    "mini_shop_forecast": (0.66, 0.65),
}
"""Those of its adapter, whose engine takes a task for each question."""
_LITTLE = frozenset({"none", "minimal", "low"})


@dataclass(frozen=True)
class TaskCost:
    """Dollars of one task: of one rollout, and of its baseline, which is passed once."""

    rollout: float
    baseline: float


@dataclass(frozen=True)
class Estimate:
    """What a plan is expected to cost.

    Attributes:
        tasks: by id.
        rollouts: of each task.
        source: where the numbers are from, in words.
        doubt: why they may be another configuration's; empty where they are of this one.
    """

    tasks: Mapping[str, TaskCost]
    rollouts: int
    source: str
    doubt: str = ""

    @property
    def dollars(self) -> float:
        """Of the whole plan."""
        return sum(one.rollout * self.rollouts + one.baseline for one in self.tasks.values())


def elsewhere(system: str, *, embedded: bool) -> Mapping[str, TaskCost]:
    """What tasks have cost in published campaigns of the runbook's configuration at effort low; empty where nothing tells."""
    if embedded:
        return {task: TaskCost(*told) for task, told in _miniature(system).items()}
    if system != OUROBOROS:
        return {}
    return {task: TaskCost(rollout, rollout * BASELINE_SHARE) for task, rollout in _LOW.items()}


def _miniature(system: str) -> Mapping[str, tuple[float, float]]:
    return _MINIATURE_ENGINE if system == OUROBOROS else _MINIATURE


def estimate_of(campaign: Campaign, like: PublishedRun | None = None) -> Estimate | str:
    """What a campaign is expected to cost, or why nothing tells.

    Args:
        campaign: the plan.
        like: a run of the same system and configuration.
    """
    if like is not None:
        return _like(campaign, like)
    if campaign.checkout.embedded:
        known = elsewhere(campaign.system, embedded=True)
        told = {task: _smoked(campaign, task, known[task]) for task in campaign.tasks if task in known}
        return _whole(campaign, told, "the miniature's own prices, which nobody pays")
    if campaign.system != OUROBOROS:
        return f"nothing is known of what {campaign.system} costs"
    if campaign.kind is PlanKind.SMOKE:
        return Estimate({task: TaskCost(SMOKE, 0.0) for task in campaign.tasks}, 1, "the runbook: $3 to $5")
    little = campaign.environment.get("OUROBOROS_EFFORT_TASK", "low") in _LITTLE
    rates = _LOW if little else _HIGH
    share = BASELINE_SHARE if campaign.has_baseline else 0.0
    told = {task: TaskCost(rates[task], rates[task] * share) for task in campaign.tasks if task in rates}
    source = "one seed at effort low" if little else "a published submission at effort high"
    model, mine = RUNBOOK.params["model"], campaign.params.get("model")
    return _whole(campaign, told, source, "" if model == mine else f"measured with {model}, not with {mine}")


def _smoked(campaign: Campaign, task: str, whole: TaskCost) -> TaskCost:
    """What a plan takes of a task: a smoke asks a few of its questions, and only engines leave the baseline out."""
    if campaign.kind is not PlanKind.SMOKE:
        return whole
    part = SMOKE_QUESTIONS / BY_TASK[task].instances
    return TaskCost(whole.rollout * part, 0.0 if campaign.system == OUROBOROS else whole.baseline * part)


def _like(campaign: Campaign, like: PublishedRun) -> Estimate | str:
    told = {
        task: _smoked(campaign, task, cost)
        for task in campaign.tasks
        if task in like.tasks and (cost := _of(like.tasks[task], baseline=campaign.has_baseline)) is not None
    }
    mine = [like.tasks[task] for task in told]
    return _whole(campaign, told, f"the run {like.name}", "; ".join(_other(campaign, mine)))


def _of(artifact: TaskArtifact, *, baseline: bool) -> TaskCost | None:
    """What a run paid for a task: a rollout that was cut short would tell too little."""
    costs = [one.cost for one in usable(artifact)[0] if one.cost]
    apart = artifact.baseline.cost if artifact.baseline is not None else None
    if not costs or (baseline and apart is None):
        return None
    return TaskCost(fmean(costs), (apart or 0.0) if baseline else 0.0)


def _other(campaign: Campaign, artifacts: Sequence[TaskArtifact]) -> Iterator[str]:
    """In what a run is not of the campaign's configuration, or does not tell all that it paid."""
    if others := {one.system for one in artifacts if one.system} - {campaign.system}:
        yield f"it is of {', '.join(sorted(others))}"
    wanted = campaign.params.get("model")
    if wanted and (models := {one.model for one in artifacts if one.model} - {wanted}):
        yield f"its model is {', '.join(sorted(models))}"
    if any(one.unpriced for artifact in artifacts for one in artifact.rollouts):
        yield "some of its calls have no price"


def _whole(campaign: Campaign, told: Mapping[str, TaskCost], source: str, doubt: str = "") -> Estimate | str:
    missing = [task for task in campaign.tasks if task not in told]
    if missing:
        return f"{source} does not tell what {', '.join(missing)} costs"
    rollouts = 1 if campaign.kind is PlanKind.SMOKE else campaign.rollouts
    return Estimate(told, rollouts, source, doubt)


def cost_check(estimate: Estimate | str) -> Check:
    """What the plan is expected to cost, told before anything is paid."""
    name, needed = "cost", "an estimate of what the plan costs"
    how = "--like RUNDIR names a finished run of the same system and parameters"
    if isinstance(estimate, str):
        return Check(name, State.UNKNOWN, estimate, needed, how)
    if not estimate.tasks:
        return Check(name, State.OK, "$0.00: nothing is left to be run", needed)
    told = ", ".join(
        f"{task} {estimate.rollouts} x ${one.rollout:,.2f} + ${one.baseline:,.2f}"
        for task, one in estimate.tasks.items()
    )
    seen = f"${estimate.dollars:,.2f} by {estimate.source} (rollouts + baseline: {told})"
    if estimate.doubt:
        return Check(name, State.UNKNOWN, f"{seen}; {estimate.doubt}", needed, how)
    return Check(name, State.OK, seen, needed)


def budget_check(campaign: Campaign, estimate: Estimate | str) -> Check:
    """Whether no rollout meets the engine's cap: from there on it earns nothing, and nobody is told."""
    name = "budget a domain-seed"
    if campaign.system != OUROBOROS:
        return Check(
            name, State.OK, f"{campaign.system} has no cap that is known", "a cap that no rollout meets"
        )
    told = campaign.environment.get(BUDGET)
    needed = f"{BUDGET} of {SAFETY:g} times the dearest rollout"
    try:
        cap = DEFAULT_BUDGET if told is None else float(told)
    except ValueError:
        return Check(name, State.FAILED, f"{BUDGET} is no number", needed, f"export {BUDGET}=200")
    seen = f"{BUDGET} is {cap:g}" if told is not None else f"{BUDGET} is not set: {cap:g}"
    if isinstance(estimate, str):
        return Check(name, State.UNKNOWN, f"{seen}; {estimate}", needed, "--like RUNDIR")
    if not estimate.tasks:
        return Check(name, State.OK, f"{seen}; nothing is left to be run", needed)
    over = {task: one.rollout for task, one in estimate.tasks.items() if one.rollout * SAFETY > cap}
    if not over:
        dearest = max(estimate.tasks, key=lambda task: estimate.tasks[task].rollout)
        return Check(
            name,
            State.OK,
            f"{seen}; the dearest is {dearest} at ${estimate.tasks[dearest].rollout:,.2f}",
            needed,
        )
    most = max(over.values())
    shown = ", ".join(f"{task} ${cost:,.2f}" for task, cost in over.items())
    step = f"export {BUDGET}={max(200, round(most * SAFETY + 0.5))}"
    return Check(name, State.FAILED, f"{seen}; a rollout would be cut off: {shown}", needed, step)
