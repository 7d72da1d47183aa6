"""What a plan asks for once its names are versions, and what its arms are known by. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_evalharness.league.arms import SIDES, Arm
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.pool_plan import PoolPlan
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.ledger.keys import arm_key
from pytest_evalharness.ledger.records import ArmSpec

if TYPE_CHECKING:
    from pytest_evalharness.observatory.resolve import ResolvedPolicy


def specs_of(plan: ComparisonPlan, roster: Roster, arms: Mapping[str, Arm]) -> dict[str, ArmSpec]:
    """What is laid down for each arm, under the key of what is posted."""
    specs = {}
    for side, arm in arms.items():
        # The roster tells when it was frozen: cases of one run share an arm, and no run compares its candidate
        # with a baseline that was played at another time.
        bodies = arm.bodies()
        posted: dict[str, Any] = {"server": plan.server, "roster": roster.to_json(), "bodies": bodies}
        if plan.aa:
            posted["aa"] = side  # the bodies may be equal, and one arm held against itself would show nothing
        specs[side] = ArmSpec(arm_key(posted), arm.to_json(), bodies)
    return specs


def bodies_of(arms: Mapping[str, Arm]) -> list[list[dict[str, Any]]]:
    """What is posted for each arm: two that are alike here play the same, however their seats were found."""
    return [arm.bodies() for arm in arms.values()]


def asked_of(plan: ComparisonPlan | PoolPlan, versions: Mapping[str, str]) -> dict[str, Any]:
    """The plan with the versions that its labels stand for now."""
    return {**plan.to_json(), "versions": dict(sorted(versions.items()))}


def versions_of(policies: Mapping[str, ResolvedPolicy]) -> dict[str, str]:
    """The id of the version that each label stands for."""
    return {label: policy.policy_version_id for label, policy in policies.items()}


def labels_of(plan: ComparisonPlan | PoolPlan) -> list[str]:
    """Every label that a plan pins, each once."""
    parts = [plan] if isinstance(plan, ComparisonPlan) else plan.plans
    return list(dict.fromkeys(name for part in parts for side in SIDES for name in part.pins(side).values()))
