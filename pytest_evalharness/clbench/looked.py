"""What cases on a CL-Bench run get to see. What they looked at is remembered, because looking at nothing is no pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.checking import Check, State
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.errors import (
    ConditionNotMet,
    EvalHarnessError,
    Inconclusive,
    Untrustworthy,
    UsageError,
)

NAME = "CL-Bench"
GATES = "gates nothing but the chain"
GATES_NOTHING = f"a smoke {GATES}: it says nothing of how good the system is"
_WIDE = 300
_LONGEST = 600


def row(
    kind: str, headline: str, lines: Sequence[str], *, embedded: bool, run: str, **more: Any
) -> dict[str, Any]:
    """Plain data of one thing that a case looked at, as reports show it.

    Args:
        kind: what it is: `pass`, `invariant`, `scores`, `smoke`, `seed`, `submission`, `published run`.
        headline: the decision and the numbers.
        lines: what stands under it.
        embedded: whether it is of the embedded miniature.
        run: the run's name.
        more: values of the other columns, over the empty ones.
    """
    told: dict[str, Any] = {
        "kind": kind, "headline": headline, "lines": list(lines), "outcome": "", "verdict": None, "decision": None,
        "claim": "", "candidate": run, "baseline": "", "difference": None, "ci": None, "embedded": embedded,
    }  # fmt: skip
    return told | more


class LookedCheck:
    """One pass of a run, or one invariant: `clbench_pass.require()`.

    Attributes:
        check: what was seen, what is needed, and how to mend it; reading it counts as no look.
        kind: `pass` or `invariant`.
        run: the run's name.
        loss: why it is known to be lost, as the case's mark discloses it; empty if it does not.
        consumed: whether the case has looked at it.
    """

    def __init__(self, check: Check, kind: str, run: str, *, loss: str = "", embedded: bool = False) -> None:
        self.check = check
        self.kind = kind
        self.run = run
        self.loss = loss
        self.consumed = False
        self._embedded = embedded

    def __repr__(self) -> str:
        return f"<{self.headline}>"

    @property
    def lost(self) -> bool:
        """Whether it is lost, and was disclosed to be."""
        return bool(self.loss) and self.check.state is not State.OK

    @property
    def state(self) -> State:
        """How it ended. A bare comparison with it is strict."""
        self.consumed = True
        return self.check.state

    @property
    def headline(self) -> str:
        """The decision and what was seen in one line."""
        one = self.check
        return f"{NAME} {printable(self.run, 60)}, {one.name}: {one.state.upper()}, {printable(one.seen, _LONGEST)}"

    def require(self) -> None:
        """Pass only if it is as it should be.

        Raises:
            Untrustworthy: what is there is not to be believed.
            ConditionNotMet: something is not there.
            Inconclusive: the artifacts do not tell.
        """
        __tracebackhide__ = True
        self.consumed = True
        one = self.check
        if one.state is State.OK:
            return
        what = "\n".join([self.headline, *(f"  {line}" for line in self._needed())])
        raise _refusal(one.state, what, one.mend)

    def lines(self) -> list[str]:
        """What stands under the headline."""
        mend = self.check.mend
        return [*self._needed(), *([f"{'mend':<15}: {printable(mend, _WIDE)}"] if mend else [])]

    def _needed(self) -> list[str]:
        told = [f"{'needed':<15}: {self.check.needed}"]
        if self.loss:
            told.append(f"{'disclosed':<15}: {printable(self.loss, _WIDE)}")
        return told

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports."""
        more = {"outcome": self.check.state.value, "claim": self.check.name, "disclosed": self.loss}
        return row(self.kind, self.headline, self.lines(), embedded=self._embedded, run=self.run, **more)


def _refusal(state: State, what: str, mend: str) -> EvalHarnessError:
    if state is State.FAILED:
        return Untrustworthy(what, not_done="nothing of it may be averaged", next_step=mend)
    if state is State.INCOMPLETE:
        return ConditionNotMet(what, not_done="it is not complete", next_step=mend)
    return Inconclusive(what, not_done="it is neither shown nor refuted", next_step=mend)


class LookedRun:
    """A run: one that was just made, or one that was published before.

    Attributes:
        kind: `smoke`, `seed`, `submission` or `published run`.
        name: the run's.
        folder: where it is published; None for a smoke, which publishes nothing.
        questions: instances that were to be answered.
        embedded: whether it is of the embedded miniature.
        consumed: whether the case has looked at what came of it.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        folder: Path | None,
        *,
        questions: int,
        typed_answers: int,
        told: Sequence[str] = (),
        stages: Mapping[str, str] | None = None,
        published: PublishedRun | None = None,
        faults: Sequence[str] = (),
        embedded: bool = False,
    ) -> None:
        self.kind = kind
        self.name = name
        self.folder = folder
        self.questions = questions
        self.embedded = embedded
        self.consumed = False
        self._answers = typed_answers
        self._told = list(told)
        self._stages = dict(stages or {})
        self._published = published
        self._faults = list(faults)

    def __repr__(self) -> str:
        """What a bare assert shows."""
        return f"<{self.headline}>"

    @property
    def typed_answers(self) -> int:
        """Instances that the system itself answered in the form that was asked for."""
        self.consumed = True
        return self._answers

    @property
    def stages(self) -> Mapping[str, str]:
        """Of a smoke: clone, image, container, bridge and typed answer, each `seen`, `not seen` or `not part`."""
        self.consumed = True
        return self._stages

    @property
    def published(self) -> PublishedRun:
        """What the run published.

        Raises:
            UsageError: it is a smoke, which publishes nothing.
        """
        self.consumed = True
        if self._published is None:
            raise UsageError(
                f"a {self.kind} publishes no run: {GATES_NOTHING}",
                not_done="nothing was judged",
                next_step='@pytest.mark.clbench(plan="seed") runs one rollout of each task',
            )
        return self._published

    @property
    def headline(self) -> str:
        """What came of it in one line."""
        told = f"{NAME} {self.kind} {printable(self.name, 60)}: {self._answers} of {self.questions} answers typed"
        if self._stages:
            unseen = [stage for stage, seen in self._stages.items() if seen == "not seen"]
            told += f", {'not seen: ' + ', '.join(unseen) if unseen else 'all stages seen'}, {GATES}"
        return f"{told}, embedded miniature" if self.embedded else told

    def require(self) -> None:
        """Pass only if every question was answered in form and nothing is missing: every stage, or every pass.

        Raises:
            ConditionNotMet: something is missing.
        """
        __tracebackhide__ = True
        self.consumed = True
        if self._answers == self.questions and not self._faults:
            return
        what = "\n".join([self.headline, *(f"  {line}" for line in (*self._faults, *self.lines()))])
        raise ConditionNotMet(
            what,
            not_done="the chain does not work" if self._stages else "the run is not complete",
            next_step="read the log that is named"
            if self._stages
            else f"evalharness clbench check {self.folder}",
        )

    def lines(self) -> list[str]:
        """What stands under the headline."""
        return [*self._told, *([GATES_NOTHING] if self.kind == "smoke" else [])]

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports."""
        lost = self.questions - self._answers
        return row(
            self.kind,
            self.headline,
            self.lines(),
            embedded=self.embedded,
            run=self.name,
            outcome="all answered" if not lost else f"{lost} not answered",
            claim=GATES_NOTHING if self.kind == "smoke" else "",
            folder="" if self.folder is None else str(self.folder),
            questions=self.questions,
            typed_answers=self._answers,
            stages=self._stages,
        )
