"""`evalharness ab --judge-requests CANDIDATE BASELINE`: requests that somebody else created, judged; nothing is posted."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli.ab_flags import FLAGS, metric_of
from pytest_evalharness.errors import UsageError

if TYPE_CHECKING:
    from pytest_evalharness.league.plan import ComparisonPlan
    from pytest_evalharness.league.session import LeagueSession

_BESIDE = frozenset(
    {
        "claim", "rule", "margin", "target_lift", "min_fire_rate", "aa", "server", "home", "dry_run", "inconclusive",
        "candidate_image", "baseline_image", "unproven_builds", "queue_budget", "stall_grace", "total_budget", "arena_seed",
        "arena_pace", "arena_dialect", "arena_fault",
    }
)  # fmt: skip
"""The settings that mean something where nothing is posted."""
_DECLARED = ("claim", "rule", "margin", "target_lift")


def add_to(ab: argparse.ArgumentParser) -> None:
    """Add the flags."""
    group = ab.add_argument_group("judging requests that exist")
    group.add_argument(
        "--judge-requests",
        nargs=2,
        action="append",
        metavar=("CANDIDATE", "BASELINE"),
        help="the ids of two experience requests that somebody else created (XREQ, or several as XREQ,XREQ): wait for them, check them "
        "and judge them. Nothing is posted; repeatable, for several requests an arm",
    )
    group.add_argument(
        "--seat",
        metavar="N",
        help="the tested seat, where the requests differ in several (found in them otherwise)",
    )


def refuse_without_requests(parsed: argparse.Namespace) -> None:
    """The seat is found by the role where something is posted.

    Raises:
        UsageError: it was given.
    """
    if parsed.judge_requests is None and parsed.seat is not None:
        raise UsageError(
            "--seat belongs to --judge-requests: otherwise the role chooses the seat",
            not_done="nothing was submitted",
            next_step="--role crew or --role imposter",
        )


def plan_of(session: LeagueSession, parsed: argparse.Namespace) -> ComparisonPlan:
    """What the named requests ask.

    Raises:
        UsageError: a flag that means nothing here, or as `LeagueSession.adopt`.
        EvalHarnessError: likewise.
    """
    from pytest_evalharness.league.layouts import adopted_claim

    others = [
        flag.option for flag in FLAGS if getattr(parsed, flag.key) is not None and flag.key not in _BESIDE
    ]
    if others:
        raise _wrong(f"--judge-requests judges what was played already, and {others[0]} says how to play")
    words: dict[str, Any] = {
        key: session.settings[key] for key in _DECLARED if session.settings[key] is not None
    }
    if (metric := metric_of(parsed)) is not None:
        words["metric"] = metric
    try:
        declared = adopted_claim(words, session.settings)
    except UsageError as problem:
        raise _wrong(problem.what) from None
    return session.adopt(_requests(parsed.judge_requests), declared, seat=_seat(parsed.seat))


def _requests(named: list[list[str]]) -> dict[str, list[str]]:
    """The ids of both sides, in the order in which they were named."""
    from pytest_evalharness.league.arms import SIDES

    found: dict[str, list[str]] = {side: [] for side in SIDES}
    for pair in named:
        for side, told in zip(SIDES, pair, strict=True):
            found[side] += [one for word in told.split(",") if (one := word.strip())]
    if not all(found.values()):
        raise _wrong("--judge-requests takes the candidate's request and the baseline's")
    return found


def _seat(raw: str | None) -> int | None:
    if raw is None:
        return None
    if not raw.isdecimal():
        raise _wrong(f"--seat must be a whole number, got {raw!r}")
    return int(raw)


def _wrong(what: str) -> UsageError:
    return UsageError(
        what,
        not_done="nothing was judged, and nothing was posted",
        next_step="evalharness ab --judge-requests XREQ_CANDIDATE XREQ_BASELINE --server URL [--claim CLAIM]",
    )
