"""One benchmark: fit, score, check, judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_evalharness.engines.benchmark.fitting import Engine, Fit, fit
from pytest_evalharness.engines.benchmark.leaderboard import Leaderboard, Resampling, Say
from pytest_evalharness.engines.benchmark.report import DONE, Report
from pytest_evalharness.engines.benchmark.sides import Sides
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.errors import EvidenceUnreadable


def benchmark(
    evidence: Evidence,
    engines: Iterable[Engine],
    *,
    tables: Mapping[str, Mapping[str, str]] | None = None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    how: Resampling = Resampling(),  # noqa: B008 - frozen
    say: Say | None = None,
) -> Report:
    """Fit engines on the fit calls, and score them and any tables on the held-out ones.

    Args:
        evidence: a whole set; its rows or the hash rule tell the sides.
        engines: to fit, in the order of their rows.
        tables: further decision tables, by name; they must have been fitted on the fit calls.
        params: of engines, by name.
        how: resamples, their seed, and the margin of equivalence.
        say: told what is done.

    Raises:
        EvidenceUnreadable: the document was changed after it was built.
        NotEnoughEvidence: a side has no call, or no held-out call has its propensities.
        EvidenceContradicted: a check inside the run does not hold.
    """
    if evidence.edited:
        raise EvidenceUnreadable(
            "the evidence was changed after it was built: its content is not what its manifest's hash says",
            not_done="nothing was fitted or scored",
            next_step="build the set again; a change that is meant belongs into the calls or the outcome map",
        )
    sides = Sides(evidence)
    fits = fit(engines, sides.fit, params=params, say=say)
    fits += [
        Fit(engine=name, label=name, status=DONE, policy=dict(table))
        for name, table in (tables or {}).items()
    ]
    return Leaderboard(sides, fits, how).report(say or (lambda _: None))
