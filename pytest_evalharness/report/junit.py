"""The properties that a JUnit file carries: a fixed, short vocabulary, exact strings only. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.report import builds, units
from pytest_evalharness.report.model import (
    MANY,
    OUTCOMES,
    SCOPE,
    CaseReport,
    counts,
    requests_told,
    stratum_counts,
)
from pytest_evalharness.verdict.wins import LISTED
from pytest_evalharness.verdict.words import Verdict

PREFIX = "evalharness."
_WIDE = 10_000
_EFFECT = (
    "separated", "effect", "ci_low", "ci_high", "p", "p_gate", "p_adjusted", "strata", "wins_candidate", "wins_baseline",
)  # fmt: skip
"""From these an effect could be read."""


def properties(result: Mapping[str, Any], run_id: str) -> list[tuple[str, str]]:
    """A comparison's properties, in a fixed order.

    Args:
        result: the comparison (`ABResult.to_json`).
        run_id: the run's name.
    """
    judged = result["judgement"]
    candidate, baseline = judged["candidate"], judged["baseline"]
    declared = judged["declaration"]
    strata = judged.get("strata")
    values = {
        "kind": ("A/A" if judged.get("aa") else "A/B") + (" pool" if strata else ""),
        "verdict": judged["verdict"],
        "decision": judged["decision"],
        "claim": declared["claim"],
        "rule": judged.get("rule", declared["rule"]),
        "builds": " ".join(builds.conclusions(result)),
        "reason": " ".join(reason["reason"] for reason in judged["reasons"]),
        "separated": judged.get("separated"),
        "metric": units.metric(declared) or "win rate",
        "win": printable(declared.get("win", LISTED)),
        "effect": judged["diff"],
        "ci_low": judged["ci"][0],
        "ci_high": judged["ci"][1],
        "p": judged["p"],
        "p_gate": judged.get("p_gate"),
        "p_adjusted": judged.get("p_adjusted"),
        "family": judged.get("family"),
        # Wins of unlike configurations are not added up: who divides them by games gets an effect that is none.
        "wins_candidate": None if strata else candidate["wins"],
        "n_candidate": candidate["finished"],
        "wins_baseline": None if strata else baseline["wins"],
        "n_baseline": baseline["finished"],
        "request_candidate": _requests(candidate["request_ids"]),
        "request_baseline": _requests(baseline["request_ids"]),
        "strata": "; ".join(map(stratum_counts, strata or ())),
        "server": result["plan"]["server"],
        "attempt": result["attempt"],
        "scope": SCOPE,
        "run": run_id,
    }
    if judged["verdict"] == "untrustworthy":
        for hidden in _EFFECT:
            values[hidden] = None  # nothing is said about an effect that cannot be believed
    return [(PREFIX + name, _word(value)) for name, value in values.items()]


def suite_properties(
    head: Mapping[str, object],
    cases: Sequence[CaseReport],
    *,
    missing: Sequence[str],
    unfinished: Sequence[str],
) -> list[tuple[str, str]]:
    """A run's properties, in a fixed order; one that did not bring every case to its end names the others.

    Args:
        head: what the run is: its id, its server, its exit code.
        cases: those that reported.
        missing: those that never did.
        unfinished: those that a stopped run did not get to.
    """
    outcomes = counts(cases)
    judged = [str(result["judgement"]["verdict"]) for case in cases for result in case.results]
    judged += [str(told["verdict"]) for case in cases for told in (*case.engines, *case.clbench)]
    told: list[tuple[str, object]] = [*head.items(), ("cases", len(cases))]
    told += [(f"outcome.{word}", outcomes.get(word, 0)) for word in OUTCOMES]
    told += [(f"verdict.{word}", judged.count(word)) for word in Verdict]
    told += [("missing", nodeid) for nodeid in missing]
    told += [("unfinished", nodeid) for nodeid in unfinished]
    return [(PREFIX + name, _word(value)) for name, value in told]


def _requests(ids: Sequence[str]) -> str:
    return " ".join(ids) if len(ids) < MANY else requests_told(ids)


def _word(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else printable(value, _WIDE)
