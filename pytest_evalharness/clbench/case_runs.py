"""The runs behind a session's cases: read once a process, made once for all of its processes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_evalharness.base.text import printable, redact
from pytest_evalharness.clbench import cases
from pytest_evalharness.clbench.campaign.beside import environment_of
from pytest_evalharness.clbench.campaign.checkout import EMBEDDED
from pytest_evalharness.clbench.campaign.plan import differences
from pytest_evalharness.clbench.campaign.retries import retry_checks_of
from pytest_evalharness.clbench.case_campaigns import Making, campaign_made, campaign_planned, smoke_made
from pytest_evalharness.clbench.case_plan import RETRIES, SMOKE, ComparePlan, RunPlan, folder_of
from pytest_evalharness.clbench.cases import OF_LOSSES, PassName, invariants
from pytest_evalharness.clbench.checking import Check, State
from pytest_evalharness.clbench.compared import ComparedRuns
from pytest_evalharness.clbench.comparing import RunComparison, compare
from pytest_evalharness.clbench.domains import BY_TASK, Family
from pytest_evalharness.clbench.leaderboard import reference_of
from pytest_evalharness.clbench.looked import LookedCheck, LookedRun
from pytest_evalharness.clbench.looked_scores import LookedScores
from pytest_evalharness.clbench.poisoning import auto_resolved, flags
from pytest_evalharness.clbench.run_folder import PublishedRun, read_run
from pytest_evalharness.clbench.scoring import score_run
from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.ledger.campaigns import CampaignRecord
from pytest_evalharness.ledger.states import CampaignState
from pytest_evalharness.verdict.checks import Check as VerdictCheck
from pytest_evalharness.verdict.checks import CheckState

MINIATURE = (
    "the benchmark is the embedded miniature: invented tasks, whose numbers say nothing of a system elsewhere"
)
"""What every report of such a run says first."""


class CaseRuns:
    """Every run that cases of this process ask for.

    Args:
        how: what it takes to make runs; its base is what relative directories are relative to.
    """

    def __init__(self, how: Making) -> None:
        self._how = how
        self._read: dict[Path, PublishedRun] = {}
        self._made: dict[str, dict[str, Any]] = {}
        self._gates: dict[ComparePlan, float] = {}

    def folder(self, told: str, checkout: str | None = None) -> Path:
        """Where a run is.

        Args:
            told: a directory, a campaign, or a run's name in the checkout.
            checkout: of the benchmark; None for none.

        Raises:
            RunUnreadable: it is none of these.
        """
        root = None
        if checkout is not None:
            embedded_root = self._how.home / "clbench" / "checkout"
            root = embedded_root if checkout == EMBEDDED else (self._how.base / checkout).expanduser()
        return folder_of(told, self._how.base, self._campaign, root)

    def published(self, told: str, checkout: str | None = None) -> PublishedRun:
        """A run, read once; arguments and errors as of `folder`, or it is no run."""
        return self._held(self.folder(told, checkout))

    def _held(self, folder: Path) -> PublishedRun:
        where = folder.resolve()
        if where not in self._read:
            self._read[where] = read_run(where)
            if embedded(self._read[where]):
                self._how.note(MINIATURE)
        return self._read[where]

    def _of(self, plan: RunPlan) -> tuple[PublishedRun, list[str]]:
        """The published run of a plan, made if there is none, and what is to be told of how it was made."""
        if plan.run is not None:
            return self.published(plan.run, plan.checkout), []
        key = repr(plan.to_json())
        if key not in self._made:
            self._made[key] = campaign_made(plan, self._how)
        made = self._made[key]
        for one in (*made["notices"], *made["alarms"]):
            self._how.note(f"campaign {printable(made['name'])}: {one}")
        told = [f"campaign {made['state']}, {made['checkout']}", *made["notices"], *made["alarms"]]
        told += [f"not the recipe: {one}" for one in made["deviations"]]
        return self._held(Path(made["folder"])), told

    def run(self, plan: RunPlan) -> LookedRun:
        """The run of a plan as a case sees it.

        Raises:
            EvalHarnessError: it is not there, or could not be made.
        """
        if plan.plan == SMOKE:
            made = smoke_made(plan, self._how)
            if made["embedded"]:
                self._how.note(MINIATURE)
            return _smoke(made)
        run, told = self._of(plan)
        expected = plan.expected(run.family)
        met = [cases.of_pass(run, name) for name in expected]
        questions, answered = _answers(run, expected)
        return LookedRun(
            "published run" if plan.run is not None else plan.plan,
            run.name,
            run.folder,
            questions=questions,
            typed_answers=answered,
            told=told + [f"{one.name}: {one.state}, {one.seen}" for one in met],
            published=run,
            faults=[f"{one.name}: {one.seen}" for one in met if one.state is not State.OK],
            embedded=embedded(run),
        )

    def of_pass(self, plan: RunPlan, name: PassName) -> LookedCheck:
        """One pass of a plan's run; errors as of `run`."""
        run, _ = self._of(plan)
        loss = plan.losses.get(str(name), "")
        return LookedCheck(cases.of_pass(run, name), "pass", run.name, loss=loss, embedded=embedded(run))

    def of_invariant(self, plan: RunPlan, name: str) -> LookedCheck:
        """One invariant of a plan's run; errors as of `run`."""
        run, _ = self._of(plan)
        loss = plan.losses.get(name, "")
        found = self._retries(plan, name) if name in RETRIES else cases.of_invariant(run, name)
        return LookedCheck(found, "invariant", run.name, loss=loss, embedded=embedded(run))

    def _retries(self, plan: RunPlan, name: str) -> Check:
        """One rule of the retry budget, held against the engines' own events; of a campaign with the limits that it set."""
        root = (self._how.base / str(plan.runroots)).expanduser()
        record = self._record(plan.run or plan.campaign)
        variables = {**os.environ, **({} if record is None else environment_of(record))}
        since = 0.0 if record is None else record.created_at
        return next(one for one in retry_checks_of(root, variables, since=since) if one.name == name)

    def scores(self, plan: RunPlan) -> LookedScores:
        """The scores of a plan's run.

        Raises:
            EvalHarnessError: as `run` and `score_run`, or nothing normalises it.
        """
        run, _ = self._of(plan)
        told = None if plan.reference is None else self.folder(plan.reference, plan.checkout)
        score = score_run(run, reference_of([run], told), plan.scale)
        return LookedScores(score, doubts(run, plan), run.folder, embedded=embedded(run))

    def preview(self, plan: RunPlan | ComparePlan) -> list[str]:
        """What a plan would run or read, a line each. Nothing is started for it, and no run is read.

        Raises:
            EvalHarnessError: something that it names is not there.
        """
        if isinstance(plan, ComparePlan):
            declared = plan.declaration
            within = "" if declared.margin is None else f" within {declared.margin:g} normalised reward"
            return [
                f"candidate  {self.folder(plan.candidate, plan.checkout)}",
                f"baseline   {self.folder(plan.baseline, plan.checkout)}",
                f"reference  {'the baseline' if plan.reference is None else self.folder(plan.reference, plan.checkout)}",
                f"claim      {declared.claim}{within}",
            ]
        expected = f"rollouts   {plan.rollouts} of each task expected"
        if plan.run is not None:
            return [f"reads      {self.folder(plan.run, plan.checkout)}", expected]
        told = [f"runs       {plan.plan} of {plan.system}, campaign {plan.campaign}"]
        if plan.checkout == EMBEDDED:
            return [
                *told,
                "checkout   embedded miniature, laid out below the home when a case runs",
                expected,
            ]
        campaign = campaign_planned(plan, self._how)
        told += [
            f"checkout   {campaign.checkout.words}",
            f"starts     {redact(shlex.join(campaign.argv))}",
            expected,
        ]
        return told + [f"deviates   {one}" for one in campaign.deviations]

    def compare(
        self, plan: ComparePlan, together: Sequence[ComparePlan | None] | None = None
    ) -> ComparedRuns:
        """Two runs, compared.

        Args:
            plan: what is asked.
            together: every comparison that is tested together with it, itself included; None in the place of one that is
                not run. None if it is adjusted for nobody.

        Raises:
            EvalHarnessError: one of them is not there, or they have nothing in common.
        """
        return ComparedRuns(self._compared(plan, None if together is None else self._others(plan, together)))

    def _compared(self, plan: ComparePlan, others: Sequence[float] | None) -> RunComparison:
        reference = None if plan.reference is None else self.published(plan.reference, plan.checkout)
        return compare(
            plan.declaration,
            self.published(plan.candidate, plan.checkout),
            self.published(plan.baseline, plan.checkout),
            reference=reference,
            scale=plan.scale,
            tasks=plan.tasks,
            beside=self._campaigns(plan),
            others=others,
            aa=plan.aa,
        )

    def _others(self, plan: ComparePlan, together: Sequence[ComparePlan | None]) -> list[float]:
        """What the others bring to Holm's adjustment. A guard's margin is its own, and its direction stands beside them all."""
        others = [one for one in together if one != plan]
        if plan.declaration.claim.needs_margin:
            return [1.0] * len(others)
        return [self._gate(one) for one in others if one is None or not one.declaration.claim.needs_margin]

    def _gate(self, plan: ComparePlan | None) -> float:
        """The p-value of another comparison; 1 where nobody should believe one, or its campaign has not ended."""
        if plan is None or not self._ended(plan):
            return 1.0
        if plan not in self._gates:
            try:
                self._gates[plan] = self._compared(plan, None).p_gate
            except EvalHarnessError:
                return 1.0
        return self._gates[plan]

    def _ended(self, plan: ComparePlan) -> bool:
        """Whether none of a comparison's runs is still being made: a look before its end would be kept, and be another run."""
        records = [self._record(name) for name in (plan.candidate, plan.baseline, plan.reference) if name]
        return all(one is None or one.state is CampaignState.FINISHED for one in records)

    def _campaigns(self, plan: ComparePlan) -> list[VerdictCheck]:
        """In what the campaigns behind two runs differ, where the journal knows both: the edit, and whatever else."""
        ours, theirs = self._record(plan.candidate), self._record(plan.baseline)
        if ours is None or theirs is None:
            return []
        apart = differences(theirs.identity, ours.identity)
        state = CheckState.NOTED if apart else CheckState.OK
        return [VerdictCheck("campaigns", state, "; ".join(apart) or "typed and set up alike")]

    def _record(self, name: str) -> CampaignRecord | None:
        """What the journal knows of a campaign; a directory is none, and needs no journal."""
        if (self._how.base / name).expanduser().is_dir():
            return None
        return self._how.ledger().campaigns.find(name)

    def _campaign(self, name: str) -> Path | None:
        """The folder of a campaign that the journal knows."""
        record = self._record(name)
        if record is None:
            return None
        folder = record.told.get("run_folder")
        return None if folder is None else Path(str(folder))


def _smoke(made: dict[str, Any]) -> LookedRun:
    """A smoke as a case sees it."""
    cost = "at a cost that nothing tells" if made["cost"] is None else f"at a cost of ${made['cost']:.2f}"
    ended = "" if made["exit_code"] == 0 else f", the benchmark ended with {made['exit_code']}"
    return LookedRun(
        SMOKE,
        made["name"],
        None,
        questions=made["questions"],
        typed_answers=made["typed_answers"],
        told=[
            *made["seen"],
            f"{made['checkout']}, {cost}{ended}",
            *made["notices"],
            *(f"not the recipe: {one}" for one in made["deviations"]),
            f"log: {made['log']}",
        ],
        stages=made["stages"],
        faults=() if made["whole"] else ("a stage was not seen, or the benchmark did not end well",),
        embedded=made["embedded"],
    )


def embedded(run: PublishedRun) -> bool:
    """Whether a run is of the embedded miniature."""
    return run.family is Family.EMBEDDED


def doubts(run: PublishedRun, plan: RunPlan) -> list[Check]:
    """The checks that forbid to believe a run's scores: all that failed, but for lost passes that the plan discloses by name."""
    undisclosed = [flag for flag in flags(run) if str(PassName(flag.task, flag.run_index)) not in plan.losses]
    return [
        one
        for name, check in invariants().items()
        if (one := check(run)).state is State.FAILED
        and name not in plan.losses
        and (name not in OF_LOSSES or undisclosed)
    ]


def _answers(run: PublishedRun, expected: list[PassName]) -> tuple[int, int]:
    """Questions of the expected passes, and those that the system itself answered; what ended before its turn is none."""
    questions = answered = 0
    for name in expected:
        artifact = run.tasks.get(name.task)
        one = None if artifact is None else cases.pass_of(artifact, name.run_index)
        size = 0 if artifact is None else artifact.expected or 0
        if one is None:
            questions += size or BY_TASK[name.task].instances
            continue
        own = [outcome for outcome in one.outcomes if not auto_resolved(name.task, one, outcome)]
        questions += (size or len(one.outcomes)) - (len(one.outcomes) - len(own))
        answered += sum(outcome.instance_id not in one.forfeited for outcome in own)
    return questions, answered
