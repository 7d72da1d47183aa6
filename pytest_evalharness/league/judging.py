"""From the journal to a result: records, trust, verdict, and what was concluded before."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.league.arms import BASELINE, CANDIDATE, SIDES
from pytest_evalharness.league.freeze import Frozen
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.records import ArmRecord
from pytest_evalharness.league.result import ABResult
from pytest_evalharness.league.trust import findings
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block, Comparison
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.words import Reason


def judged(
    plan: ComparisonPlan,
    frozen: Frozen,
    blocks: Mapping[str, list[Block]],
    *,
    ledger: Ledger,
    clock: Clock,
    run_id: str,
    began: float,
) -> ABResult:
    """Judge a comparison whose blocks are finished, and write the verdict down beside the earlier ones.

    Args:
        plan: what was asked.
        frozen: who sat where.
        blocks: the finished blocks of each arm.
        ledger: where verdicts are kept.
        clock: tells how old the evidence is.
        run_id: the run that judges.
        began: when that run began; evidence that was complete before was brought by an earlier one.
    """
    comparison = frozen.comparison
    assert comparison is not None
    records = {
        side: ArmRecord.from_blocks([b.evidence or {} for b in blocks[side]], plan.episodes) for side in SIDES
    }
    found = findings(frozen.arms, records, aa=plan.aa)
    candidate, baseline = (
        records[side].evidence(frozen.arms[side].label, plan.tested_seat) for side in (CANDIDATE, BASELINE)
    )
    seats_hold = not any(finding.reason is Reason.SEATS for finding in found)
    judgement = judge(
        plan.declaration,
        candidate,
        baseline,
        found,
        verified=("seats",) if seats_hold else (),
        aa=plan.aa,
    )
    ended = max(block.finished_at or 0.0 for side in SIDES for block in blocks[side])
    ledger.record_verdict(comparison.id, run_id, judgement.to_json())
    return ABResult(
        name=f"{'A/A' if plan.aa else 'A/B'} {plan.role}",
        plan=plan,
        judgement=judgement,
        roster=frozen.roster,
        records=records,
        attempt=comparison.attempt,
        earlier=_earlier(ledger, comparison),
        age=max(0.0, clock.now() - ended) if ended < began else None,
    )


def _earlier(ledger: Ledger, comparison: Comparison) -> tuple[str, ...]:
    """The verdicts of earlier attempts at the same question: a later look never hides them."""
    told = []
    for attempt in ledger.attempts(comparison.plan_key):
        verdicts = ledger.verdicts(attempt.id) if attempt.attempt < comparison.attempt else []
        if verdicts:
            told.append(f"{verdicts[-1].judgement['verdict']} (attempt {attempt.attempt})")
    return tuple(told)
