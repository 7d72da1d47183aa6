"""Every engine fitted on the fit calls, with what kept it from that where something did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from pytest_evalharness.base.text import printable
from pytest_evalharness.engines.benchmark.report import DONE, FAILED, NOT_ENOUGH, SIMULATOR_ONLY
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.errors import EvalHarnessError, NotEnoughEvidence


class Engine(Protocol):
    """What the benchmark needs of an engine."""

    @property
    def name(self) -> str:
        """Its name, unique on the leaderboard."""

    @property
    def label(self) -> str:
        """Its name for people."""

    @property
    def code(self) -> str:
        """What tells its function from another of the same name: results are kept under it."""

    @property
    def why_not_on_a_log(self) -> str | None:
        """The sentence why a log cannot fit it; None where one can."""

    def run(self, evidence: Evidence, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Fit."""


class Fit(msgspec.Struct, kw_only=True):
    """An engine's table, or why there is none."""

    engine: str
    label: str
    status: str
    reason: str = ""
    policy: dict[str, str] = {}
    diagnostics: dict[str, Any] = {}


def fit(
    engines: Iterable[Engine],
    evidence: Evidence,
    *,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    say: Callable[[str], None] | None = None,
) -> list[Fit]:
    """Fit engines on one side of the evidence; one that fails costs the others nothing.

    Args:
        engines: to fit, in the order of their rows.
        evidence: the fit side.
        params: of each engine by its name; what is missing has its default.
        say: told what is fitted.
    """
    fits = []
    for engine in engines:
        if say is not None:
            say(f"fitting {engine.name}")
        fits.append(_one(engine, evidence, (params or {}).get(engine.name)))
    return fits


def _one(engine: Engine, evidence: Evidence, params: Mapping[str, Any] | None) -> Fit:
    def without(status: str, reason: str) -> Fit:
        return Fit(engine=engine.name, label=engine.label, status=status, reason=reason)

    if engine.why_not_on_a_log is not None:
        return without(SIMULATOR_ONLY, engine.why_not_on_a_log)
    try:
        found = engine.run(evidence, params)
    except NotEnoughEvidence as problem:
        return without(NOT_ENOUGH, problem.what)
    except EvalHarnessError as problem:  # a bad table, or an engine whose own code broke
        return without(FAILED, problem.what)
    except Exception as problem:  # noqa: BLE001 - an engine is somebody's code, and its fault is a row of the report
        return without(FAILED, printable(f"{type(problem).__name__}: {problem}", 300))
    return Fit(
        engine=engine.name,
        label=engine.label,
        status=DONE,
        policy=found["policy"],
        diagnostics=found.get("diagnostics") or {},
    )
