"""What a case found, kept beside its item until its report is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import pytest

from pytest_evalharness.plugin.session import session_of

if TYPE_CHECKING:
    from pytest_evalharness.clbench.compared import ComparedRuns
    from pytest_evalharness.clbench.looked import LookedCheck, LookedRun
    from pytest_evalharness.clbench.looked_scores import LookedScores
    from pytest_evalharness.engines.judged import EngineResult
    from pytest_evalharness.league.pool_result import PoolResult
    from pytest_evalharness.league.result import ABResult

    Result: TypeAlias = ABResult | PoolResult
    OfARun: TypeAlias = LookedCheck | LookedRun | LookedScores | ComparedRuns

SINGLE_ARM = "evalharness.single_arm"
"""The property of a case that played an arm by itself: the arm's numbers in one line."""
RESULT = pytest.StashKey["list[Result]"]()
BENCHMARK = pytest.StashKey["EngineResult"]()
RUNS = pytest.StashKey["list[OfARun]"]()
FOLDERS = pytest.StashKey[Mapping[str, str]]()


def remember(item: pytest.Item, result: Result) -> None:
    """Keep a result for the item's report. A rerun of the item replaces nothing: the evidence is the same."""
    results = item.stash.setdefault(RESULT, [])
    results[:] = [known for known in results if known.plan != result.plan]
    results.append(result)
    session_of(item.config).found.append(result)


def remember_benchmark(item: pytest.Item, result: EngineResult) -> None:
    """Keep a case's engine benchmark for its report."""
    item.stash[BENCHMARK] = result


def benchmark_of(item: pytest.Item) -> EngineResult | None:
    """The case's engine benchmark, if it had one."""
    return item.stash.get(BENCHMARK, None)


def remember_run(item: pytest.Item, looked: OfARun) -> None:
    """Keep what a case got to see of a CL-Bench run for its report; a rerun's takes the place of the earlier one."""
    seen = item.stash.setdefault(RUNS, [])
    seen[:] = [known for known in seen if type(known) is not type(looked)]
    seen.append(looked)


def runs_of(item: pytest.Item) -> list[OfARun]:
    """What the case got to see of CL-Bench runs."""
    return item.stash.get(RUNS, [])


def remember_folders(item: pytest.Item, folders: Mapping[str, str]) -> None:
    """Keep where the games of each side are, for the item's report."""
    item.stash[FOLDERS] = folders


def folders_of(item: pytest.Item) -> Mapping[str, str]:
    """Where the games of each side are, if the case asked for them."""
    return item.stash.get(FOLDERS, {})


def results_of(item: pytest.Item) -> list[Result]:
    """The item's results, in the order in which they were had."""
    return item.stash.get(RESULT, [])
