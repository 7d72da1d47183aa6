"""Every mark that makes an eval case, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pytest

from pytest_evalharness.plugin.clbench_marks import validate_clbench
from pytest_evalharness.plugin.marks import (
    CLBENCH,
    CLBENCH_AB,
    ENGINE_BENCHMARK,
    LEAGUE_AB,
    LEAGUE_POOL,
    declaration_of,
    plan_of,
    validate,
)
from pytest_evalharness.plugin.pool_marks import pool_declaration_of, pool_plan_of, validate_pool
from pytest_evalharness.settings import Settings

if TYPE_CHECKING:
    from pytest_evalharness.league.games import GameOf
    from pytest_evalharness.league.plan import ComparisonPlan
    from pytest_evalharness.league.pool_plan import PoolPlan
    from pytest_evalharness.verdict.claim import Declaration

    Plan: TypeAlias = ComparisonPlan | PoolPlan


class Kind(NamedTuple):
    """What to do with a mark's words.

    Attributes:
        validate: checks them at collection: the mark, the case.
        plan: makes the case's plan, with a line for each word that the command line overrode: the case, the words, the
            settings, the server's identity, and what tells the game of a league.
        declaration: what the case declares, whoever is to play: the case, the words, the settings.
        fixture: what gives the case its result.
    """

    validate: Callable[[pytest.Mark, str], None]
    plan: Callable[[str, Mapping[str, Any], Settings, str, GameOf | None], tuple[Plan, list[str]]]
    declaration: Callable[[str, Mapping[str, Any], Settings], Declaration]
    fixture: str


KINDS: Mapping[str, Kind] = {
    LEAGUE_AB: Kind(validate, plan_of, declaration_of, "ab"),
    LEAGUE_POOL: Kind(validate_pool, pool_plan_of, pool_declaration_of, "pool"),
}
"""The kinds that play on a league, by the mark's name."""

VALIDATORS: Mapping[str, Callable[[pytest.Mark, str], None]] = {
    **{name: kind.validate for name, kind in KINDS.items()},
    ENGINE_BENCHMARK: validate,
    CLBENCH: validate_clbench,
    CLBENCH_AB: validate_clbench,
}
"""What checks a mark's words at collection, by its name."""

FIXTURES: Mapping[str, str] = {
    **{name: kind.fixture for name, kind in KINDS.items()},
    ENGINE_BENCHMARK: "engine_report",
    CLBENCH: "clbench_run",
    CLBENCH_AB: "clbench_ab",
}
"""What gives a case its result, by the mark's name."""
