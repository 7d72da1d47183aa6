"""What a case may ask of its own games: everything that they left, downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_evalharness.errors import UsageError
from pytest_evalharness.plugin.collection import only_looks
from pytest_evalharness.plugin.marks import LEAGUE_AB
from pytest_evalharness.plugin.records import remember, remember_folders, results_of
from pytest_evalharness.plugin.session import EvalSession, relative

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_evalharness.league.arm_episodes import ArmEpisodes


@pytest.fixture
def episodes(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> ArmEpisodes:
    """What both arms of the marked case left, downloaded into the home: `episodes.candidate`, `episodes.baseline`.

    A case that fails names the folders, and JUnit does of every case. Whether the comparison can be believed does not matter here.

    Raises:
        EvalHarnessError: the comparison could not be had, or the server cannot be asked for what its games left.
    """
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.league.arm_episodes import arm_episodes
    from pytest_evalharness.league.plan import ComparisonPlan

    run, case = evalharness_run, request.node.nodeid
    plan = run.plans.get(case)
    if plan is None and only_looks(request.config):
        pytest.skip("nothing is set up here: the first case that asks would post the arms")
    if not isinstance(plan, ComparisonPlan):
        raise UsageError(
            f"the episodes fixture needs @pytest.mark.{LEAGUE_AB}(...) on {case}",
            not_done="nothing was submitted for this case",
            next_step="add the mark; the games of any request: evalharness episodes --xreq XREQ --out DIR",
        )
    # The case's own result, if it has one: another in its place would never be asked for its verdict.
    known = [one for one in results_of(request.node) if one.plan == plan]
    result = known[0] if known else run.league.result(case)
    if not known:
        remember(request.node, result)
    found = arm_episodes(
        run.observatory,
        {"candidate": result.candidate.request_ids, "baseline": result.baseline.request_ids},
        run.home,
        server=run.identity,
        clock=SystemClock(),
    )
    remember_folders(
        request.node, {side: _named(folders, request.config) for side, folders in found.folders.items()}
    )
    # Sections are shown of cases that fail.
    shown = [
        f"{side}: {relative(folder, request.config)}"
        for side, folders in found.folders.items()
        for folder in folders
    ]
    request.node.add_report_section("call", "episodes", "\n".join([*shown, *found.remarks()]))
    return found


def _named(folders: Sequence[Path], config: pytest.Config) -> str:
    """The folders of a side, as short as its requests are named."""
    from pytest_evalharness.report.model import MANY

    if len(folders) < MANY:
        return " ".join(relative(folder, config) for folder in folders)
    return f"{len(folders)} folders in {relative(folders[0].parent, config)}"
