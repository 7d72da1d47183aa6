"""What every result of a case has: a judgement that may have to wait for other claims, and the ways to ask for it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.league.family import Settled, Together
from pytest_evalharness.league.refusal import next_step, refusal
from pytest_evalharness.report.model import MANY, SCOPE, remarks, requests_told
from pytest_evalharness.verdict.asked import Required
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.pooled_judgement import PooledJudgement
from pytest_evalharness.verdict.words import Verdict

Judged = TypeVar("Judged", Judgement, PooledJudgement)


class Claimed(Required, Generic[Judged]):
    """Evidence with a claim about it. `require()` is the way to use it.

    Whoever asks for the verdict, in whichever way, waits until every claim that is tested together with it has ended. The
    evidence itself (`candidate`, `baseline`) waits for nobody.

    Attributes:
        name: what was compared, for people.
        alone: the judgement as if no other claim had been tested. It decides nothing but trust.
        settle: judges it among the claims that are tested together, once all of them have ended; None if there are none.
        consumed: whether the case has looked at the verdict.
    """

    name: str
    alone: Judged
    settle: Callable[[], Settled[Judged]] | None
    consumed: bool
    _settled: Settled[Judged] | None

    @property
    def settled(self) -> Settled[Judged]:
        """The judgement that no other case can change any more, and the family it was made in.

        Raises:
            EvalHarnessError: the others cannot be waited for.
        """
        if self._settled is None:
            self._settled = Settled(self.alone) if self.settle is None else self.settle()
        return self._settled

    @property
    def judgement(self) -> Judged:
        """The verdict, the numbers and every reason."""
        return self.settled.judgement

    @property
    def together(self) -> Together | None:
        """The family it was judged in; None outside of any."""
        return self.settled.together

    @property
    def verdict(self) -> Verdict:
        """The verdict, whatever was claimed. A bare comparison with it is strict: cannot-tell fails it."""
        self.consumed = True
        return self.judgement.verdict

    @property
    def candidate(self) -> ArmEvidence:
        """The candidate's numbers; of a pool, its games in all configurations, for counting them."""
        return self.alone.candidate

    @property
    def baseline(self) -> ArmEvidence:
        """The baseline's numbers, likewise."""
        return self.alone.baseline

    @property
    def headline(self) -> str:
        """The decision and the numbers in one line."""
        return self.judgement.headline(self.name)

    @property
    def next_step(self) -> str:
        """What to do about what became of the declared claim; empty where it is met."""
        return next_step(self.judgement, self._larger)

    @property
    def _unbelievable(self) -> bool:
        return self.alone.verdict is Verdict.UNTRUSTWORTHY

    def _refusal(self, verdicts: Sequence[Verdict | str]) -> EvalHarnessError | None:
        return refusal(
            self.judgement, verdicts, lines=lambda: [self.headline, *self.lines()], larger=self._larger
        )

    def lines(self) -> list[str]:
        """The numbers under the headline, for people, and what must be known beside them.

        What cannot be believed shows no number from which the effect could be read.
        """
        return [*self._numbers(), *(f"  remark         : {remark}" for remark in remarks(self.to_json()))]

    def _numbers(self) -> list[str]:
        told = [*self.judgement.summary_lines(), *self._arm_lines(), f"scope          : {SCOPE}"]
        return [f"  {line}" for line in told]

    def in_one_line(self) -> str:
        """The whole verdict with its requests: what a bare assert shows. It never waits.

        Tracebacks show it too: after an interrupt nobody must wait for the other claims to write one.
        """
        waits = self._settled is None and self.settle is not None
        told = f"{printable(self.name)}: not asked for its verdict yet" if waits else self.headline
        ours: tuple[str, ...] = self.candidate.request_ids
        theirs: tuple[str, ...] = self.baseline.request_ids
        if max(len(ours), len(theirs)) < MANY:
            return f"<{told}; requests {printable(' '.join((*ours, *theirs)))}>"
        return f"<{told}; {requests_told(ours)} against {requests_told(theirs)}>"

    @abstractmethod
    def _arm_lines(self) -> list[str]:
        """A line an arm: who played, and by which requests."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain data for reports."""

    @abstractmethod
    def _larger(self) -> str:
        """What would decide it, where it cannot tell."""
