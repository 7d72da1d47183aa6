"""What has to be run again, and what that will cost. Pure.

The benchmark runs a task again as a whole: every rollout and the baseline, also those that had ended.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_evalharness.clbench.campaign.remains import PassLeft, PassState


@dataclass(frozen=True)
class Price:
    """What a task costs elsewhere, in dollars; None where nobody knows.

    Attributes:
        rollout: one stateful pass.
        baseline: the stateless pass.
    """

    rollout: float | None = None
    baseline: float | None = None


@dataclass(frozen=True)
class Rerun:
    """What is run again of a task.

    Attributes:
        rollouts: how many; None where nothing tells.
        lost: seeds whose rollouts did not end: what would be enough, if the benchmark could run single ones.
        baseline: whether its baseline too.
        cost: dollars, as far as known; None if nothing is.
        whole_cost: whether `cost` counts everything that is run.
        basis: what the estimate rests on.
    """

    rollouts: int | None
    lost: tuple[int, ...]
    baseline: bool
    cost: float | None
    whole_cost: bool
    basis: str

    @property
    def words(self) -> str:
        """A sentence."""
        count = "its rollouts" if self.rollouts is None else _count(self.rollouts, "rollout")
        what = f"{count} and its baseline" if self.baseline else count
        if self.cost is None:
            return f"{what}, at a cost that nothing here tells"
        return f"{what}, {'about' if self.whole_cost else 'at least'} ${self.cost:,.2f} ({self.basis})"


def rerun(
    passes: Sequence[PassLeft],
    baselines: Sequence[PassLeft],
    rollouts: int | None,
    price: Price | None,
    *,
    has_baseline: bool,
) -> Rerun:
    """What is run again of a task.

    Args:
        passes: every rollout of it that was begun, in any run group.
        baselines: every baseline of it that was begun.
        rollouts: how many there are to be, None where nothing tells.
        price: what the task costs elsewhere.
        has_baseline: whether there is to be a baseline.
    """
    ended = {one.run_index for one in passes if one.state.ended}
    lost = tuple(index for index in range(rollouts or 0) if index not in ended)
    each, told_each = _estimate(passes, price.rollout if price else None)
    base, told_base = _estimate(baselines, price.baseline if price else None) if has_baseline else (0.0, "")
    parts = [None if each is None or rollouts is None else each * rollouts, base]
    known = [one for one in parts if one is not None]
    basis = "; ".join(dict.fromkeys(one for one in (told_each, told_base) if one))
    whole = len(known) == len(parts)
    cost = sum(known) if known and (whole or any(known)) else None
    return Rerun(rollouts, lost, has_baseline, cost, whole, basis)


def _estimate(passes: Sequence[PassLeft], elsewhere: float | None) -> tuple[float | None, str]:
    """Dollars of one pass, and where that comes from."""
    whole = [one.cost for one in passes if one.state is PassState.WHOLE and one.cost is not None]
    if whole:
        return statistics.fmean(whole), "what it has cost here"
    begun = [one for one in passes if one.cost and one.instances and one.expected]
    if begun:
        longest = max(begun, key=lambda one: one.instances)
        assert longest.cost is not None
        assert longest.expected is not None
        return longest.cost / longest.instances * longest.expected, "what its instances have cost here"
    return elsewhere, "" if elsewhere is None else "what it has cost elsewhere"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
