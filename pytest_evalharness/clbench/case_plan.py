"""What a CL-Bench case asks for. Pure, but for a look at which run a name leads to."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_evalharness.clbench.campaign.retries import Rule
from pytest_evalharness.clbench.cases import PassName, invariants, pass_names
from pytest_evalharness.clbench.comparing import METRIC
from pytest_evalharness.clbench.domains import BY_TASK, FULL_ROLLOUTS, Family, families
from pytest_evalharness.clbench.scales import Scale
from pytest_evalharness.errors import RunUnreadable
from pytest_evalharness.verdict.claim import Declaration, word
from pytest_evalharness.verdict.words import Claim

PLANS: Mapping[str, int] = {"smoke": 0, "seed": 1, "submission": FULL_ROLLOUTS}
"""Plan → rollouts of each task; a smoke has none that counts."""
SMOKE = "smoke"
RETRIES = tuple(f"retries: {rule}" for rule in Rule)
"""Invariants that are read from the engines' own events, and not from what a run publishes."""
_MOST_ROLLOUTS = 100
_WHOLE_ONLY = frozenset({"coverage", "campaign"})
"""Invariants of a run of every task: of a choice of tasks they say nothing."""


@dataclass(frozen=True)
class RunPlan:
    """One run, as a case describes it.

    Attributes:
        plan: `smoke`, `seed` or `submission`: what is run, and how many rollouts are expected.
        run: a published run in place of one that is made: a directory or a campaign's name; None to make one.
        checkout: of the benchmark, where one is needed.
        system: under test, likewise.
        name: of the campaign.
        tasks: ids; empty for all of the family.
        rollouts: expected of each task.
        losses: passes that are known to be lost, `db/rollout 3` to the reason.
        params: of the system's constructor.
        reference: the run whose baselines normalise; None to look for the leaderboard's.
        scale: of cohort studies.
        runroots: the folder with the engines' runroots; None to check no retries.

    Raises:
        ValueError: a value that cannot be; the message names it.
    """

    plan: str = "submission"
    run: str | None = None
    checkout: str | None = None
    system: str | None = None
    name: str | None = None
    tasks: tuple[str, ...] = ()
    rollouts: int = FULL_ROLLOUTS
    losses: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    reference: str | None = None
    scale: Scale = Scale.BITS
    runroots: str | None = None

    @property
    def makes(self) -> bool:
        """Whether a run is made for it, and none is read that is there already."""
        return self.run is None

    @property
    def campaign(self) -> str:
        """The name of the campaign that is made: the same words find it again and pay nothing twice."""
        return self.name or f"evals-{self.plan}-{self.system}"

    def to_json(self) -> dict[str, Any]:
        """Plain values that tell what is run."""
        return {
            "plan": self.plan,
            "checkout": self.checkout,
            "system": self.system,
            "name": self.campaign,
            "tasks": list(self.tasks),
            "params": dict(self.params),
        }

    def expected(self, family: Family) -> list[PassName]:
        """Every pass that the run has to have."""
        return pass_names(self.tasks or family.tasks, self.rollouts)

    def invariants(self) -> list[str]:
        """Every invariant that may be asked of it."""
        names = [name for name in invariants() if not self.tasks or name not in _WHOLE_ONLY]
        return names if self.runroots is None else [*names, *RETRIES]


@dataclass(frozen=True)
class ComparePlan:
    """Two runs that are to be compared, as a case describes them.

    Attributes:
        candidate: a directory or a campaign's name.
        baseline: likewise.
        declaration: what is claimed.
        reference: the run whose baselines normalise; None for the baseline's own.
        scale: of cohort studies.
        tasks: ids; empty for all that both have.
        checkout: of the benchmark, in which runs may be named by their names alone; None for none.
        aa: whether both are one system by design.
    """

    candidate: str
    baseline: str
    declaration: Declaration
    reference: str | None = None
    scale: Scale = Scale.BITS
    tasks: tuple[str, ...] = ()
    checkout: str | None = None
    aa: bool = False


def run_plan(words: Mapping[str, Any]) -> RunPlan:
    """The plan that some words make.

    Raises:
        ValueError: a value that cannot be.
    """
    plan = words.get("plan") or ("submission" if words.get("run") is not None else None)
    if plan is None:
        raise ValueError(f"neither plan= ({', '.join(PLANS)}) nor run= is named")
    if plan not in PLANS:
        raise ValueError(f"plan must be one of {', '.join(PLANS)}, got {plan!r}{near(str(plan), PLANS)}")
    if plan == SMOKE and words.get("run") is not None:
        raise ValueError("a smoke is run and not read: leave run= out, or name another plan")
    tasks = tasks_of(words.get("tasks"))
    rollouts = words.get("rollouts")
    if rollouts is None:
        rollouts = PLANS[plan]
    elif words.get("run") is None:
        raise ValueError("rollouts are the plan's where a run is made; rollouts= is for run=")
    elif isinstance(rollouts, bool) or not isinstance(rollouts, int) or not 1 <= rollouts <= _MOST_ROLLOUTS:
        raise ValueError(f"rollouts must be 1 to {_MOST_ROLLOUTS}, got {rollouts!r}")
    losses = words.get("losses") or {}
    if not isinstance(losses, Mapping) or not all(isinstance(why, str) and why for why in losses.values()):
        raise ValueError(f'losses are reasons by pass, {{"db/rollout 3": "reason"}}, not {losses!r}')
    made = RunPlan(
        plan=plan,
        run=_text(words, "run"),
        checkout=_text(words, "checkout"),
        system=_text(words, "system"),
        name=_text(words, "name"),
        tasks=tasks,
        rollouts=rollouts,
        losses={str(name): why for name, why in losses.items()},
        params=_mapping(words, "params"),
        reference=_text(words, "reference"),
        scale=scale_of(words.get("scale")),
        runroots=_text(words, "runroots"),
    )
    _require_losses(made)
    return made


def compare_plan(words: Mapping[str, Any]) -> ComparePlan:
    """The comparison that some words make.

    Raises:
        ValueError: a value that cannot be, or a run that is not named.
    """
    for side in ("candidate", "baseline"):
        if not words.get(side):
            raise ValueError(f"no {side} run is named: {side}= takes a directory or a campaign's name")
    said = {key: words[key] for key in ("alpha", "margin", "target_lift") if words.get(key) is not None}
    declared = Declaration(word(Claim, words.get("claim") or "better", "claim"), metric=METRIC, **said)
    return ComparePlan(
        candidate=str(words["candidate"]),
        baseline=str(words["baseline"]),
        declaration=declared,
        reference=_text(words, "reference"),
        scale=scale_of(words.get("scale")),
        tasks=tasks_of(words.get("tasks")),
        checkout=_text(words, "checkout"),
        aa=bool(words.get("aa")),
    )


def tasks_of(told: Any) -> tuple[str, ...]:
    """Task ids of ids or short names, in the benchmark's order.

    Raises:
        ValueError: one that nobody knows, or tasks of two families.
    """
    if told is None:
        return ()
    if isinstance(told, str) or not isinstance(told, Sequence):
        raise ValueError(f"tasks are a list of names, not {told!r}")  # noqa: TRY004 - one error for all
    by_name = {one.short: task for task, one in BY_TASK.items()} | {task: task for task in BY_TASK}
    for name in told:
        if name not in by_name:
            raise ValueError(f"there is no task {name!r}{near(str(name), by_name)}")
    chosen = {by_name[name] for name in told}
    if len(families(chosen)) > 1:
        raise ValueError("tasks of the benchmark and of the embedded miniature have no run in common")
    return tuple(task for task in BY_TASK if task in chosen)


def scale_of(told: Any) -> Scale:
    """A scale of cohort studies; bits if none is named.

    Raises:
        ValueError: it is none.
    """
    try:
        return Scale.BITS if told is None else Scale(told)
    except ValueError:
        raise ValueError(f"scale must be one of {', '.join(Scale)}, got {told!r}") from None


def near(word: str, known: Iterable[str]) -> str:
    """What was probably meant, as the end of a sentence; empty where nothing is near."""
    found = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def family_of(plan: RunPlan, folder: Path | None, *, embedded: bool) -> Family:
    """Whose tasks a plan is about: those that it names, those that its run has files of, or those of its checkout.

    Args:
        plan: of the case.
        folder: the run that it reads, if it reads one that is there.
        embedded: whether the checkout is the embedded miniature.
    """
    held = list(plan.tasks)
    if not held and folder is not None:
        held = [path.name.partition(".")[0] for path in (folder / "tasks").glob("*.json*")]
    found = families(held)
    if len(found) == 1:
        return next(iter(found))
    return Family.EMBEDDED if embedded and folder is None else Family.OFFICIAL


def folder_of(
    told: str, base: Path, campaign: Callable[[str], Path | None], checkout: Path | None = None
) -> Path:
    """The directory of a run that is named by a directory, by a campaign, or by its name in a checkout.

    Args:
        told: what was named.
        base: what relative directories are relative to.
        campaign: the folder of a campaign of that name, None if there is none.
        checkout: of the benchmark, if one is known.

    Raises:
        RunUnreadable: it is none of these.
    """
    named = (base / told).expanduser()
    if named.is_dir():
        return named
    found = campaign(told)
    if found is not None:
        return found
    if checkout is not None and (checkout / "final_results" / "runs" / told).is_dir():
        return checkout / "final_results" / "runs" / told
    raise RunUnreadable(
        f"{told!r} is no directory and no campaign",
        not_done="nothing was judged",
        next_step="name a folder below final_results/runs/, or a campaign that evalharness clbench run made",
    )


def _require_losses(plan: RunPlan) -> None:
    """Refuse a disclosed loss of a pass that is not expected: it would hide nothing and look as if it did."""
    if not plan.losses:
        return
    known = [str(name) for family in Family for name in plan.expected(family)] + plan.invariants()
    for name in plan.losses:
        if name not in known:
            raise ValueError(f"losses name {name!r}, and there is no such case{near(name, known)}")


def _text(words: Mapping[str, Any], name: str) -> str | None:
    value = words.get(name)
    return None if value is None else str(value)


def _mapping(words: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = words.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} is a mapping, not {value!r}")  # noqa: TRY004 - one error for all
    return dict(value)
