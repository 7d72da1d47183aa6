"""One benchmark: fit, score, check, judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_evalharness.engines.benchmark import time_split
from pytest_evalharness.engines.benchmark.fitting import Engine, Fit, fit
from pytest_evalharness.engines.benchmark.kept import Kept
from pytest_evalharness.engines.benchmark.leaderboard import Leaderboard, Resampling, Say
from pytest_evalharness.engines.benchmark.report import DONE, Lift, Report
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
    keep: Path | None = None,
    say: Say | None = None,
) -> Report:
    """Fit engines on the fit calls, and score them and any tables on the held-out ones.

    Args:
        evidence: a whole set; its rows or the hash rule tell the sides.
        engines: to fit, in the order of their rows.
        tables: further decision tables, by name; they must have been fitted on the fit calls.
        params: of engines, by name.
        how: resamples, their seed, and the margin of equivalence.
        keep: a folder where fits and scores are kept for later benchmarks of the same evidence; None keeps nothing.
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
    say = say or (lambda _: None)
    sides, kept = Sides(evidence), Kept(keep, evidence.content_hash())
    fits, later = _fitted(sides, list(engines), params or {}, how=how, kept=kept, say=say)
    fits += [
        Fit(engine=name, label=name, status=DONE, policy=dict(table))
        for name, table in (tables or {}).items()
    ]
    return Leaderboard(sides, fits, how, later, kept).report(say)


def _fitted(
    sides: Sides,
    engines: list[Engine],
    params: Mapping[str, Mapping[str, Any]],
    *,
    how: Resampling,
    kept: Kept,
    say: Say,
) -> tuple[list[Fit], dict[str, Lift]]:
    """Every engine fitted, on the fit calls and for the time split; what was fitted before is what was kept."""
    asked = {
        one.name: {"engine": one.name, "code": one.code, "params": dict(params.get(one.name, {}))}
        for one in engines
    }
    resampled = {"bootstrap": how.bootstrap, "seed": how.seed}
    known = {name: kept.get(Fit, **words) for name, words in asked.items()}
    fits: dict[str, Fit] = {name: one for name, one in known.items() if one is not None}
    for one in fit([one for one in engines if one.name not in fits], sides.fit, params=params, say=say):
        fits[one.engine] = one
        if one.status == DONE:
            kept.put(one, **asked[one.engine])
    split = {name: kept.get(Lift, **words, **resampled) for name, words in asked.items()}
    later = {name: one for name, one in split.items() if one is not None}
    missing = [one for one in engines if one.name not in later and fits[one.name].status == DONE]
    fresh = time_split.lifts(sides.evidence, missing, params=params, resamples=how.bootstrap, seed=how.seed)
    for name, lift in fresh.items():
        kept.put(lift, **asked[name], **resampled)
    return [fits[one.name] for one in engines], later | fresh
