"""A finished pool as a case sees it: one verdict, and each configuration beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.judging import Case, earlier
from pytest_evalharness.league.pool_plan import PoolPlan
from pytest_evalharness.league.refusal import refusal
from pytest_evalharness.league.result import ABResult
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block
from pytest_evalharness.report.model import SCOPE, remarks
from pytest_evalharness.settings import LARGEST_REQUEST
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.pooled_judgement import PooledJudgement
from pytest_evalharness.verdict.pooling import judge_pool
from pytest_evalharness.verdict.strata import Stratum
from pytest_evalharness.verdict.words import Reason, Verdict


@dataclass
class PoolResult:
    """What several configurations found together. `require()` is the way to use it.

    Attributes:
        name: what was compared, for people (`A/B pool`).
        plan: what was asked for.
        judgement: the one verdict, the numbers and every reason.
        strata: each configuration by its name, for information: its own verdict is no part of the pool's.
        attempt: 1 for the first look at this question, 2 for the next, …
        earlier: the verdicts of earlier attempts, oldest first; a later one never replaces them.
        age: seconds since the evidence was complete if it was read again, or None if this run brought it.
        consumed: whether the case has looked at the verdict.
    """

    name: str
    plan: PoolPlan
    judgement: PooledJudgement
    strata: Mapping[str, ABResult]
    attempt: int = 1
    earlier: tuple[str, ...] = ()
    age: float | None = None
    consumed: bool = field(default=False, repr=False)

    @property
    def verdict(self) -> Verdict:
        """The pool's verdict, whatever was claimed. A bare comparison with it is strict: cannot-tell fails it."""
        self.consumed = True
        return self.judgement.verdict

    @property
    def candidate(self) -> ArmEvidence:
        """The games of all candidate arms, for counting them."""
        return self.judgement.candidate

    @property
    def baseline(self) -> ArmEvidence:
        """The games of all baseline arms, for counting them."""
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
            Untrustworthy: a trust check failed in some configuration; nothing else is said.
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
        """What would decide it: more games in each configuration, or more configurations."""
        needed, lift = self.judgement.required_n.score, self.plan.declaration.target_lift
        asked, strata = max(plan.episodes for plan in self.plan.plans), len(self.plan.plans)
        if needed is None:
            return f"accept that these configurations cannot tell: a true lift of {lift:.2f} is not possible"
        each = -(-needed // strata)
        told = f"{needed} an arm in all for a true lift of {lift:.2f}"
        if each > LARGEST_REQUEST:
            return (
                f"declare {-(-needed // LARGEST_REQUEST)} configurations of {LARGEST_REQUEST} games ({told})"
            )
        return f"--eval-num {max(each, asked)} asks again with more games in each configuration ({told})"

    def lines(self) -> list[str]:
        """The numbers under the headline, for people, and what must be known beside them.

        What cannot be believed shows no number from which the effect could be read.
        """
        return [*self._numbers(), *(f"  remark         : {remark}" for remark in remarks(self.to_json()))]

    def _numbers(self) -> list[str]:
        out = [f"  {line}" for line in self.judgement.summary_lines()]
        out += [
            f"  {side:<15}: {printable(name)}: {printable(arm.label)}, request {' '.join(map(printable, arm.request_ids))}"
            for name, result in self.strata.items()
            for side, arm in zip(SIDES, (result.candidate, result.baseline), strict=True)
        ]
        out.append(f"  scope          : {SCOPE}")
        return out

    def __repr__(self) -> str:
        """The whole verdict in one line: what a bare assert shows."""
        requests = printable(" ".join((*self.candidate.request_ids, *self.baseline.request_ids)))
        return f"<{self.headline}; requests {requests}>"

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports. Each configuration is there as a comparison of its own is."""
        return {
            "name": self.name,
            "headline": self.headline,
            "lines": self._numbers(),
            "judgement": self.judgement.to_json(),
            "plan": self.plan.to_json(),
            "strata": {name: result.to_json() for name, result in self.strata.items()},
            "attempt": self.attempt,
            "earlier": list(self.earlier),
            "evidence_age_seconds": self.age,
        }


def judge_cases(
    plan: PoolPlan, cases: Sequence[Case], alone: Sequence[Judgement], others: Sequence[float] | None = None
) -> PooledJudgement:
    """Judge the finished configurations of a pool.

    Args:
        plan: what was asked.
        cases: each configuration, in order.
        alone: what each would come to as a comparison of its own: its counts are used, and nothing else of it.
        others: the p-values of the other claims that were tested together; None outside of a family.
    """
    found = [
        Finding(finding.reason, f"{name}, {finding.detail}", finding.arm, finding.episodes)
        for name, case in zip(plan.names, cases, strict=True)
        for finding in case.found()
    ]
    strata = [Stratum(name, one.candidate, one.baseline) for name, one in zip(plan.names, alone, strict=True)]
    seats_hold = not any(finding.reason is Reason.SEATS for finding in found)
    return judge_pool(
        plan.declaration,
        strata,
        trust=found,
        verified=("seats",) if seats_hold else (),
        others=others,
        beside=[Finding(Reason.ONE_SEED, name) for name, part in plan.strata if part.one_seed],
        unplanned_looks=max(case.unplanned_looks for case in cases),
        aa=plan.aa,
    )


def concluded_pool(
    plan: PoolPlan,
    played: Sequence[tuple[Case, Mapping[str, list[Block]]]],
    *,
    ledger: Ledger,
    clock: Clock,
    run_id: str,
    began: float,
) -> PoolResult:
    """Judge a pool, write its verdict down beside the earlier ones, and put together what the test case gets.

    Args:
        plan: what was asked.
        played: each configuration with the finished blocks of its arms, in order.
        ledger: where verdicts are kept.
        clock: tells how old the evidence is.
        run_id: the run that judges.
        began: when that run began; evidence that was complete before was brought by an earlier one.
    """
    cases = [case for case, _ in played]
    comparison = cases[0].frozen.comparison
    assert comparison is not None
    alone = [case.judge() for case in cases]
    judgement = judge_cases(plan, cases, alone)
    ledger.record_verdict(comparison.id, run_id, judgement.to_json())
    ended = max(block.finished_at or 0.0 for _, blocks in played for side in SIDES for block in blocks[side])
    return PoolResult(
        name="A/A pool" if plan.aa else "A/B pool",
        plan=plan,
        judgement=judgement,
        strata={
            name: ABResult(name, case.plan, one, case.frozen.roster, case.records)
            for name, case, one in zip(plan.names, cases, alone, strict=True)
        },
        attempt=comparison.attempt,
        earlier=earlier(ledger, comparison),
        age=max(0.0, clock.now() - ended) if ended < began else None,
    )
