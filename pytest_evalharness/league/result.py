"""A finished comparison as a case sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.records import ArmRecord
from pytest_evalharness.league.refusal import refusal
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.report.model import SCOPE, remarks
from pytest_evalharness.settings import LARGEST_REQUEST
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.words import Verdict


@dataclass
class ABResult:
    """What a comparison found. `require()` is the way to use it.

    Attributes:
        name: what was compared, for people (`A/B crew`).
        plan: what was asked for.
        judgement: the verdict, the numbers and every reason.
        roster: the frozen field.
        records: everything the episodes left, by arm.
        attempt: 1 for the first look at this question, 2 for the next, …
        earlier: the verdicts of earlier attempts, oldest first; a later one never replaces them.
        age: seconds since the evidence was complete if it was read again, or None if this run brought it.
        consumed: whether the case has looked at the verdict.
    """

    name: str
    plan: ComparisonPlan
    judgement: Judgement
    roster: Roster
    records: Mapping[str, ArmRecord]
    attempt: int = 1
    earlier: tuple[str, ...] = ()
    age: float | None = None
    consumed: bool = field(default=False, repr=False)

    @property
    def verdict(self) -> Verdict:
        """The verdict, whatever was claimed. A bare comparison with it is strict: cannot-tell fails it."""
        self.consumed = True
        return self.judgement.verdict

    @property
    def candidate(self) -> ArmEvidence:
        """The candidate arm's numbers."""
        return self.judgement.candidate

    @property
    def baseline(self) -> ArmEvidence:
        """The baseline arm's numbers."""
        return self.judgement.baseline

    @property
    def headline(self) -> str:
        """The decision and the numbers in one line."""
        return self.judgement.headline(self.name)

    def require(self, *verdicts: Verdict | str) -> None:
        """Pass only if the evidence supports the declared claim, or one of the verdicts named here.

        Raises:
            ConditionNotMet: the evidence says otherwise.
            Inconclusive: the evidence cannot tell.
            Untrustworthy: the evidence cannot be believed.
            UsageError: a name that is no verdict.
        """
        __tracebackhide__ = True
        self.consumed = True
        error = self._refusal(verdicts)
        if error is not None:
            raise error

    def require_trust(self) -> None:
        """Let evidence pass that can be believed, whatever it says.

        Raises:
            Untrustworthy: a trust check failed; nothing else is said.
        """
        __tracebackhide__ = True
        if self.judgement.verdict is Verdict.UNTRUSTWORTHY:
            error = self._refusal(())
            assert error is not None
            raise error

    def _refusal(self, verdicts: tuple[Verdict | str, ...]) -> EvalHarnessError | None:
        return refusal(
            self.judgement, verdicts, lines=lambda: [self.headline, *self.lines()], larger=self._larger
        )

    def _larger(self) -> str:
        """What would decide it: more games if the service gives them in one request."""
        declared = self.plan.declaration
        if not declared.rule.decides:
            return (
                f'declare a rule that decides, such as rule="score": the {declared.rule} rule is report only'
            )
        needed, asked = self.judgement.required_n.under(declared.rule), self.plan.episodes
        lift = f"{declared.target_lift:.2f}"
        if asked >= LARGEST_REQUEST or needed is None:
            return f"accept that {asked} games cannot tell; a true lift of {lift} needs {needed or 'more'} an arm"
        return f"--eval-num {min(max(needed, asked), LARGEST_REQUEST)} asks again with more games ({needed} for a true lift of {lift})"

    def lines(self) -> list[str]:
        """The numbers under the headline, for people, and what must be known beside them.

        What cannot be believed shows no number from which the effect could be read.
        """
        return [*self._numbers(), *(f"  remark         : {remark}" for remark in remarks(self.to_json()))]

    def _numbers(self) -> list[str]:
        out = [f"  {line}" for line in self.judgement.summary_lines()]
        out += [
            f"  {_arm_line(side, arm, numbers=self.judgement.verdict is not Verdict.UNTRUSTWORTHY)}"
            for side, arm in (("candidate", self.candidate), ("baseline", self.baseline))
        ]
        out.append(f"  scope          : {SCOPE}")
        return out

    def __repr__(self) -> str:
        """The whole verdict in one line: what a bare assert shows."""
        requests = printable(" ".join((*self.candidate.request_ids, *self.baseline.request_ids)))
        return f"<{self.headline}; requests {requests}>"

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports."""
        return {
            "name": self.name,
            "headline": self.headline,
            "lines": self._numbers(),
            "judgement": self.judgement.to_json(),
            "plan": self.plan.to_json(),
            "roster": self.roster.to_json(),
            "attempt": self.attempt,
            "earlier": list(self.earlier),
            "evidence_age_seconds": self.age,
        }


def _arm_line(side: str, arm: ArmEvidence, *, numbers: bool) -> str:
    requests = f"request {' '.join(map(printable, arm.request_ids))}"
    if not numbers:  # the effect could be read from them
        return f"{side:<15}: {printable(arm.label)}, {requests}"
    score = "none" if arm.mean_score is None else f"{arm.mean_score:.2f}"
    return (
        f"{side:<15}: {printable(arm.label)}, mean seat score {score}, kills {arm.kills}, "
        f"vote timeouts {arm.vote_timeouts}, {requests}"
    )
