"""The scores of a CL-Bench run as a case sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench import rendering
from pytest_evalharness.clbench.checking import Check
from pytest_evalharness.clbench.domains import Family
from pytest_evalharness.clbench.estimates import Composite
from pytest_evalharness.clbench.leaderboard import Standing
from pytest_evalharness.clbench.looked import NAME, row
from pytest_evalharness.clbench.scoring import RunScore, TaskScore
from pytest_evalharness.errors import ConditionNotMet, Inconclusive, Untrustworthy, UsageError

_WIDE = 300


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
        more = {"outcome": "untrustworthy" if self._doubts else "scored"}
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
