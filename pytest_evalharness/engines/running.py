"""A plan carried out: the one runner behind the command and the plugin."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.engines import catalogue
from pytest_evalharness.engines.benchmark.leaderboard import Resampling
from pytest_evalharness.engines.benchmark.report import Report
from pytest_evalharness.engines.benchmark.run import benchmark
from pytest_evalharness.engines.catalogue.code import release
from pytest_evalharness.engines.catalogue.contract import DecisionEngine
from pytest_evalharness.engines.catalogue.loading import load_engines
from pytest_evalharness.engines.catalogue.results import checked, load_table
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.engines.plan import ALL, EnginePlan
from pytest_evalharness.engines.sources import evidence_of
from pytest_evalharness.errors import UsageError

if TYPE_CHECKING:
    from pytest_evalharness.ledger.journal import Ledger

KIND = "benchmark"
"""Of the ledger's claims."""
_PATIENCE = 6 * 3600.0
"""Seconds for which a process waits for another one's benchmark."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Places:
    """Where names lead.

    Attributes:
        data: the data folder.
        base: what the plan's relative paths are relative to.
    """

    data: Path
    base: Path


class Prepared:
    """A plan with everything that it names at hand; nothing is fitted yet.

    Raises:
        EvalHarnessError: an engine, a file or the evidence is not there, or is not what it should be.
    """

    def __init__(self, plan: EnginePlan, places: Places) -> None:
        self.plan = plan
        self._keep = places.data / "cache" / "benchmarks"
        self._file = None if plan.file is None else places.base / plan.file
        self.engines = self._engines()
        self._params = self._knobs()
        tables = {name: load_table(places.base / path)["policy"] for name, path in plan.tables.items()}
        self.evidence: Evidence = evidence_of(plan.evidence, places.data, base=places.base)
        moves = self.evidence.moves
        self.tables: Mapping[str, Mapping[str, str]] = {
            name: checked({"policy": table}, moves, name)["policy"] for name, table in tables.items()
        }

    def _engines(self) -> list[DecisionEngine]:
        if self.plan.engines == (ALL,):
            chosen = [*catalogue.all(), catalogue.get(catalogue.SANITY)]
        else:
            chosen = [catalogue.get(name) for name in dict.fromkeys(self.plan.engines)]
        return chosen if self._file is None else [*chosen, *self._own(self._file)]

    def _own(self, file: Path) -> list[DecisionEngine]:
        own = load_engines(file)
        if self.plan.own is None:
            return own
        chosen = [engine for engine in own if engine.name == self.plan.own]
        if not chosen:
            raise UsageError(
                f"{file} has no engine {self.plan.own!r}",
                not_done="nothing was fitted or scored",
                next_step=f"evalharness engine ls {file}",
            )
        return chosen

    def _knobs(self) -> dict[str, dict[str, Any]]:
        """Each engine's knobs, those of every engine first.

        Raises:
            UsageError: a knob that no engine which is fitted has: it would silently change nothing.
        """
        found: dict[str, dict[str, Any]] = {}
        for name, knobs in sorted(self.plan.params.items()):
            for knob, value in knobs.items():
                takers = [
                    engine
                    for engine in self.engines
                    if name in ("", engine.name) and knob in {one.name for one in engine.declaration.params}
                ]
                if not takers:
                    raise UsageError(
                        f"no engine that is fitted has a knob {f'{name}.{knob}'.lstrip('.')!r}",
                        not_done="nothing was fitted or scored",
                        next_step="evalharness engine ls shows every knob",
                    )
                for engine in takers:
                    found.setdefault(engine.name, {})[knob] = value
        return found

    def key(self) -> str:
        """What the benchmark's numbers follow from: the evidence's content, the engines' code, and how it is scored."""
        asked = {
            "evidence": self.evidence.content_hash(),
            "engines": [(engine.name, engine.code) for engine in self.engines],
            "tables": self.tables,
            "params": self._params,
            "bootstrap": self.plan.bootstrap,
            "seed": self.plan.seed,
            "margin": self.plan.margin,
            "release": release(),
        }
        return hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()

    def run(self, say: Say | None = None) -> Report:
        """Fit, score and judge.

        Raises:
            EvalHarnessError: the evidence is not enough, was edited, or contradicts itself.
        """
        plan = self.plan
        report = benchmark(
            self.evidence,
            self.engines,
            tables=self.tables,
            params=self._params,
            how=Resampling(bootstrap=plan.bootstrap, seed=plan.seed, margin=plan.margin),
            keep=self._keep,
            say=say,
        )
        for engine in self.engines:
            told = engine.declaration.altered(self._params.get(engine.name))
            report.notices.extend(f"{engine.name}: the knob {line}" for line in told)
        return report

    def run_once(self, ledger: Ledger, clock: Clock, say: Say | None = None) -> Report:
        """The report, made by whichever process asks first; all others, later runs included, read it.

        Raises:
            EvalHarnessError: as `run`, or another process has not finished it in six hours.
        """

        def produce() -> dict[str, Any]:
            told: dict[str, Any] = msgspec.to_builtins(self.run(say))
            return told

        deadline = Deadline.after(clock, _PATIENCE)
        return msgspec.convert(ledger.once(KIND, self.key(), produce, deadline=deadline, poll=0.2), Report)
