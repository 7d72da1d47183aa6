"""What a case gets to hear when its evidence does not do: one error a decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_evalharness.errors import (
    ConditionNotMet,
    EvalHarnessError,
    Inconclusive,
    Untrustworthy,
)
from pytest_evalharness.verdict.asked import decision_for
from pytest_evalharness.verdict.words import Decision, Reason

if TYPE_CHECKING:
    from pytest_evalharness.verdict.judgement import Judgement
    from pytest_evalharness.verdict.pooled_judgement import PooledJudgement
    from pytest_evalharness.verdict.words import Verdict


def refusal(
    judgement: Judgement | PooledJudgement,
    verdicts: Sequence[Verdict | str],
    *,
    lines: Callable[[], Sequence[str]],
    larger: Callable[[], str],
) -> EvalHarnessError | None:
    """The error that keeps a case from passing, or None.

    Args:
        judgement: what was found.
        verdicts: the verdicts that the case would take, whatever was claimed; the declared claim decides if none are named.
        lines: the message, the decision first.
        larger: what would decide it, where it cannot tell.
    """
    asked = decision_for(verdicts, judgement.verdict, judgement.decision)
    # An A/A run is held to its own expectation only.
    decision = judgement.decision if judgement.aa else asked
    if decision is Decision.MET:
        return None
    what = "\n".join(lines())
    if decision is Decision.NOT_MET:
        return ConditionNotMet(what, next_step=_discard(judgement))
    if decision is Decision.CANNOT_TELL:
        return Inconclusive(what, not_done="the claim is neither met nor refuted", next_step=larger())
    return Untrustworthy(what, not_done="nothing was judged", next_step=_again(judgement))


def next_step(judgement: Judgement | PooledJudgement, larger: Callable[[], str]) -> str:
    """What to do about what became of the declared claim; empty where it is met. `larger` as for `refusal`."""
    if judgement.decision is Decision.NOT_MET:
        return _discard(judgement)
    if judgement.decision is Decision.CANNOT_TELL:
        return larger()
    return _again(judgement) if judgement.decision is Decision.UNTRUSTWORTHY else ""


def _discard(judgement: Judgement | PooledJudgement) -> str:
    first, *more = judgement.candidate.request_ids or ("",)
    each = f" (and likewise {len(more)} more requests, see results.json)" if more else ""
    return f"do not ship this edit; coworld xp-request episodes {first} lists its games{each}"


def _again(judgement: Judgement | PooledJudgement) -> str:
    if any(reason.reason is Reason.AA_ALARM for reason in judgement.reasons):
        return (
            "run again with --eval-fresh: chance alone raises an alarm now and then (evalharness calibrate tells how "
            "often); if it comes again, the two arms are not treated alike"
        )
    if any(reason.reason is Reason.DUPLICATES for reason in judgement.reasons):
        if judgement.aa and judgement.declaration.pairing is not None:
            return "leave pairing out of an A/A run: one build plays the same games from the same seeds"
        return 'take the fixed seed out of config (pairing="seed" gives each pair one of its own), then run with --eval-fresh'
    return "run again with --eval-fresh"
