"""One comparison that is asked by itself, on a command line: its plan from the settings, and what it comes to in a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_evalharness.errors import (
    ConditionNotMet,
    EvalHarnessError,
    ForkWithoutSecrets,
    Inconclusive,
    UsageError,
)
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.family import FamilyPlan, standing_of
from pytest_evalharness.league.game import Game, Roles
from pytest_evalharness.league.games import GameOf, crewrift, role_in, side_of, unheard
from pytest_evalharness.league.layouts import ArmRequest, comparison_plan
from pytest_evalharness.league.plan import ComparisonPlan, tested_seat
from pytest_evalharness.league.pool_result import FieldsResult
from pytest_evalharness.league.result import ABResult
from pytest_evalharness.league.seats import NATURAL, Role
from pytest_evalharness.league.session import LeagueSession
from pytest_evalharness.ledger.families import Member, Method
from pytest_evalharness.report.model import CANNOT_TELL, UNTRUSTWORTHY, CaseReport
from pytest_evalharness.settings import Settings

_DECLARED = ("claim", "rule", "margin", "target_lift")
_CORRECT = "correct the option and run the same command again"


def plan_of(
    settings: Settings,
    server: str,
    game_of: GameOf = crewrift,
    *,
    metric: str | None = None,
    notice: Callable[[str], None] = unheard,
) -> ComparisonPlan:
    """What the settings ask: the plan that a mark with the same words makes, so its evidence is one and the same.

    Args:
        settings: every setting, resolved.
        server: the server's identity (`embedded:2026`, or its URL).
        game_of: tells the game of a league.
        metric: the declared metric, in the words of a mark; None for the win rate.
        notice: told where a setting has no effect in this game.

    Raises:
        UsageError: a value is wrong, or a name is missing.
        EvalHarnessError: the server does not tell which game it is.
    """
    for side in SIDES:
        if not settings[side]:
            raise UsageError(
                f"no {side} policy was named",
                not_done="nothing was submitted",
                next_step=f"add --{side} NAME:vN to the command",
            )
    words = {key: settings[key] for key in _DECLARED}
    words |= {"metric": metric} if metric is not None else {}
    try:
        game = game_of(settings["league"], seats=settings["seats"], teams=settings["teams"])
        seat, natural = _tested(settings, game, notice)
        if natural:
            words["natural_roles"] = True
        arms = [ArmRequest.of(dict.fromkeys(game.with_seat(seat), settings[side])) for side in SIDES]
        return comparison_plan(
            *arms,
            seat=seat,
            words=words,
            settings=settings,
            server=server,
            game_of=game_of,
            notice=notice,
        )
    except ValueError as problem:
        raise _wrong(str(problem)) from None
    except UsageError as problem:
        raise _wrong(problem.what, _next(problem)) from None


def _tested(settings: Settings, game: Game, notice: Callable[[str], None]) -> tuple[int, bool]:
    """The tested seat, and whether the game deals its role.

    Raises:
        ValueError: the command names a role that the game does not have.
    """
    role = settings["role"]
    if game.roles is Roles.FORCED:
        natural = role == NATURAL
        return 0 if natural else tested_seat(settings["layout_seed"], Role(role or Role.CREW)), natural
    role = role_in(game, role if settings.commanded("role") else None, settings, notice)
    return side_of(game, role), role == NATURAL


def _wrong(what: str, next_step: str = _CORRECT) -> UsageError:
    return UsageError(what, not_done="nothing was submitted", next_step=next_step)


def _next(problem: UsageError) -> str:
    """What a refusal says to do, where it says more than to correct a mark or a case: the command has neither."""
    more = problem.next_step
    return _CORRECT if not more or more.startswith("correct the ") else more


def case_name(plan: ComparisonPlan) -> str:
    """What ledgers and reports call it, where pytest has the name of a case."""
    candidate, baseline = (plan.label(side) for side in SIDES)
    return f"ab: {candidate} against {baseline} {f'as {plan.role}' if plan.role else f'in {plan.game.name}'}"


def family_of(name: str, plan: ComparisonPlan, method: str) -> FamilyPlan | None:
    """The family that it is alone in, as a lone case of pytest is; None for an A/A run, whose every alarm must be heard."""
    if plan.aa:
        return None
    declared = plan.declaration
    alone = Member((name,), declared.claim.value, declared.rule.value, declared.alpha, standing_of(declared))
    return FamilyPlan((alone,), Method(method))


@dataclass(frozen=True)
class Concluded:
    """What a comparison came to.

    Attributes:
        case: its row of the report.
        exit_code: the command's.
        result: the comparison; None where it could not be had.
    """

    case: CaseReport
    exit_code: int
    result: ABResult | FieldsResult | None


def conclude(session: LeagueSession, name: str) -> Concluded:
    """Play the comparison of a session to its end, or read it again, and hold it to its claim.

    Args:
        session: has the comparison on its plan.
        name: the comparison's name there.

    Raises:
        UsageError: something that only the server could tell is wrong with what was asked.
    """
    result: ABResult | FieldsResult | None = None
    error: EvalHarnessError | None = None
    try:
        result = session.league.result(name)
        result.require()
    except UsageError:
        raise
    except EvalHarnessError as problem:
        error = problem
    outcome, code = _outcome(error, session.settings["inconclusive"])
    told = () if result is None else (result.to_json(),)
    return Concluded(CaseReport(name, outcome, "" if error is None else str(error), told), code, result)


def _outcome(error: EvalHarnessError | None, inconclusive: str) -> tuple[str, int]:
    """The case's outcome and the exit code, as the plugin has them.

    Args:
        error: what kept the claim from being met.
        inconclusive: what a case that cannot tell does: `exit`, `fail` or `pass`.
    """
    if error is None:
        return "passed", 0
    if isinstance(error, Inconclusive):
        codes = {"exit": CANNOT_TELL, "fail": ConditionNotMet.exit_code, "pass": 0}
        return "failed" if inconclusive == "fail" else "inconclusive", codes[inconclusive]
    if isinstance(error, ConditionNotMet):
        return "failed", error.exit_code
    return "not_run" if isinstance(error, ForkWithoutSecrets) else "untrustworthy", UNTRUSTWORTHY
