"""What was found before about the same thing: a later look never hides an earlier one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.questions import question_key
from pytest_evalharness.ledger.records import Comparison
from pytest_evalharness.stats import pooled
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.pooled_judgement import PooledJudgement
from pytest_evalharness.verdict.words import Verdict

_Table = tuple[int, int, int, int]


def earlier(ledger: Ledger, comparison: Comparison) -> tuple[str, ...]:
    """The verdicts of other attempts at the same question: no look ever hides another."""
    told = []
    for attempt in ledger.attempts(comparison.plan):
        # What one run declared together are claims about the same games, and no further look at them.
        other = attempt.id != comparison.id and attempt.run_id != comparison.run_id
        verdicts = ledger.verdicts(attempt.id) if other else []
        if not verdicts:
            continue
        verdict, declared = verdicts[-1].judgement["verdict"], verdicts[-1].judgement["declaration"]
        other = attempt.plan_key != comparison.plan_key
        under = f", claim {declared['claim']} by {declared['rule']}" if other else ""
        told.append(f"{verdict} (attempt {attempt.attempt}{under})")
    return tuple(told)


def elsewhere(ledger: Ledger, comparison: Comparison) -> tuple[str, ...]:
    """What earlier runs found about the same two builds in the same seat, asked in other words: more games, other ticks.

    Whoever asks often enough finds something by chance, however each question is worded.
    """
    mine, told = _subject(comparison.plan), []
    for other, verdict in ledger.judged_before(comparison.created_at):
        if other.run_id == comparison.run_id or question_key(other.plan) == question_key(comparison.plan):
            continue
        if mine is not None and _subject(other.plan) == mine:
            told.append(
                f"{verdict.judgement['verdict']} ({other.plan['episodes']} episodes, run {other.run_id})"
            )
    return tuple(told)


def _subject(plan: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Which builds are compared in which seat of which league; None for a pool, which is about several seats."""
    if "strata" in plan:
        return None
    seat, versions = str(plan["tested_seat"]), plan.get("versions", {})
    builds = (versions.get(plan[side][seat], plan[side][seat]) for side in SIDES)
    return (str(plan["server"]), str(plan["league"]), seat, str(bool(plan.get("aa"))), *builds)


def _tables(judgement: Mapping[str, Any]) -> list[_Table]:
    """The counts of a judgement: one table, or one for each of its strata."""
    found = []
    for stratum in judgement.get("strata", [judgement]):
        arms = (stratum[side] for side in SIDES)
        x_c, n_c, x_b, n_b = (arm[key] for arm in arms for key in ("wins", "finished"))
        found.append((x_c, n_c, x_b, n_b))
    return found


def pooled_attempts(ledger: Ledger, comparison: Comparison, judgement: Judgement | PooledJudgement) -> str:
    """All attempts at a question together, so that nobody has to pick the flattering one; empty for a first attempt.

    Attempts that cannot be believed are left out; what one run declared about the same games counts once. Each attempt is
    a stratum of its own, or several: its field was another day's.
    """
    if judgement.verdict is Verdict.UNTRUSTWORTHY or judgement.declaration.measured:
        return ""  # what is pooled is wins
    tables: dict[str, list[_Table]] = {}
    for attempt in ledger.attempts(comparison.plan):
        verdicts = ledger.verdicts(attempt.id) if attempt.run_id != comparison.run_id else []
        if verdicts and verdicts[-1].judgement["verdict"] != Verdict.UNTRUSTWORTHY:
            tables[attempt.run_id] = _tables(verdicts[-1].judgement)
    if not tables:
        return ""
    tables[comparison.run_id] = _tables(judgement.to_json())
    every = [table for told in tables.values() for table in told]
    found, low, high = pooled.yan_su(every, judgement.declaration.alpha)
    _, p = pooled.cmh(every)
    points = [f"{100 * value:+.1f}" for value in (found, low, high)]
    return f"all {len(tables)} attempts together: {points[0]} pp [{points[1]}, {points[2]}], CMH p={p:.2g}"
