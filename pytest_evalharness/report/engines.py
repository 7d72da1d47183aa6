"""What reports say of decision engines: plain data in, lines, cells and properties out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_evalharness.base.text import markdown, printable

PREFIX = "evalharness."
KIND = "engine benchmark"
_WIDE = 10_000


def lines(told: Mapping[str, Any]) -> Iterator[str]:
    """What stands under an engine's headline: why, on which calls, and what it does not prove."""
    yield printable(told["line"], _WIDE)
    made_up = f", synthetic calls: {told['synthetic']}" if told["synthetic"] else ""
    yield printable(
        f"{told['held_out_calls']:,} held-out calls of {told['env'] or 'the evidence'}, tagger {told['tagger'] or 'n/a'}{made_up}",
        _WIDE,
    )
    yield printable(told["caveat"], _WIDE)


def cells(told: Mapping[str, Any]) -> str:
    """An engine's cells of the table of cases: claim, verdict, candidate, baseline, difference, interval."""
    lift = "" if told["lift"] is None else f"{told['lift']:+.2f} a call"
    ci = "" if told["ci"] is None else f"[{told['ci'][0]:+.2f}, {told['ci'][1]:+.2f}] 95 %"
    row = (
        "",
        markdown(f"{told['verdict'] or told['status']}: {told['head']}"),
        markdown(told["engine"]),
        "today",
        lift,
        ci,
    )
    return " | ".join(row)


def properties(told: Mapping[str, Any] | None, run_id: str) -> list[tuple[str, str]]:
    """An engine's properties for a JUnit file, in a fixed order; of a case that looked at none only what it is.

    Args:
        told: what the case read of one engine.
        run_id: the run's name.
    """
    if told is None:
        return [(PREFIX + "kind", KIND), (PREFIX + "run", run_id)]
    low, high = told["ci"] or (None, None)
    values = {
        "kind": KIND,
        "engine": told["engine"],
        "verdict": told["verdict"] or told["status"],
        "head": told["head"],
        # Whoever reads the verdict reads what it does not prove.
        "reason": " ".join([*(f"{code}:" for code in told["reasons"]), told["line"], told["caveat"]]),
        "metric": "outcome a call, by PDWIS",
        "effect": told["lift"],
        "ci_low": low,
        "ci_high": high,
        "ess": told["ess"],
        "n": told["held_out_calls"],
        "evidence": told["evidence"],
        "synthetic": told["synthetic"],
        "benchmark": told["benchmark"],
        "caveat": told["caveat"],
        "run": run_id,
    }
    return [(PREFIX + name, _word(value)) for name, value in values.items()]


def _word(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else printable(value, _WIDE)
