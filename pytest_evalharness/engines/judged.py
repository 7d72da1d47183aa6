"""A benchmark as a case reads it: which rows it looked at is remembered, because looking at none is no pass."""

from __future__ import annotations

from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.engines.benchmark.report import Report, Row
from pytest_evalharness.engines.benchmark.verdicts import Head
from pytest_evalharness.engines.plan import EnginePlan
from pytest_evalharness.errors import UsageError
from pytest_evalharness.verdict.words import Verdict

_WIDE = 600


class JudgedRow:
    """One engine's row. Whatever is read of it, `verdict` and `ess` included, counts as having looked at its evidence."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self.consumed = False

    def _read(self) -> Row:
        self.consumed = True
        return self._row

    def __repr__(self) -> str:
        row = self._row
        return f"<engine {row.engine}: {row.verdict if row.verdict is not None else f'{row.status}: {row.reason}'}>"

    @property
    def status(self) -> str:
        """Done; or why there is no verdict."""
        return self._read().status

    @property
    def verdict(self) -> Verdict | None:
        """In the vocabulary of every claim; None for an engine that was not scored."""
        found = self._read().verdict
        return None if found is None else Verdict(found.verdict)

    @property
    def head(self) -> str:
        """The verdict in the benchmark's own words; the status of an engine that was not scored."""
        found = self._read().verdict
        return self._row.status if found is None else found.head

    @property
    def ess(self) -> float:
        """Effective held-out calls."""
        return self._read().ess

    @property
    def lift(self) -> float | None:
        """The PDWIS lift over today's agent, in the outcomes' units a call."""
        return self._read().lift

    @property
    def ci(self) -> tuple[float, float] | None:
        """Its 95 % interval."""
        found = self._read().vs_today
        return None if found is None else found.pdwis.ci

    @property
    def row(self) -> Row:
        """Everything else that the report has of the engine."""
        return self._read()

    def require(self, *expected: Verdict | Head | str) -> None:
        """Pass only on one of the verdicts, BETTER if none is named.

        Raises:
            Inconclusive: the calls cannot tell, and that was not among the expected verdicts.
            ConditionNotMet: another verdict.
            UsageError: no such verdict.
        """
        self._read().require(*expected)


class EngineResult:
    """A case's benchmark: `result["q-learning"].require(Verdict.BETTER)`.

    Attributes:
        plan: what the case asked for.
        report: the whole report; reading it counts as no look at a verdict.
    """

    def __init__(self, plan: EnginePlan, report: Report) -> None:
        self.plan = plan
        self.report = report
        self._rows: dict[str, JudgedRow] = {}

    def __getitem__(self, engine: str) -> JudgedRow:
        """An engine's row.

        Raises:
            UsageError: the benchmark has none of that name.
        """
        return self._rows.setdefault(engine, JudgedRow(self.report[engine]))

    def __repr__(self) -> str:
        return (
            f"<engine benchmark {self.report.benchmark_id}: {', '.join(row.engine for row in self.report)}>"
        )

    @property
    def consumed(self) -> bool:
        """Whether the case looked at some engine's evidence."""
        return any(row.consumed for row in self._rows.values())

    def to_json(self) -> list[dict[str, Any]]:
        """The rows that the case looked at, as reports show them."""
        return [_told(self.report, row.row) for row in self._rows.values() if row.consumed]


def _told(report: Report, row: Row) -> dict[str, Any]:
    info, found = report.info, row.verdict
    lift = row.vs_today.pdwis if row.vs_today is not None else None
    return {
        "engine": row.engine,
        "label": row.label,
        "benchmark": report.benchmark_id,
        "status": row.status,
        "verdict": None if found is None else found.verdict,
        "head": row.status if found is None else found.head,
        "reasons": [] if found is None else found.reasons,
        "headline": headline(row),
        "line": row.reason if found is None else found.line,
        "caveat": report.caveat,
        "lift": None if lift is None else lift.lift,
        "ci": None if lift is None or lift.ci is None else list(lift.ci),
        "ess": row.ess,
        "held_out_calls": info["held_out_calls"],
        "evidence": info["evidence"],
        "env": info["env"],
        "tagger": info["tagger"],
        "synthetic": info["synthetic"],
        "notices": report.notices,
    }


def headline(row: Row) -> str:
    """The decision and the numbers in one line."""
    name = printable(row.engine, _WIDE)
    if row.verdict is None or row.vs_today is None:
        return f"engine {name}: {row.status}, {printable(row.reason, _WIDE)}"
    verdict = Verdict(row.verdict.verdict).name
    lift = row.vs_today.pdwis
    told = "" if lift.lift is None else f", {lift.lift:+.2f} a call"
    ends = "" if lift.ci is None else f" [{lift.ci[0]:+.2f}, {lift.ci[1]:+.2f}]"
    return f"engine {name}: {verdict}, {row.verdict.head}{told}{ends}, {row.ess:,.1f} effective calls"


def refuse_synthetic(report_of: str, made_by: str | None, *, allowed: bool) -> None:
    """Outside a repository that asked for it, made-up calls judge nothing.

    Raises:
        UsageError: they are made up, and nobody asked for that.
    """
    if made_by is None or allowed:
        return
    raise UsageError(
        f"{printable(report_of, _WIDE)} holds synthetic calls ({printable(made_by, _WIDE)}): no customer made them",
        not_done="nothing was fitted or judged",
        next_step="name evidence of real calls, or ask for synthetic ones with --eval-synthetic",
    )


def made_up(kind: str, synthetic: str | None) -> str | None:
    """What made the calls up; None for a log of real ones."""
    return synthetic or (None if kind == "real" else f"{kind} episodes of a world")
