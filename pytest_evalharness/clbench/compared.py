"""Two runs' comparison as a case sees it: `clbench_ab.require()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_evalharness.clbench import comparison_words
from pytest_evalharness.clbench.comparing import RunComparison
from pytest_evalharness.clbench.domains import BY_TASK
from pytest_evalharness.clbench.pairing import TaskDifference
from pytest_evalharness.errors import (
    ConditionNotMet,
    EvalHarnessError,
    Inconclusive,
    Untrustworthy,
    UsageError,
)
from pytest_evalharness.verdict.asked import Required, decision_for
from pytest_evalharness.verdict.words import Decision, Reason, Verdict


class ComparedRuns(Required):
    """A judged comparison. Reading its verdict, or requiring something of it, is what a case has to do.

    Attributes:
        comparison: every number; reading them counts as no look at the verdict.
        consumed: whether the case has looked at the verdict.
    """

    def __init__(self, comparison: RunComparison) -> None:
        self.comparison = comparison
        self.consumed = False

    def __repr__(self) -> str:
        return f"<{self.headline}>"

    def __getitem__(self, task: str) -> TaskDifference:
        """A task's own difference, by its id or its short name; it is not judged.

        Raises:
            UsageError: that task was not compared.
        """
        found = {one.task: one for one in self.comparison.tasks}
        found |= {BY_TASK[name].short: one for name, one in found.items()}
        if task not in found:
            raise UsageError(
                f"{task!r} was not compared",
                not_done="nothing was judged",
                next_step=f"one of {', '.join(BY_TASK[one.task].short for one in self.comparison.tasks)}",
            )
        return found[task]

    @property
    def verdict(self) -> Verdict:
        """The verdict, whatever was claimed. A bare comparison with it is strict: cannot-tell fails it."""
        self.consumed = True
        return self.comparison.verdict

    @property
    def headline(self) -> str:
        """The decision and the numbers in one line."""
        return comparison_words.headline(self.comparison)

    def lines(self) -> list[str]:
        """The numbers under it."""
        return [f"  {line}" for line in comparison_words.lines(self.comparison)]

    @property
    def _unbelievable(self) -> bool:
        return self.comparison.verdict is Verdict.UNTRUSTWORTHY

    def _refusal(self, verdicts: Sequence[Verdict | str]) -> EvalHarnessError | None:
        told = self.comparison
        asked = decision_for(verdicts, told.verdict, told.decision)
        decision = told.decision if told.aa else asked  # an A/A run is held to its own expectation only
        if decision is Decision.MET:
            return None
        what = "\n".join([self.headline, *self.lines()])
        if decision is Decision.NOT_MET:
            return ConditionNotMet(
                what, next_step="do not ship this edit; the lines of each task tell where it loses"
            )
        if decision is Decision.CANNOT_TELL:
            return Inconclusive(
                what, not_done="the claim is neither met nor refuted", next_step=self._larger()
            )
        return Untrustworthy(what, not_done="nothing was judged", next_step=self._mend())

    def _larger(self) -> str:
        told = self.comparison
        reasons = {one.reason for one in told.reasons}
        if Reason.FEW_ROLLOUTS in reasons:
            return "give every task at least two rollouts in both runs, better five: evalharness clbench run --plan submission"
        if told.needed is None:
            return "look into the rollouts: nothing varies between them"
        target = told.declaration.target_lift
        return f"{told.needed} rollouts a task find a true difference of {target:g}; these find {told.detectable:.3g}"

    def _mend(self) -> str:
        candidate, baseline = self.comparison.folders
        return f"evalharness clbench check {candidate} (and {baseline}) says how to mend each; then run those passes again"

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports."""
        return comparison_words.to_json(self.comparison)
