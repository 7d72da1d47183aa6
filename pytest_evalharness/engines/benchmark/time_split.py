"""The same engines, fitted on the earlier calls and scored on the later ones: customers and agents drift."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from pytest_evalharness.engines.benchmark.fitting import Engine, fit
from pytest_evalharness.engines.benchmark.report import DONE, Lift
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.engines.evidence.rows import Row
from pytest_evalharness.engines.ope.calls import Calls
from pytest_evalharness.engines.ope.resampling import interval
from pytest_evalharness.engines.ope.scoring import score
from pytest_evalharness.engines.ope.target import Target

ORDERED = "in the order of the export"
"""What a manifest's `sample` says where the calls stand in the order in which the platform exported them."""
LATER = 5
"""One in so many calls is a later one."""


def lifts(
    evidence: Evidence,
    engines: Iterable[Engine],
    *,
    params: Mapping[str, Mapping[str, Any]] | None,
    resamples: int,
    seed: int,
) -> dict[str, Lift]:
    """The PDWIS lift over today on the last fifth of the calls, of tables fitted on those before.

    Args:
        evidence: a whole set.
        engines: as of the benchmark.
        params: as of the benchmark.
        resamples: behind every interval.
        seed: of the resamples.

    Returns:
        Nothing where the evidence does not tell the calls' order, or a side would be empty.
    """
    if not str(evidence.document.manifest.get("sample", "")).endswith(ORDERED):
        return {}
    calls = evidence.by_episode()
    cut = len(calls) - len(calls) // LATER
    earlier = _part(evidence, calls[:cut])
    later = [row for call in calls[cut:] if all(row.propensity is not None for row in call) for row in call]
    if not later or not earlier.document.transitions:
        return {}
    held = Calls.from_rows(later, evidence.moves, gamma=evidence.gamma)
    fits = [one for one in fit(engines, earlier, params=params) if one.status == DONE]
    tables = {one.engine: Target.table(held, one.policy) for one in fits}
    scored = score(held, {}, weighed={"@today": Target.today(held), **tables}, resamples=resamples, seed=seed)
    today = scored["@today"]
    return {
        name: Lift(lift=scored[name].lift("pdwis", today), ci=interval(scored[name].lifts("pdwis", today)))
        for name in tables
    }


def _part(evidence: Evidence, calls: list[list[Row]]) -> Evidence:
    rows = [row for call in calls for row in call]
    told = msgspec.structs.replace(
        evidence.document,
        transitions=rows,
        states=list(dict.fromkeys(row.state for row in rows)),
        pairs=None,
        named_pairs=None,
    )
    return Evidence(told)
