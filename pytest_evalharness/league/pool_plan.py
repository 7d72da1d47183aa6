"""What a pool asks for: several configurations with one claim, declared together before anything is posted. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from pytest_evalharness.errors import EvalHarnessError, UsageError
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.metrics import is_function
from pytest_evalharness.verdict.pooling import require_enough, require_poolable


@dataclass(frozen=True)
class Configurations:
    """Several comparisons that are judged as one.

    Attributes:
        names: what each configuration is called, for people.
        plans: each configuration.
    """

    names: tuple[str, ...]
    plans: tuple[ComparisonPlan, ...]

    @property
    def declaration(self) -> Declaration:
        """The claim about all configurations together."""
        return self.plans[0].declaration

    @property
    def server(self) -> str:
        """The server's identity."""
        return self.plans[0].server

    @property
    def aa(self) -> bool:
        """Whether both arms are one build by design."""
        return self.plans[0].aa

    @property
    def title(self) -> str:
        """What it is called, for people."""
        return "A/A pool" if self.aa else "A/B pool"

    @property
    def strata(self) -> tuple[tuple[str, ComparisonPlan], ...]:
        """Each configuration with its name."""
        return tuple(zip(self.names, self.plans, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Plain data, the source of the plan key."""
        strata = []
        for name, plan in self.strata:
            told = plan.to_json()
            del told["declaration"]
            strata.append({"name": name, "plan": told})
        return {"declaration": self.declaration.to_json(), "server": self.server, "strata": strata}


@dataclass(frozen=True)
class PoolPlan(Configurations):
    """Configurations that were declared together; all have the pool's declaration.

    Raises:
        UsageError: the claim cannot be pooled, there are too few configurations, or two of them share an arm.
    """

    def __post_init__(self) -> None:
        try:
            require_enough(len(self.plans))
            require_poolable(self.declaration, len(self.plans))
        except ValueError as problem:
            raise _bad(str(problem)) from None
        if is_function(self.declaration.win):
            raise _bad(
                "a pool's wins are not said by a function: declare win='win', 'highest' or 'score > X'"
            )
        require_own_arms(self, [[_arm(plan, side) for side in SIDES] for plan in self.plans])

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PoolPlan:
        """The plan that `to_json` gave; what a ledger keeps beside it (the versions) is left aside."""
        return cls(
            tuple(part["name"] for part in data["strata"]),
            tuple(
                ComparisonPlan.from_json({**part["plan"], "declaration": data["declaration"]})
                for part in data["strata"]
            ),
        )


def require_own_arms(plan: PoolPlan, arms: Sequence[Sequence[Any]]) -> None:
    """Check that no two configurations have an arm in common.

    Args:
        plan: names the configurations.
        arms: what tells arms apart, for the arms of each configuration.

    Raises:
        UsageError: two have.
    """
    for (one, ours), (other, theirs) in combinations(zip(plan.names, arms, strict=True), 2):
        shared = sum(arm in theirs for arm in ours)
        if shared:
            what = "are the same" if shared == len(ours) else "share an arm"
            raise _bad(f"configurations {one!r} and {other!r} {what}: their games would be counted twice")


def in_configuration(error: EvalHarnessError, name: str) -> EvalHarnessError:
    """A failure with the configuration that it happened in."""
    return type(error)(f"{name}: {error.what}", not_done=error.not_done, next_step=error.next_step)


def _arm(plan: ComparisonPlan, side: str) -> dict[str, Any]:
    """What an arm's games follow from, as far as it is known before the field is."""
    told = plan.to_json()
    for other in ("candidate", "baseline", "declaration", "tested_seat"):
        del told[other]
    return {**told, "pins": dict(plan.pins(side)), **({"side": side} if plan.aa else {})}


def _bad(what: str) -> UsageError:
    return UsageError(
        what,
        not_done="nothing was submitted",
        next_step="correct the mark or the option and run the same command again",
    )
