"""`evalharness ab --bisect-wedge RUN`: names the seats that hang, by short games with known-good policies in the other seats."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.text import amount, counted, printable
from pytest_evalharness.cli import INCOMPLETE, INTERRUPTED
from pytest_evalharness.cli.ab_flags import DEFAULTS, FLAGS, spelt
from pytest_evalharness.cli.home import connected, found, home_of, resolved
from pytest_evalharness.errors import UsageError
from pytest_evalharness.settings import LARGEST_REQUEST

if TYPE_CHECKING:
    from pytest_evalharness.league.bisecting import Bisection, Wedged
    from pytest_evalharness.league.known_good import Policy, Proven
    from pytest_evalharness.league.wedge import Found
    from pytest_evalharness.ledger.journal import Ledger
    from pytest_evalharness.ledger.runs import RunRecord
    from pytest_evalharness.observatory.client import Observatory

_BESIDE = frozenset({"home", "dry_run", "queue_budget", "queue_exceeded", "stall_grace", "budget", "fresh"})
"""The settings that a search reads; everything else is what the run asked for."""
_FROM_LEDGER = 2
_NAMED = 0
UNTOLD = 11
_CODES = {"named": _NAMED, "did not hang again": INCOMPLETE, "no policy of the roster": UNTOLD, "out of budget": INCOMPLETE}  # fmt: skip


def add_to(ab: argparse.ArgumentParser) -> None:
    """Add the flags."""
    group = ab.add_argument_group("which seat hangs")
    group.add_argument(
        "--bisect-wedge",
        metavar="RUN",
        help="name the seats that hang in a run's wedged request: short games with known-good policies in the other seats",
    )
    group.add_argument(
        "--known-good",
        metavar="NAME:vN",
        action="append",
        help="a policy that starts and plays, to take seats; repeatable (those that have finished games in this ledger)",
    )
    group.add_argument(
        "--bisect-budget",
        metavar="N",
        help="games that the search may play in all (enough to name two of eight)",
    )


def refuse_without_run(parsed: argparse.Namespace) -> None:
    """The search's flags mean nothing without it.

    Raises:
        UsageError: one of them was given.
    """
    for given, option in ((parsed.known_good, "--known-good"), (parsed.bisect_budget, "--bisect-budget")):
        if given is not None:
            raise UsageError(
                f"{option} belongs to --bisect-wedge RUN",
                not_done="nothing was submitted",
                next_step="evalharness ab --bisect-wedge RUN",
            )


def bisect(parsed: argparse.Namespace) -> int:
    """Search, or with --dry-run tell what would be played.

    Raises:
        EvalHarnessError: there is nothing to search, nobody known to be good, or a game could not be played.
    """
    from pytest_evalharness.base.signals import OrderlyEnd

    allowed = _allowed(parsed)
    others = [
        flag.option for flag in FLAGS if getattr(parsed, flag.key) is not None and flag.key not in _BESIDE
    ]
    others += ["--metric"] if parsed.metric is not None else []
    if others or parsed.explain is not None:
        raise UsageError(
            f"--bisect-wedge takes the run's own question, not {others[0] if others else '--explain'}",
            not_done="nothing was submitted",
            next_step=f"evalharness ab --bisect-wedge {printable(parsed.bisect_wedge)}",
        )
    parsed.run_id = parsed.bisect_wedge
    end = OrderlyEnd()
    end.install()
    try:
        with found(parsed) as (ledger, run):
            return _search(parsed, ledger, run, home_of(parsed), allowed)
    except KeyboardInterrupt:
        print(
            "interrupted; nothing is lost and nothing is posted twice. To go on, the same command again",
            file=sys.stderr,
        )
        return INTERRUPTED
    finally:
        end.restore()


def _allowed(parsed: argparse.Namespace) -> int | None:
    if parsed.bisect_budget is None:
        return None
    try:
        allowed = int(parsed.bisect_budget)
    except ValueError:
        allowed = 0
    if not 1 <= allowed <= LARGEST_REQUEST:
        raise UsageError(
            f"--bisect-budget must be a whole number from 1 to {LARGEST_REQUEST}, got {printable(parsed.bisect_budget)}",
            not_done="nothing was submitted",
            next_step="leave it out: 10 games name one hanging seat of eight, or two",
        )
    return allowed


def _search(
    parsed: argparse.Namespace, ledger: Ledger, run: RunRecord, home: Path, allowed: int | None
) -> int:
    from pytest_evalharness.base.files import readable_json
    from pytest_evalharness.league import bisecting
    from pytest_evalharness.league.kept import Kept
    from pytest_evalharness.league.known_good import proven
    from pytest_evalharness.ledger.keys import new_run_id

    kept = [Kept.read(ledger, one) for one in run.comparisons]
    wedged = [arm for one in kept for arm in bisecting.wedged_arms(ledger, one)]
    if not wedged:
        raise UsageError(
            f"no request of the run {printable(run.id)} was found wedged: a queue or a budget that ran out is no wedge",
            not_done="nothing was submitted",
            next_step="evalharness runs ls",
        )
    settings, _ = resolved(lambda key: getattr(parsed, key, None), DEFAULTS)
    limits = bisecting.budgets(
        queue=settings["queue_budget"],
        stall=settings["stall_grace"],
        queue_exceeded=settings["queue_exceeded"],
    )
    say = _teller(json=parsed.json)
    stop, history = threading.Event(), proven(ledger, run.server)
    session = new_run_id()  # one for all searches: they have one budget
    told: list[dict[str, Any]] = []
    code = _NAMED
    with connected(run, home, stop=stop) as observatory:
        for one in wedged:
            if _explained(one, told):
                continue
            bisection = bisecting.Bisection(
                ledger,
                server=run.server,
                arm=one.arm,
                good=_good(parsed.known_good, history, observatory, one),
                seated=history.seated,
                allowed=allowed,
                budgets=limits,
                price=settings["budget"],
            )
            say(f"the {one.arm.side} arm {printable(one.arm.label)} hung ({printable(one.request_id)})")
            for line in (*bisection.plan_lines(), _balance(observatory)):
                say(f"  {line}")
            if settings["dry_run"]:
                continue
            if settings["fresh"]:
                bisection.begin_afresh()
            folder = home / "runs" / run.id
            row, ended = _played(bisection, observatory, folder, stop=stop, session=session, say=say)
            told.append(row)
            code = max(code, ended)
    if settings["dry_run"]:
        say("dry run: nothing was posted")
    if parsed.json:
        print(readable_json({"run": run.id, "searches": told}), end="")
    return code


def _played(
    bisection: Bisection,
    observatory: Observatory,
    folder: Path,
    *,
    stop: threading.Event,
    session: str,
    say: Callable[[str], None],
) -> tuple[dict[str, Any], int]:
    """One search, told step by step; its row for programs, and its exit code."""
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.base.events import EventLog
    from pytest_evalharness.league.bisecting import what_to_do

    folder.mkdir(parents=True, exist_ok=True)
    came = bisection.run(
        observatory,
        SystemClock(),
        EventLog(folder / "wedge.jsonl"),
        stop,
        session=session,
        say=lambda line: say(f"  {line}"),
    )
    steps = list(what_to_do(bisection.arm, came.wedged))
    for line in (*_result(bisection, came), *(f"next: {step}" for step in steps)):
        say(line)
    seats = [seat for seat in bisection.arm.seats if seat.position in came.wedged]
    row = {
        "arm": bisection.arm.side, "outcome": came.outcome.value, "games": bisection.played,
        "wedged": [{"seat": s.position, "label": s.label, "policy_version_id": s.policy_version_id} for s in seats],
        "cleared": list(came.cleared), "among": list(came.among), "next": steps,
    }  # fmt: skip
    return row, _CODES[came.outcome.value]


def _result(bisection: Bisection, came: Found) -> Sequence[str]:
    from pytest_evalharness.league.wedge import Outcome

    good = ", ".join(printable(one.label) for one in bisection.good)
    seats = {seat.position: seat for seat in bisection.arm.seats}
    lines = [
        f"wedged: seat {seat}, {printable(seats[seat].label)} (policy version {printable(seats[seat].policy_version_id)}): games "
        f"hang with it and finish with {printable(bisection.filling.label)} in its place; it is the policy, not the seat"
        for seat in came.wedged
    ]
    if came.outcome is Outcome.NO_POLICY:
        lines.append(
            f"no policy of this roster is to blame alone: games hang with {good} in every seat. A seat hangs whoever sits there, or the "
            "game or the service does, or what is taken as known good hangs too: try other --known-good policies, or another division"
        )
    elif came.outcome is Outcome.NOT_AGAIN:
        lines.append(
            "the very roster that hung finishes now: it was no policy's lasting hang. Ask again with --fresh"
        )
    elif came.outcome is Outcome.OUT_OF_BUDGET:
        left = [seat for seat in came.among or bisection.seats if seat not in {*came.cleared, *came.wedged}]
        lines.append(
            f"the budget of {bisection.allowed} games is spent; still suspected: seats {', '.join(map(str, left)) or 'none'}. "
            "A larger --bisect-budget goes on from here"
        )
    return [*lines, f"{bisection.played} of at most {counted(bisection.allowed, 'game')} played"]


def _good(
    asked: Sequence[str] | None, history: Proven, observatory: Observatory, wedged: Wedged
) -> list[Policy]:
    """Who takes the seats: whoever was named, else those who have finished games and sit in none of these seats.

    Raises:
        EvalHarnessError: a name cannot be resolved, or nobody is known to be good.
    """
    from pytest_evalharness.league.known_good import Policy
    from pytest_evalharness.observatory.resolve import resolve_policy

    if asked:
        target = wedged.arm.body["target"]
        live = observatory.memberships(league_id=target["league_id"], division_id=target.get("division_id"))
        resolved_ones = [resolve_policy(observatory, name, live=live) for name in asked]
        return [Policy(one.policy_version_id, one.label) for one in resolved_ones]
    suspected = {seat.policy_version_id for seat in wedged.arm.seats}
    good = [one for one in history.policies if one.policy_version_id not in suspected][:_FROM_LEDGER]
    if not good:
        raise UsageError(
            "nobody is known to be good: no other policy has finished a game of this ledger on this server",
            not_done="nothing was submitted",
            next_step="name a policy that starts and plays: --known-good NAME:vN, such as a version that played yesterday",
        )
    return good


def _explained(wedged: Wedged, told: Sequence[dict[str, Any]]) -> bool:
    """Whether a hanging policy that is named by now sits in this arm too, in the same seat."""
    named = {(one["seat"], one["policy_version_id"]) for row in told for one in row["wedged"]}
    return any((seat.position, seat.policy_version_id) in named for seat in wedged.arm.seats)


def _balance(observatory: Observatory) -> str:
    """What the account has, so that a reader knows what a search is paid from."""
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.league.cost import read_account

    told = read_account(observatory, SystemClock())
    balance = None if told is None else told.status.balance_credits
    return f"credits    {'the server does not tell' if balance is None else f'{amount(balance, 6)} before the search'}"


def _teller(*, json: bool) -> Callable[[str], None]:
    """Prints a line: where JSON is asked for, beside it."""

    def say(line: str) -> None:
        print(spelt(line), file=sys.stderr if json else sys.stdout, flush=True)

    return say
