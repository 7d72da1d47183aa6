"""What reports say of runs of CL-Bench: plain data in, lines, cells and properties out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_evalharness.base.text import markdown, printable

PREFIX = "evalharness."
KIND = "CL-Bench"
EMBEDDED = "embedded miniature"
_WIDE = 10_000


def lines(told: Mapping[str, Any]) -> Iterator[str]:
    """What stands under the headline of a run, a pass, an invariant, scores or a comparison."""
    for line in told["lines"]:
        yield printable(line, _WIDE)
    if told["embedded"]:
        yield f"{EMBEDDED}: invented tasks, whose numbers say nothing of a system elsewhere"


def cells(told: Mapping[str, Any]) -> str:
    """Its cells of the table of cases: claim, verdict, candidate, baseline, difference, interval."""
    difference = "" if told["difference"] is None else f"{told['difference']:+.4f} normalised reward"
    interval = ""
    if told["ci"] is not None:
        low, high = told["ci"]
        level = 100 * (1 - told["declaration"]["alpha"])
        interval = f"{low:+.4f} to {high:+.4f} ({level:.4g} %)"
    verdict = told["verdict"].upper() if told["verdict"] else f"{told['kind']}: {told['outcome']}"
    name = f"{told['candidate']} ({EMBEDDED})" if told["embedded"] else told["candidate"]
    return " | ".join(
        [
            markdown(told["claim"]),
            markdown(verdict),
            markdown(name),
            markdown(told["baseline"]),
            difference,
            interval,
        ]
    )


def properties(told: Mapping[str, Any] | None, run_id: str) -> list[tuple[str, str]]:
    """Its properties for a JUnit file, in a fixed order; of a case that looked at none only what it is.

    Args:
        told: what the case looked at.
        run_id: the run's name.
    """
    if told is None:
        return [(PREFIX + "kind", KIND), (PREFIX + "run", run_id)]
    low, high = told["ci"] or (None, None)
    means = told.get("means") or (None, None)
    rollouts = told.get("rollouts") or (None, None)
    values = {
        "kind": KIND,
        "of": told["kind"],
        "benchmark": EMBEDDED if told["embedded"] else "continual-learning-bench",
        "verdict": told["verdict"] or told["outcome"],
        "decision": told["decision"],
        "claim": told["claim"],
        "reason": " ".join(one["reason"] for one in told.get("reasons", ())) or told["headline"],
        "candidate": told["candidate"],
        "baseline": told["baseline"],
        "metric": "normalised reward" if told["verdict"] else None,
        "effect": told["difference"],
        "ci_low": low,
        "ci_high": high,
        "p": told.get("p"),
        "p_gate": told.get("p_gate"),
        "p_adjusted": told.get("p_adjusted"),
        "family": told.get("family"),
        "mean_candidate": means[0],
        "mean_baseline": means[1],
        "n_candidate": rollouts[0],
        "n_baseline": rollouts[1],
        "disclosed": told.get("disclosed"),
        "run": run_id,
    }
    return [(PREFIX + name, _word(value)) for name, value in values.items()]


def _word(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else printable(value, _WIDE)
