"""A benchmark's report: plain data that is written, read again, printed and asserted on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import msgspec

from pytest_evalharness.base.files import write_atomic
from pytest_evalharness.engines.benchmark.verdicts import EngineVerdict, Head, Interval
from pytest_evalharness.engines.evidence.words import Words
from pytest_evalharness.errors import ConditionNotMet, EvidenceUnreadable, Inconclusive, UsageError
from pytest_evalharness.verdict.words import Verdict

SCHEMA = 1
DONE = "done"
SIMULATOR_ONLY = "simulator only"
FAILED = "failed"
NOT_ENOUGH = "not enough evidence"


class Estimate(msgspec.Struct, kw_only=True):
    """A value in the outcomes' own units a call, and its 95 % interval; None where there is none."""

    estimate: float | None
    ci: Interval | None = None


class Lift(msgspec.Struct, kw_only=True):
    """A paired difference, its 95 % interval, and one that holds for all tables of the report at once."""

    lift: float | None
    ci: Interval | None = None
    simultaneous: Interval | None = None


class Lifts(msgspec.Struct, kw_only=True):
    """The differences from a baseline on the same resamples."""

    pdwis: Lift
    dm: Lift
    dr: Lift


class Estimates(msgspec.Struct, kw_only=True):
    """What one policy is worth.

    Attributes:
        dm_fit: the direct method with its model fitted on the fit calls: a second opinion that shares no row with PDWIS.
        ess: effective held-out calls.
        guessed: the share of decisions for which the model has only a guess.
        unterminated: the share of calls for which the model finds no end under the policy.
        model_only: no call has weight, so that `dr` is `dm`.
        out_of_range: PDWIS is above or below every outcome that was seen.
    """

    pdwis: Estimate
    dm: Estimate
    dr: Estimate
    wis: Estimate
    pdis: Estimate
    dm_fit: Estimate
    ess: float
    matched_calls: int
    mean_weight: float
    guessed: float
    unterminated: float
    model_only: bool
    out_of_range: bool


class Baseline(msgspec.Struct, kw_only=True):
    """Today's agent, or a random one."""

    pdwis: Estimate
    dm: Estimate
    dr: Estimate
    ess: float


class Lean(msgspec.Struct, kw_only=True):
    """The table followed with a probability `alpha` and today's agent else: is its direction good?"""

    alpha: float
    pdwis: float | None
    lift: Lift
    ess: float


class StateSupport(msgspec.Struct, kw_only=True):
    """How often the log did in a state what the table decides there.

    Attributes:
        visits: held-out decisions in the state.
        tried: how many of them made the table's move.
        lost_calls: calls that agreed with the table up to here and contradict it first in this state.
    """

    state: str
    move: str
    visits: int
    tried: int
    lost_calls: int
    words: str


class Row(msgspec.Struct, kw_only=True):
    """One engine.

    Attributes:
        status: "done"; any other has a `reason` and no verdict.
        support: the states that cost the most overlap, worst first.
        more_calls: held-out calls that would bring 30 effective ones at this overlap; None where that is no question.
        time_split: the lift on the last fifth of the calls, of a table fitted on those before them; None where the evidence
            does not tell the calls' order.
        policy: the table.
    """

    engine: str
    label: str
    status: str
    reason: str = ""
    estimates: Estimates | None = None
    vs_today: Lifts | None = None
    vs_random: Lifts | None = None
    verdict: EngineVerdict | None = None
    lean: list[Lean] = []
    support: list[StateSupport] = []
    more_calls: int | None = None
    time_split: Lift | None = None
    policy: dict[str, str] = {}
    diagnostics: dict[str, Any] = {}

    @property
    def ess(self) -> float:
        """Effective held-out calls; 0 for a row without estimates."""
        return self.estimates.ess if self.estimates is not None else 0.0

    @property
    def lift(self) -> float | None:
        """The PDWIS lift over today."""
        return self.vs_today.pdwis.lift if self.vs_today is not None else None

    def require(self, *expected: Verdict | Head | str) -> None:
        """Pass only on one of the verdicts, BETTER if none is named.

        Args:
            expected: verdicts, or heads in the benchmark's own words.

        Raises:
            Inconclusive: the calls cannot tell, and that was not among the expected verdicts.
            ConditionNotMet: another verdict.
            UsageError: no such verdict.
        """
        wanted = {_spelt(one) for one in expected or (Verdict.BETTER,)}
        if self.verdict is None:
            raise Inconclusive(
                f"engine {self.engine}: {self.status}: {self.reason}",
                not_done="nothing was judged",
                next_step="choose an engine that the evidence can score",
            )
        if {self.verdict.verdict, self.verdict.head} & wanted:
            return
        kind = Inconclusive if self.verdict.verdict == Verdict.INCONCLUSIVE else ConditionNotMet
        raise kind(
            f"engine {self.engine}: {self.verdict}",
            not_done=f"it was required to be {' or '.join(sorted(wanted))}",
            next_step=self.advice,
        )

    @property
    def advice(self) -> str:
        """What would change the verdict."""
        if self.verdict is not None and self.verdict.head == Head.CANNOT_TELL and self.more_calls:
            return f"about {self.more_calls:,} held-out calls would bring 30 effective ones; a lean of the table needs fewer"
        return "open the row: evalharness engine report REPORT --engine " + self.engine


class Report(msgspec.Struct, kw_only=True):
    """One benchmark.

    Attributes:
        info: of the evidence and of the run: calls, tagger, seeds, hashes.
        baselines: "today" and "random".
        rows: an engine each, in the order in which they were asked for.
        notices: what a reader must know besides.
        caveat: what no row proves.
    """

    schema: int = SCHEMA
    benchmark_id: str
    info: dict[str, Any]
    baselines: dict[str, Baseline]
    rows: list[Row]
    notices: list[str]
    caveat: str

    def __getitem__(self, engine: str) -> Row:
        """The row of an engine.

        Raises:
            UsageError: there is none of that name.
        """
        for row in self.rows:
            if row.engine == engine:
                return row
        raise UsageError(
            f"the benchmark has no engine {engine!r}",
            not_done="nothing was judged",
            next_step=f"it has {', '.join(row.engine for row in self.rows)}",
        )

    def __iter__(self) -> Iterator[Row]:
        """The rows."""
        return iter(self.rows)

    @property
    def ranked(self) -> list[Row]:
        """The rows by their PDWIS, those without one last."""

        def worth(row: Row) -> tuple[bool, float]:
            value = row.estimates.pdwis.estimate if row.estimates is not None else None
            return (value is None, -(value or 0.0))

        return sorted(self.rows, key=worth)

    def save(self, path: str | Path) -> Path:
        """Write the report, whole or not at all."""
        target = Path(path)
        write_atomic(target, msgspec.json.format(msgspec.json.encode(self), indent=1))
        return target

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A report that was written.

        Raises:
            EvidenceUnreadable: there is none, or it is no report.
        """
        try:
            found = msgspec.json.decode(Path(path).read_bytes(), type=cls)
            msgspec.convert(found.info, _Told)
        except (OSError, msgspec.DecodeError) as problem:  # what is of another type is a DecodeError too
            why = problem.strerror if isinstance(problem, OSError) else str(problem)
            raise _unreadable(path, str(why)) from None
        if found.schema != SCHEMA:
            raise _unreadable(path, f"its schema is {found.schema}, and this release reads {SCHEMA}")
        return found


class _Told(msgspec.Struct):
    """What those who show a report read from its `info`."""

    fit_calls: int
    held_out_calls: int
    bootstrap: int
    seed: int
    words: Words | None = None


def _unreadable(path: str | Path, why: str) -> EvidenceUnreadable:
    return EvidenceUnreadable(
        f"{path} is no report of an engine benchmark: {why}",
        not_done="nothing was shown",
        next_step="evalharness engine benchmark --evidence SET -o report.json makes one",
    )


def _spelt(expected: Verdict | Head | str) -> str:
    known: dict[str, str] = {one.value: one.value for one in (*Verdict, *Head)}
    known |= {one.name: one.value for one in Verdict}
    if str(expected) not in known:
        raise UsageError(
            f"{expected!r} is no verdict",
            not_done="nothing was judged",
            next_step=f"use one of {', '.join(one.name for one in Verdict)}",
        )
    return known[str(expected)]
