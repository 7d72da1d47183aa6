"""What cases on a CL-Bench run get to see. What they looked at is remembered, because looking at nothing is no pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench import rendering
from pytest_evalharness.clbench.checking import Check, State
from pytest_evalharness.clbench.domains import Family
from pytest_evalharness.clbench.estimates import Composite
from pytest_evalharness.clbench.leaderboard import Standing
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.scoring import RunScore, TaskScore
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


class LookedScores:
    """A run's scores, which say nothing unless the run may be believed: `clbench_scores.require(reward_above=0.15)`.

    Attributes:
        consumed: whether the case has looked at a number.
    """

    def __init__(
        self, score: RunScore, doubts: Sequence[Check], folder: Path, *, embedded: bool = False
    ) -> None:
        self.consumed = False
        self._score = score
        self._doubts = list(doubts)
        self._folder = folder
        self._embedded = embedded

    def __repr__(self) -> str:
        return f"<{self.headline}>"

    @property
    def score(self) -> RunScore:
        """Every number."""
        self.consumed = True
        return self._score

    @property
    def normalized_reward(self) -> Composite | None:
        """The composite by which the leaderboard ranks."""
        return self.score.normalized_reward

    @property
    def normalized_gain(self) -> Composite | None:
        """The composite over the run's own stateless baselines: what memory is worth."""
        return self.score.normalized_gain

    @property
    def tasks(self) -> Mapping[str, TaskScore]:
        """Each task's scores."""
        return self.score.tasks

    @property
    def headline(self) -> str:
        """The composites in one line; of what cannot be believed why."""
        name = f"{NAME} {printable(self._score.run, 60)}"
        if self._doubts:
            told = "; ".join(f"{one.name}: {printable(one.seen, _WIDE)}" for one in self._doubts)
            return f"{name}: UNTRUSTWORTHY, {told}"
        reward, gain = _words(self._score.normalized_reward), _words(self._score.normalized_gain)
        return f"{name}: normalised reward {reward}, gain {gain} over {len(self._score.tasks)} tasks"

    def lines(self) -> list[str]:
        """Every number, as the command prints them; of what cannot be believed none."""
        if self._doubts:
            return []
        told = rendering.scores([Standing(self._score, None, "one run by itself")], self._score.reference)
        return [line for line in told if line and not line.startswith(Family.EMBEDDED)]

    def require_trust(self) -> None:
        """Let scores pass that can be believed, whatever they are.

        Raises:
            Untrustworthy: a check of the run failed, and the case's mark does not disclose it.
        """
        __tracebackhide__ = True
        if self._doubts:
            raise Untrustworthy(
                self.headline,
                not_done="no score was judged",
                next_step=f"evalharness clbench check {self._folder} says how to mend it; losses= in the mark discloses a lost pass",
            )

    def require(self, *, reward_above: float | None = None, gain_above: float | None = None) -> None:
        """Pass only if 95 % t intervals of the composites lie above what is named here.

        Raises:
            ConditionNotMet: an interval lies below.
            Inconclusive: one includes it, or one rollout a task gives none.
            Untrustworthy: the run cannot be believed.
            UsageError: nothing was named.
        """
        __tracebackhide__ = True
        self.require_trust()
        asked = {"reward": reward_above, "gain": gain_above}
        if all(bound is None for bound in asked.values()):
            raise UsageError(
                "require() of scores takes reward_above=… or gain_above=…",
                not_done="nothing was judged",
                next_step="name what the interval has to lie above, or assert on its numbers",
            )
        self.consumed = True
        found = {"reward": self._score.normalized_reward, "gain": self._score.normalized_gain}
        for name, bound in asked.items():
            if bound is not None:
                _require_above(f"normalised {name}", found[name], bound, self.headline)

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports."""
        more = {"outcome": "untrustworthy" if self._doubts else _words(self._score.normalized_reward)}
        kept = {"reward": self._score.normalized_reward, "gain": self._score.normalized_gain}
        numbers = {
            name: None
            if one is None or self._doubts
            else {"mean": one.mean, "t": None if one.t is None else list(one.t)}
            for name, one in kept.items()
        }
        return row(
            "scores",
            self.headline,
            self.lines(),
            embedded=self._embedded,
            run=self._score.run,
            **more,
            **numbers,
        )


def _require_above(name: str, found: Composite | None, bound: float, headline: str) -> None:
    ends = None if found is None else found.t
    if ends is not None and ends[0] > bound:
        return
    what = f"{headline}\n  {name} above {bound:g} was required"
    if ends is not None and ends[1] < bound:
        raise ConditionNotMet(what, not_done="its interval lies below", next_step="do not ship this edit")
    told = "its interval includes that" if ends is not None else "one rollout of a task gives no interval"
    raise Inconclusive(
        f"{what}: {told}",
        not_done="it is neither shown nor refuted",
        next_step="run more rollouts of each task",
    )


def _words(one: Composite | None) -> str:
    if one is None:
        return "none"
    ends = "" if one.t is None else f" [{one.t[0]:+.4f}, {one.t[1]:+.4f}]"
    return f"{one.mean:+.4f}{ends}"
