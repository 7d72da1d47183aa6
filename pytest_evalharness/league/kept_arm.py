"""Arms that are compared with nothing, as the ledger keeps them, whoever played them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.league.arms import CANDIDATE, Arm
from pytest_evalharness.league.records import ArmRecord
from pytest_evalharness.league.single_arm import ArmResult, SingleArmPlan, frozen_arm
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block, Comparison
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.report.model import requests_told


@dataclass(frozen=True)
class KeptArm:
    """One single arm of the ledger.

    Attributes:
        comparison: its row, which has one side.
        plan: what was asked.
        arm: who was placed where; None while it is not frozen.
        result: what its games came to; None while it is not played to its end.
        blocks: its requests.
    """

    comparison: Comparison
    plan: SingleArmPlan
    arm: Arm | None
    result: ArmResult | None
    blocks: tuple[Block, ...]

    @classmethod
    def read(cls, ledger: Ledger, comparison_id: str) -> KeptArm:
        """An arm as it stands in the journal."""
        comparison = ledger.comparison(comparison_id)
        plan = SingleArmPlan.from_json(comparison.plan)
        blocks = tuple(block for key in comparison.arms.values() for block in ledger.blocks(key))
        if comparison.frozen is None:
            return cls(comparison, plan, None, None, blocks)
        arm = frozen_arm(comparison.frozen)[1][CANDIDATE]
        played = bool(blocks) and all(block.state is BlockState.FINISHED for block in blocks)
        result = result_of(comparison.plan, comparison.frozen, [block.evidence or {} for block in blocks])
        return cls(comparison, plan, arm, result if played else None, blocks)

    @property
    def name(self) -> str:
        """The case that asked, made harmless, and which attempt it is if it is not the first."""
        attempt = f" (attempt {self.comparison.attempt})" if self.comparison.attempt > 1 else ""
        return printable(self.comparison.case_name) + attempt

    @property
    def over(self) -> bool:
        """Whether nothing of it is left to be played or cancelled."""
        return all(block.settled and block.state is not BlockState.ABANDONED for block in self.blocks)

    @property
    def words(self) -> str:
        """What became of it."""
        if self.result is not None:
            return "untrustworthy" if self.result.found() else "played"
        if any(block.state is BlockState.CANCELLED for block in self.blocks):
            return "cancelled"
        untouched = all(block.untouched for block in self.blocks)
        return "not posted" if untouched else "not finished"

    def lines(self) -> Iterator[str]:
        """Its numbers, or where it stands; who sat where; why its games cannot be read, if they cannot."""
        label = "" if self.arm is None else printable(self.arm.label)
        if self.result is None:
            requests = [block.request_id for block in self.blocks if block.request_id]
            told = f", {requests_told(requests)}" if requests else ""
            yield f"single arm: {label or 'not frozen yet'}, {self.words}{told}"
        elif found := self.result.found():
            yield f"single arm: UNTRUSTWORTHY, {label}"
            yield from (printable(f"{one.reason.sentence}: {one.detail}", 1000) for one in found)
        else:
            yield printable(self.result.headline, 1000)
            roles = ", ".join(
                f"{wins}/{games} as {role}" for role, (wins, games) in self.result.by_role.items()
            )
            yield f"roles          : {roles or 'no game tells one'}"
        for seat in self.arm.seats if self.arm is not None else ():
            tested = "  <- tested" if self.arm is not None and seat.position == self.arm.tested_seat else ""
            yield f"seat {seat.position:<10}: {printable(str(seat.role)):<9} {printable(seat.label)}{tested}"

    def to_json(self) -> dict[str, Any]:
        """Plain data for programs. Of games that cannot be read there are no numbers."""
        readable = self.result is not None and not self.result.found()
        return {
            "id": self.comparison.id,
            "case": self.comparison.case_name,
            "attempt": self.comparison.attempt,
            "state": self.words,
            "label": None if self.arm is None else self.arm.label,
            "requests": [block.request_id for block in self.blocks if block.request_id],
            "evidence": self.result.evidence.to_json() if self.result is not None and readable else None,
        }


def result_of(
    plan: Mapping[str, Any], frozen: Mapping[str, Any], evidence: Sequence[Mapping[str, Any]]
) -> ArmResult | None:
    """What a single arm's games came to, from plain data.

    Args:
        plan: what was asked.
        frozen: what was fixed.
        evidence: what each of its requests left, in order; None is returned while one of them has left nothing.
    """
    roster, arms = frozen_arm(frozen)
    if not evidence or not all(evidence):
        return None
    record = ArmRecord.from_blocks(list(evidence), arms[CANDIDATE].blocks)
    return ArmResult(SingleArmPlan.from_json(plan), arms[CANDIDATE], roster, record)
