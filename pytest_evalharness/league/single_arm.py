"""One arm that is compared with nothing: who sits where, what its games came to, and no verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import EvalHarnessError, Untrustworthy
from pytest_evalharness.league.arms import CANDIDATE, Arm
from pytest_evalharness.league.frozen import Frozen
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.records import ArmRecord
from pytest_evalharness.league.renewing import MOST, nothing_sent
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.league.seating import SeatingMatrix
from pytest_evalharness.league.trust import of_arm
from pytest_evalharness.league.unshared import by_role, drawn
from pytest_evalharness.league.work import Work
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.runs import SINGLE_ARM
from pytest_evalharness.report.model import requests_told
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.words import Claim

_OF_COMPARISONS = frozenset({"aa", "baseline", "baseline_drawn", "declaration"})


@dataclass(frozen=True)
class SingleArmPlan:
    """What is asked of a single arm.

    Attributes:
        setting: where and how it plays: a plan whose two sides are this arm, and whose claim is nobody's.
    """

    setting: ComparisonPlan

    def to_json(self) -> dict[str, Any]:
        """Plain data, the source of the plan key: what a comparison has beside it is left out."""
        told = {key: one for key, one in self.setting.to_json().items() if key not in _OF_COMPARISONS}
        return {SINGLE_ARM: True, **told}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SingleArmPlan:
        """What `to_json` gave, or a ledger keeps."""
        both = {"baseline": data["candidate"], "declaration": Declaration(Claim.BETTER).to_json()}
        drawn = {"baseline_drawn": data["candidate_drawn"]} if "candidate_drawn" in data else {}
        return cls(ComparisonPlan.from_json({**data, **both, **drawn}))


@dataclass(frozen=True)
class ArmResult:
    """What a single arm's games came to. There is no verdict: nothing was declared, and nothing to compare it with.

    Attributes:
        plan: what was asked.
        arm: who was placed where.
        roster: the frozen field.
        record: everything the episodes left.
    """

    plan: SingleArmPlan
    arm: Arm
    roster: Roster
    record: ArmRecord

    @property
    def evidence(self) -> ArmEvidence:
        """The tested seat in numbers: `wins`, `finished`, `missing`, `rate`, `mean_score`, `kills`, `request_ids`."""
        return self.record.evidence(self.arm.label, self.arm.tested_seat)

    @property
    def by_role(self) -> dict[str, tuple[int, int]]:
        """Wins and games of the tested seat, by the role that it really played."""
        return by_role(self.record, self.arm.tested_seat)

    @property
    def drawn(self) -> Counter[str]:
        """In how many seats each version was drawn, where seats were drawn."""
        return drawn(self.arm, self.record)

    @property
    def seating(self) -> SeatingMatrix:
        """Who really sat where, cell by cell."""
        return SeatingMatrix.of({CANDIDATE: self.arm}, {CANDIDATE: self.record})

    @property
    def headline(self) -> str:
        """Its numbers in one line."""
        told = self.evidence
        missing = f", {told.missing} missing" if told.missing else ""
        return (
            f"single arm: {printable(told.label)} won {told.wins}/{told.finished}{missing}, {requests_told(told.request_ids)}; "
            "no verdict: it is compared with nothing"
        )

    def found(self) -> list[Finding]:
        """What speaks against reading anything off its games."""
        return of_arm(CANDIDATE, self.arm, self.record)

    def require_trust(self) -> None:
        """Pass if its games are what was asked for.

        Raises:
            Untrustworthy: seats, roles or copies are wrong, or games have not ended.
        """
        found = self.found()
        if found:
            lines = [f"single arm: UNTRUSTWORTHY, {printable(self.arm.label)}"]
            lines += [f"{one.reason.sentence}: {one.detail}" for one in found]
            raise Untrustworthy(
                "\n".join(lines),
                not_done="nothing is read off these games",
                next_step="run again with --eval-fresh",
            )


def play(
    plan: SingleArmPlan,
    freeze: Callable[[], Frozen],
    work: Work,
    ledger: Ledger,
    *,
    clock: Clock,
    on_wait: Callable[[], None],
) -> ArmResult:
    """Post an arm, or find it, and wait for its games. A field that moves on before anything is sent is chosen anew.

    Args:
        plan: what is asked.
        freeze: freezes it, or finds it frozen; anew where its field moved on before anything was sent.
        work: drives its requests.
        ledger: the journal.
        clock: tells the time, and waits.
        on_wait: called between two looks.

    Raises:
        EvalHarnessError: it could not be frozen, or came to nothing.
    """
    frozen = freeze()
    for _ in range(MOST):
        try:
            return _read(plan, frozen, work)
        except EvalHarnessError:
            assert frozen.comparison is not None
            if not nothing_sent(ledger.progress, frozen.comparison.id, clock, on_wait):
                raise
            again = freeze()
            if again.comparison is None or again.comparison.id == frozen.comparison.id:
                raise
            frozen = again
    return _read(plan, frozen, work)


def _read(plan: SingleArmPlan, frozen: Frozen, work: Work) -> ArmResult:
    arm = frozen.arms[CANDIDATE]
    blocks = work.wait(plan.setting, frozen, 0)[CANDIDATE]
    record = ArmRecord.from_blocks(
        [block.evidence or {} for block in blocks], arm.blocks, plan.setting.reading()
    )
    return ArmResult(plan, arm, frozen.roster, record)


def frozen_arm(told: Mapping[str, Any]) -> tuple[Roster, dict[str, Arm]]:
    """The field and the arm, as they were frozen."""
    return Roster.from_json(told["roster"]), {CANDIDATE: Arm.from_json(CANDIDATE, told["arms"][CANDIDATE])}
