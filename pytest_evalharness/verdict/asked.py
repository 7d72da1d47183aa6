"""What a case asks of a verdict: its declared claim, or one of the verdicts that it names. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_evalharness.errors import UsageError
from pytest_evalharness.verdict.words import Decision, Verdict


def decision_for(verdicts: Sequence[Verdict | str], verdict: Verdict, decision: Decision) -> Decision:
    """What becomes of what a case asks.

    Args:
        verdicts: those that it would take, whatever was claimed; none leaves it to the claim.
        verdict: what the evidence says.
        decision: what becomes of the declared claim.

    Raises:
        UsageError: a name that is no verdict.
    """
    try:
        wanted = {Verdict(word) for word in verdicts}
    except ValueError as wrong:
        raise UsageError(
            str(wrong), not_done="nothing was judged", next_step=f"one of {', '.join(Verdict)}"
        ) from None
    if not wanted:
        return decision
    if verdict is Verdict.UNTRUSTWORTHY:
        return Decision.UNTRUSTWORTHY
    if verdict in wanted:
        return Decision.MET
    return Decision.CANNOT_TELL if verdict is Verdict.INCONCLUSIVE else Decision.NOT_MET
