"""A finished pool as a case sees it: one verdict, and each configuration beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.text import printable
from pytest_evalharness.league.arms import SIDES, Arm
from pytest_evalharness.league.claimed import Claimed
from pytest_evalharness.league.family import Settled
from pytest_evalharness.league.fields import FieldsPlan
from pytest_evalharness.league.history import earlier, elsewhere, pooled_attempts
from pytest_evalharness.league.judging import Case
from pytest_evalharness.league.pool_plan import Configurations
from pytest_evalharness.league.provenance import Provenance
from pytest_evalharness.league.records import ArmRecord
from pytest_evalharness.league.regime import disagreement
from pytest_evalharness.league.result import ABResult
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.league.seating import SeatingMatrix
from pytest_evalharness.league.trust import across
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block
from pytest_evalharness.report.model import requests_told
from pytest_evalharness.settings import LARGEST_REQUEST
from pytest_evalharness.verdict.checks import together
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.pooled_judgement import PooledJudgement
from pytest_evalharness.verdict.pooling import judge_pool
from pytest_evalharness.verdict.strata import Stratum
from pytest_evalharness.verdict.words import Effects, Reason


@dataclass
class PoolResult(Claimed[PooledJudgement]):
    """What several configurations found together. `require()` is the way to use it.

    Attributes:
        name: what was compared, for people (`A/B pool`).
        plan: what was asked for.
        alone: the one judgement of all configurations, as if no other claim had been tested. It decides nothing but trust.
        strata: each configuration by its name, for information: its own verdict is no part of the pool's.
        attempt: 1 for the first look at this question, 2 for the next, …
        earlier: the verdicts of earlier attempts, oldest first; a later one never replaces them.
        elsewhere: what earlier runs found about the same builds in the same seat by other questions; of a pool nothing.
        pooled: all attempts at the question together, in words; empty for a first one.
        age: seconds since the evidence was complete if it was read again, or None if this run brought it.
        settle: judges it among the claims that are tested together, once all of them have ended; None if there are none.
        consumed: whether the case has looked at the verdict.
    """

    name: str
    plan: Configurations
    alone: PooledJudgement
    strata: Mapping[str, ABResult]
    attempt: int = 1
    earlier: tuple[str, ...] = ()
    age: float | None = None
    elsewhere: tuple[str, ...] = ()
    pooled: str = ""
    settle: Callable[[], Settled[PooledJudgement]] | None = field(default=None, repr=False, compare=False)
    consumed: bool = field(default=False, repr=False)
    _settled: Settled[PooledJudgement] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def seating(self) -> SeatingMatrix:
        """Who really sat where, cell by cell, in all configurations."""
        return SeatingMatrix(tuple(cell for one in self.strata.values() for cell in one.seating.cells))

    def _larger(self) -> str:
        """What would decide it: more games in each configuration, or more configurations."""
        if self.plan.declaration.effects is Effects.RANDOM:
            return (
                "declare more configurations: with random effects more games in the same ones decide little"
            )
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

    def _arm_lines(self) -> list[str]:
        arms = [
            f"{side:<15}: {printable(name)}: {printable(arm.label)}, {requests_told(arm.request_ids)}"
            for name, result in self.strata.items()
            for side, arm in zip(SIDES, (result.candidate, result.baseline), strict=True)
        ]
        builds = [
            f"{'builds':<15}: {printable(name)}: {line}"
            for name, result in self.strata.items()
            if result.builds is not None
            for line in result.builds.summary()
        ]
        return arms + builds

    def __repr__(self) -> str:
        """The whole verdict in one line: what a bare assert shows."""
        return self.in_one_line()

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports. Each configuration is there as a comparison of its own is."""
        return {
            "name": self.name,
            "headline": self.headline,
            "lines": self._numbers(),
            "next_step": self.next_step,
            "judgement": self.judgement.to_json(),
            "family": None if self.together is None else self.together.to_json(),
            "plan": self.plan.to_json(),
            "strata": {name: result.to_json() for name, result in self.strata.items()},
            "attempt": self.attempt,
            "earlier": list(self.earlier),
            "elsewhere": list(self.elsewhere),
            "pooled": self.pooled,
            "evidence_age_seconds": self.age,
        }


class FieldsResult(PoolResult):
    """What one comparison found on several fields: the first, and those that took its place in `evalharness runs extend`.

    Each field is a stratum. What a comparison on one field has is here too: of all fields together, or of the latest one.
    """

    @property
    def roster(self) -> Roster:
        """The latest field."""
        return self._latest.roster

    @property
    def arms(self) -> Mapping[str, Arm]:
        """Who was placed where on the latest field, by side."""
        return self._latest.arms

    @property
    def records(self) -> Mapping[str, ArmRecord]:
        """Everything the episodes left, by arm, field after field."""
        return {side: ArmRecord.joined([one.records[side] for one in self.strata.values()]) for side in SIDES}

    @property
    def builds(self) -> Provenance | None:
        """What is known of the two builds; they are the same on every field."""
        return self._latest.builds

    @property
    def _latest(self) -> ABResult:
        return list(self.strata.values())[-1]

    def _larger(self) -> str:
        """What would decide it: more games on the latest field."""
        lift = self.plan.declaration.target_lift
        needed = self.judgement.required_n.under(self.judgement.rule)
        if needed is None:
            return f"accept that these games cannot tell: a true lift of {lift:.2f} is not possible"
        return f"evalharness runs extend RUN adds games on the latest field ({needed} an arm in all for a true lift of {lift:.2f})"


def judge_cases(
    plan: Configurations, cases: Sequence[Case], others: Sequence[float] | None = None
) -> PooledJudgement:
    """Judge the finished configurations of a pool.

    Args:
        plan: what was asked.
        cases: each configuration, in order.
        others: the p-values of the other claims that were tested together; None outside of a family.
    """
    found = [
        Finding(finding.reason, f"{name}, {finding.detail}", finding.arm, finding.episodes)
        for name, case in zip(plan.names, cases, strict=True)
        for finding in case.found()
    ]
    if isinstance(plan, FieldsPlan):
        # Other configurations may well be other games; the fields of one comparison are one question.
        found += across({name: case.records for name, case in zip(plan.names, cases, strict=True)})
    else:
        regimes = disagreement({name: case.episodes for name, case in zip(plan.names, cases, strict=True)})
        found += [] if regimes is None else [regimes]
    counts = [case.judge() for case in cases]  # of each its counts are used, and nothing else
    strata = [
        Stratum(name, one.candidate, one.baseline) for name, one in zip(plan.names, counts, strict=True)
    ]
    seats_hold = not any(finding.reason is Reason.SEATS for finding in found)
    return judge_pool(
        plan.declaration,
        strata,
        trust=found,
        verified=("seats",) if seats_hold else (),
        others=others,
        beside=[
            *(Finding(Reason.ONE_SEED, name) for name, part in plan.strata if part.one_seed),
            *(one for name, case in zip(plan.names, cases, strict=True) for one in case.frozen.caveats(name)),
            *(
                Finding(one.reason, f"{name}: {one.detail}", one.arm, one.episodes)
                for name, case in zip(plan.names, cases, strict=True)
                for one in case.remarkable
            ),
        ],
        checks=together([(name, case.checks) for name, case in zip(plan.names, cases, strict=True)]),
        unplanned_looks=max(case.unplanned_looks for case in cases),
        aa=plan.aa,
    )


def concluded_pool(
    kind: type[PoolResult],
    plan: Configurations,
    played: Sequence[tuple[Case, Mapping[str, list[Block]]]],
    alone: PooledJudgement,
    settle: Callable[[], Settled[PooledJudgement]],
    *,
    ledger: Ledger,
    clock: Clock,
    began: float,
) -> PoolResult:
    """Put together what the test case gets.

    Args:
        kind: what kind of pool it is.
        plan: what was asked.
        played: each configuration with the finished blocks of its arms, in order.
        alone: the pool's judgement outside of any family.
        settle: judges it among the claims that are tested together, once all of them have ended.
        ledger: where verdicts are kept.
        clock: tells how old the evidence is.
        began: when the run that judges began; evidence that was complete before was brought by an earlier one.
    """
    cases = [case for case, _ in played]
    comparison = cases[0].frozen.comparison
    assert comparison is not None
    ended = max(block.finished_at or 0.0 for _, blocks in played for side in SIDES for block in blocks[side])
    return kind(
        name=plan.title,
        plan=plan,
        alone=alone,
        strata={
            name: ABResult(
                name,
                case.plan,
                case.judge(),
                case.frozen.roster,
                case.records,
                arms=case.frozen.arms,
                builds=case.frozen.builds,
            )
            for name, case in zip(plan.names, cases, strict=True)
        },
        attempt=comparison.attempt,
        earlier=earlier(ledger, comparison),
        elsewhere=elsewhere(ledger, comparison),
        pooled=pooled_attempts(ledger, comparison, alone),
        age=max(0.0, clock.now() - ended) if ended < began else None,
        settle=settle,
    )
