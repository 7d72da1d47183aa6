"""What a case asks of a verdict: its declared claim, or one of the verdicts that it names. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from pytest_evalharness.errors import EvalHarnessError, UsageError
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


class Required(ABC):
    """A result of which a case requires something.

    Attributes:
        consumed: whether the case has looked at the verdict.
    """

    consumed: bool

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
        if self._unbelievable:
            error = self._refusal(())
            assert error is not None
            raise error

    @property
    @abstractmethod
    def _unbelievable(self) -> bool:
        """Whether a trust check failed, which no other claim can change."""

    @abstractmethod
    def _refusal(self, verdicts: Sequence[Verdict | str]) -> EvalHarnessError | None:
        """Why what is asked is not so; None where it is."""
