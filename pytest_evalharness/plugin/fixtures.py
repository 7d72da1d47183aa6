"""What a case may ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.errors import UsageError
from pytest_evalharness.plugin import progress, signals
from pytest_evalharness.plugin.collection import only_looks
from pytest_evalharness.plugin.kinds import FIXTURES
from pytest_evalharness.plugin.marks import ENGINE_BENCHMARK, LEAGUE_AB, LEAGUE_POOL, mark_of
from pytest_evalharness.plugin.records import SINGLE_ARM, remember, remember_benchmark, results_of
from pytest_evalharness.plugin.session import EvalSession, session_of

if TYPE_CHECKING:
    from pytest_evalharness.engines.evidence.document import Evidence
    from pytest_evalharness.engines.judged import EngineResult
    from pytest_evalharness.league.layouts import ArmRequest
    from pytest_evalharness.league.plan import ComparisonPlan
    from pytest_evalharness.league.pool_plan import PoolPlan
    from pytest_evalharness.league.pool_result import FieldsResult, PoolResult
    from pytest_evalharness.league.provenance import Provenance
    from pytest_evalharness.league.result import ABResult
    from pytest_evalharness.league.roster import Roster
    from pytest_evalharness.league.seating import SeatingMatrix
    from pytest_evalharness.league.single_arm import ArmResult
    from pytest_evalharness.observatory.client import Observatory
    from pytest_evalharness.observatory.resolve import ResolvedPolicy


@pytest.fixture(scope="session")
def evalharness_run(pytestconfig: pytest.Config) -> EvalSession:
    """The run that this process takes part in."""
    return session_of(pytestconfig)


@pytest.fixture
def ab(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> ABResult | FieldsResult:
    """The marked case's comparison, finished and trusted. The first case that asks posts every arm of the plan.

    One that was extended by a further field has each field as a stratum.

    Raises:
        EvalHarnessError: the comparison could not be had, or cannot be believed.
    """
    _plan(request, evalharness_run, "ab")
    result = evalharness_run.league.result(request.node.nodeid)
    remember(request.node, result)
    result.require_trust()
    return result


@pytest.fixture
def pool(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> PoolResult:
    """The marked case's configurations, all finished and trusted, and the one verdict about them.

    Raises:
        EvalHarnessError: a configuration could not be had, or cannot be believed.
    """
    from pytest_evalharness.league.pool_plan import PoolPlan

    if not isinstance(_planned(request, evalharness_run), PoolPlan):
        raise without_mark(request, "pool", LEAGUE_POOL)
    result = evalharness_run.league.pool_result(request.node.nodeid)
    remember(request.node, result)
    result.require_trust()
    return result


@pytest.fixture
def engine_report(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> EngineResult:
    """The marked case's engine benchmark, made once for all cases, workers and later runs that ask the same.

    Raises:
        EvalHarnessError: the evidence or an engine is not what it should be, or its calls are made up.
    """
    _engines_asked(request, evalharness_run, "engine_report")
    result = evalharness_run.benchmark(request.node.nodeid)
    remember_benchmark(request.node, result)
    return result


@pytest.fixture
def evidence(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> Evidence:
    """The marked case's evidence of logged calls.

    Raises:
        EvalHarnessError: there is none, or it cannot be read.
    """
    _engines_asked(request, evalharness_run, "evidence")
    return evalharness_run.prepared(request.node.nodeid).evidence


def _engines_asked(request: pytest.FixtureRequest, run: EvalSession, fixture: str) -> None:
    if request.node.nodeid in run.engine_plans:
        return
    if only_looks(request.config):
        pytest.skip("nothing is fitted here: the first case that asks would do it")
    raise without_mark(request, fixture, ENGINE_BENCHMARK)


@pytest.fixture(scope="session")
def observatory(evalharness_run: EvalSession) -> Observatory:
    """The league's API as a typed client, with the run's credentials."""
    return evalharness_run.observatory


@pytest.fixture
def candidate(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> ResolvedPolicy:
    """The policy in the candidate's tested seat, as the server knows it."""
    return _policy(request, evalharness_run, "candidate")


@pytest.fixture
def baseline(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> ResolvedPolicy:
    """The policy in the baseline's tested seat, as the server knows it."""
    return _policy(request, evalharness_run, "baseline")


def _policy(request: pytest.FixtureRequest, run: EvalSession, side: str) -> ResolvedPolicy:
    plan = _plan(request, run, side)
    return run.league.policy(plan.label(side), plan)


def _plan(request: pytest.FixtureRequest, run: EvalSession, fixture: str) -> ComparisonPlan:
    """The plan of a case that compares two arms."""
    from pytest_evalharness.league.plan import ComparisonPlan

    plan = _planned(request, run)
    if not isinstance(plan, ComparisonPlan):
        raise without_mark(request, fixture, LEAGUE_AB)
    return plan


def _planned(request: pytest.FixtureRequest, run: EvalSession) -> ComparisonPlan | PoolPlan | None:
    """The plan of a case, if it has one.

    Raises:
        EvalHarnessError: it could not be made, because the server did not tell which game it is.
    """
    problem = run.unplanned.get(request.node.nodeid)
    if problem is not None:
        raise problem
    plan = run.plans.get(request.node.nodeid)
    if plan is None and only_looks(request.config):
        pytest.skip("nothing is set up here: the first case that asks would post the arms")
    return plan


def without_mark(request: pytest.FixtureRequest, fixture: str, mark: str) -> UsageError:
    """What a fixture says to a case without its mark."""
    has = mark_of(request.node)
    fits = FIXTURES.get(has.name) if has is not None else None
    other = f", which is marked {has.name}" if has is not None else ""
    return UsageError(
        f"the {fixture} fixture needs @pytest.mark.{mark}(...) on {request.node.nodeid}{other}",
        not_done="nothing was submitted for this case",
        next_step=f"use the {fits} fixture"
        if fits
        else "add the mark, or use the arm and compare fixtures (docs/reference/fixtures.md)",
    )


@pytest.fixture
def roster(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> Roster:
    """The marked case's frozen field, the same in both arms."""
    _plan(request, evalharness_run, "roster")
    return evalharness_run.league.frozen_field(request.node.nodeid)


@pytest.fixture
def builds(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> Provenance:
    """What is known of the marked case's two builds, and that they are different; nothing is posted for it.

    Raises:
        EvalHarnessError: they are one build, or nothing proves that they differ and that was not allowed.
    """
    _plan(request, evalharness_run, "builds")
    return evalharness_run.league.builds(request.node.nodeid)


@pytest.fixture
def arm(evalharness_run: EvalSession) -> Callable[..., ArmRequest]:
    """Describe an arm that marks cannot express: `arm({0: "keeper:v2", 4: "rival:v3"})`. Posts nothing yet.

    It also takes a roster, or a whole request body, as the service takes them; or `request="xreq_…"`, a request that somebody
    else created.
    """
    from functools import partial

    from pytest_evalharness.league.layouts import ArmRequest, seats_in

    run = evalharness_run
    return partial(ArmRequest.of, seats_of=seats_in(run.settings, run.games.of))


@pytest.fixture
def compare(
    request: pytest.FixtureRequest, evalharness_run: EvalSession
) -> Callable[..., ABResult | FieldsResult]:
    """Play two described arms at the same moment and judge them.

    `compare(arm({0: "keeper:v2"}), arm({0: "keeper:v1"}), seat=0, claim="better").require()`

    Of two requests that somebody else created nothing is posted, and the seat is found in them:
    `compare(arm(request="xreq_a"), arm(request="xreq_b"), claim="better").require()`
    """
    from pytest_evalharness.league.layouts import adopted_claim, adopted_of, comparison_plan
    from pytest_evalharness.league.unshared import NEVER_QUIET

    def play(
        candidate: ArmRequest | Mapping[int, str],
        baseline: ArmRequest | Mapping[int, str],
        *,
        seat: int | None = None,
        **words: Any,
    ) -> ABResult | FieldsResult:
        run = evalharness_run
        progress.ensure(request.config)
        signals.ensure(request.config)
        adopted = adopted_of(candidate, baseline)
        if adopted is None:
            plan = comparison_plan(
                candidate,
                baseline,
                seat=seat,
                words=words,
                settings=run.settings,
                server=run.identity,
                game_of=run.games.of,
                notice=run.notice,
            )
        else:
            plan = run.adopt(adopted, adopted_claim(words, run.settings), seat=seat)
        name = f"{request.node.nodeid} compare {len(results_of(request.node)) + 1}"
        result = run.league.compare(name, plan)
        remember(request.node, result)
        for reason in result.alone.reasons:
            if reason.reason in NEVER_QUIET:
                run.notice(f"{request.node.nodeid}: {reason.reason.sentence} ({reason.detail})")
        result.require_trust()
        return result

    return play


@pytest.fixture
def single_arm(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> Callable[..., ArmResult]:
    """Play one described arm for its results; there is no verdict.

    `single_arm(arm({0: "rival:v3"}), seat=0, episodes=10).evidence.rate`
    """
    from pytest_evalharness.league.layouts import arm_plan
    from pytest_evalharness.league.single_arm import SingleArmPlan

    played: list[ArmResult] = []

    def play(described: ArmRequest | Mapping[int, str], *, seat: int, **words: Any) -> ArmResult:
        run = evalharness_run
        progress.ensure(request.config)
        signals.ensure(request.config)
        plan = arm_plan(
            described,
            seat=seat,
            words=words,
            settings=run.settings,
            server=run.identity,
            game_of=run.games.of,
            notice=run.notice,
        )
        result = run.league.single(f"{request.node.nodeid} arm {len(played) + 1}", SingleArmPlan(plan))
        played.append(result)
        result.require_trust()
        request.node.user_properties.append((SINGLE_ARM, result.headline))
        run.notice(f"{request.node.nodeid}: {result.headline}")
        return result

    return play


@pytest.fixture
def seating(request: pytest.FixtureRequest, evalharness_run: EvalSession) -> SeatingMatrix:
    """Who really sat where in the marked case's comparison, whether it can be believed or not: `assert seating`."""
    plan = _plan(request, evalharness_run, "seating")
    # The case's own result, if it has one: another in its place would never be asked for its verdict.
    known = next((one for one in results_of(request.node) if one.plan == plan), None)
    if known is not None:
        return known.seating
    result = evalharness_run.league.result(request.node.nodeid)
    remember(request.node, result)
    return result.seating
