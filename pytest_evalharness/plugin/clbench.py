"""CL-Bench as cases: what they may ask for, and one case for each pass and each invariant of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.errors import Inconclusive, Untrustworthy, UsageError
from pytest_evalharness.plugin.clbench_marks import as_told
from pytest_evalharness.plugin.collection import only_looks
from pytest_evalharness.plugin.fixtures import without_mark
from pytest_evalharness.plugin.marks import CLBENCH, CLBENCH_AB, KEYWORDS
from pytest_evalharness.plugin.options import settings_of
from pytest_evalharness.plugin.records import remember_run
from pytest_evalharness.plugin.session import EvalSession

if TYPE_CHECKING:
    from pytest_evalharness.clbench.case_plan import ComparePlan, RunPlan
    from pytest_evalharness.clbench.cases import PassName
    from pytest_evalharness.clbench.compared import ComparedRuns
    from pytest_evalharness.clbench.looked import LookedCheck, LookedRun
    from pytest_evalharness.clbench.looked_scores import LookedScores

PASS = "clbench_pass"  # noqa: S105 - a fixture
INVARIANT = "clbench_invariant"


@pytest.fixture
def clbench_run(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> LookedRun:
    """The marked case's run: made once for all cases and workers, or read where the mark names one that is there.

    Raises:
        EvalHarnessError: it is not there, or could not be made.
    """
    looked = evalharness_run.clbench.run(_run_asked(request, evalharness_run, "clbench_run"))
    remember_run(request.node, looked)
    return looked


@pytest.fixture
def clbench_scores(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> LookedScores:
    """The scores of the marked case's run, which may be believed.

    Raises:
        EvalHarnessError: there are none, or a check of the run failed.
    """
    looked = evalharness_run.clbench.scores(_run_asked(request, evalharness_run, "clbench_scores"))
    remember_run(request.node, looked)
    looked.require_trust()
    return looked


@pytest.fixture
def clbench_pass(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> LookedCheck:
    """One pass of the marked case's run; a case that asks for it becomes one for each rollout and each baseline.

    Raises:
        EvalHarnessError: the run is not there, or could not be made.
    """
    plan = _run_asked(request, evalharness_run, PASS)
    looked = evalharness_run.clbench.of_pass(plan, _param(request, PASS))
    remember_run(request.node, looked)
    return looked


@pytest.fixture
def clbench_invariant(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> LookedCheck:
    """One invariant of the marked case's run; a case that asks for it becomes one for each.

    Raises:
        EvalHarnessError: the run is not there, or could not be made.
    """
    plan = _run_asked(request, evalharness_run, INVARIANT)
    looked = evalharness_run.clbench.of_invariant(plan, _param(request, INVARIANT))
    remember_run(request.node, looked)
    return looked


@pytest.fixture
def clbench_ab(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> ComparedRuns:
    """The marked case's two runs, compared and trusted.

    Raises:
        EvalHarnessError: one of them is not there, they have nothing in common, or one cannot be believed.
    """
    from pytest_evalharness.clbench.case_plan import ComparePlan

    plan = _asked(request, evalharness_run, "clbench_ab", CLBENCH_AB)
    if not isinstance(plan, ComparePlan):
        raise without_mark(request, "clbench_ab", CLBENCH_AB)
    looked = evalharness_run.clbench.compare(plan, evalharness_run.compared)
    remember_run(request.node, looked)
    looked.require_trust()
    return looked


def _run_asked(request: pytest.FixtureRequest, run: EvalSession, fixture: str) -> RunPlan:
    from pytest_evalharness.clbench.case_plan import RunPlan

    plan = _asked(request, run, fixture, CLBENCH)
    if not isinstance(plan, RunPlan):
        raise without_mark(request, fixture, CLBENCH)
    return plan


def _asked(
    request: pytest.FixtureRequest, run: EvalSession, fixture: str, mark: str
) -> RunPlan | ComparePlan | None:
    plan = run.clbench_plans.get(request.node.nodeid)
    if plan is None and only_looks(request.config):
        pytest.skip("nothing is run here: the first case that asks would do it")
    if plan is None:
        raise without_mark(request, fixture, mark)
    return plan


def _param(request: pytest.FixtureRequest, fixture: str) -> Any:
    """Which pass or invariant a case is about.

    Raises:
        UsageError: it is none of those that were made at collection.
    """
    if not hasattr(request, "param"):
        raise UsageError(
            f"{request.node.nodeid} asks for {fixture} by request.getfixturevalue",
            not_done="nothing was judged",
            next_step=f"name {fixture} as an argument of the test, so that it becomes a case for each",
        )
    return request.param


# --------------------------------------------------------------- generation


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one case for each pass, or each invariant, of the run that a test's mark names.

    Which there are follows from the mark and the options, never from what a run holds by now: all workers see the same.
    """
    for fixture in (PASS, INVARIANT):
        if fixture in metafunc.fixturenames:
            mark = next(metafunc.definition.iter_markers(CLBENCH), None)
            names = [_nothing("no mark")] if mark is None else _names(metafunc, mark, fixture)
            metafunc.parametrize(fixture, names, indirect=True)


def _nothing(why: str) -> Any:
    """A case that fails when it asks, or that collection refuses."""
    return pytest.param(None, id=why)


def _names(metafunc: pytest.Metafunc, mark: pytest.Mark, fixture: str) -> list[Any]:
    """A parameter for each, with what the mark discloses; none where its words are wrong, which collection tells after."""
    if mark.args or set(mark.kwargs) - set(KEYWORDS[CLBENCH]):
        return [_nothing("mark is wrong")]
    config = metafunc.config
    try:
        plan, _ = as_told(metafunc.definition.nodeid, mark.kwargs, settings_of(config))
    except UsageError:
        return [_nothing("mark is wrong")]
    named: list[str] | list[PassName] = (
        plan.invariants() if fixture == INVARIANT else plan.expected(_family(config, plan))
    )
    return [pytest.param(one, id=str(one), marks=_disclosed(plan.losses.get(str(one), ""))) for one in named]


def _family(config: pytest.Config, plan: RunPlan) -> Any:
    from pytest_evalharness.clbench.case_plan import family_of
    from pytest_evalharness.settings import EMBEDDED

    folder = None if plan.run is None else (config.rootpath / plan.run).expanduser()
    if folder is not None and not folder.is_dir():
        folder = None  # a campaign's name, or a run's in the checkout
    return family_of(
        plan, folder, embedded=(plan.checkout or settings_of(config)["clbench_checkout"]) == EMBEDDED
    )


def _disclosed(reason: str) -> tuple[pytest.MarkDecorator, ...]:
    """A loss that is disclosed is expected; one that is none is no longer to be disclosed, and a fault of the test is none."""
    expected = (AssertionError, Inconclusive, Untrustworthy)
    return (pytest.mark.xfail(reason=reason, strict=True, raises=expected),) if reason else ()
