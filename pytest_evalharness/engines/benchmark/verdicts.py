"""The verdict about one decision table, from its estimates. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

import msgspec

from pytest_evalharness.verdict.words import Reason, Verdict

FEWEST_EFFECTIVE = 30.0
"""Effective calls below which an interval does not mean what it says: at 20 to 30 it covers 77 %, not 95 %."""
FEWEST_SHARE = 0.01
"""The share of the held-out calls that must be effective."""
NOISE = 1e-9
"""A lift closer to 0 than this is summation order."""

Interval = tuple[float, float]


class Head(StrEnum):
    """What became of a table, in the words that its users know."""

    AHEAD = "Ahead of today on held-out calls"
    BEHIND = "Behind today, do not ship it"
    SAME = "No detectable difference from today"
    DISAGREE = "The estimators disagree"
    CANNOT_TELL = "Can't tell from these calls"


_TONES = {
    Head.AHEAD: "good",
    Head.BEHIND: "bad",
    Head.SAME: "neutral",
    Head.DISAGREE: "warn",
    Head.CANNOT_TELL: "warn",
}


class EngineVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict about a decision table.

    Attributes:
        head: in the benchmark's own words.
        verdict: in the vocabulary of every claim.
        tone: "good", "bad", "neutral" or "warn", for whoever shows it in colour.
        line: one sentence saying why.
        reasons: codes, with their sentences in `Reason`.
        caveat: what no such verdict proves; it goes wherever the verdict goes.
    """

    head: str
    verdict: str
    tone: str
    line: str
    reasons: list[str]
    caveat: str

    @classmethod
    def of(cls, found: Head, *, line: str, caveat: str, equivalent: bool = False) -> Self:
        """A verdict and its place in the shared vocabulary."""
        verdict, reasons = _SHARED[found]
        if found is Head.SAME and equivalent:
            verdict, reasons = Verdict.EQUIVALENT, ()
        return cls(
            head=found.value,
            verdict=verdict.value,
            tone=_TONES[found],
            line=line,
            reasons=[reason.value for reason in reasons],
            caveat=caveat,
        )

    def __str__(self) -> str:
        """The verdict with its reason and its caveat."""
        return f"{self.head}. {self.line} {self.caveat}"


_SHARED: dict[Head, tuple[Verdict, tuple[Reason, ...]]] = {
    Head.AHEAD: (Verdict.BETTER, ()),
    Head.BEHIND: (Verdict.WORSE, ()),
    Head.SAME: (Verdict.INCONCLUSIVE, (Reason.SPANS_ZERO,)),
    Head.DISAGREE: (Verdict.INCONCLUSIVE, (Reason.ESTIMATORS_DISAGREE,)),
    Head.CANNOT_TELL: (Verdict.INCONCLUSIVE, (Reason.EFFECTIVE_N,)),
}


def decide(
    *, calls: int, ess: float, lift: float | None, interval: Interval | None, model_lift: float | None
) -> Head:
    """What the estimates say of a table.

    In this order: too few effective calls or no interval, nothing can be told; the interval above 0, ahead where the fitted
    model agrees and disagreement where it does not; the interval below 0, behind, whatever the model says; else no
    detectable difference.

    Args:
        calls: held-out calls, n.
        ess: the effective ones, compared unrounded.
        lift: the PDWIS lift over today.
        interval: its 95 % interval.
        model_lift: the direct method's lift over today.
    """
    if ess < max(FEWEST_EFFECTIVE, FEWEST_SHARE * calls) or lift is None or interval is None:
        return Head.CANNOT_TELL
    low, high = interval
    if low > NOISE:
        return Head.AHEAD if model_lift is not None and model_lift > NOISE else Head.DISAGREE
    return Head.BEHIND if high < -NOISE else Head.SAME


def caveat(tables: int) -> str:
    """What every report and every verdict carries.

    Args:
        tables: how many were compared on the same calls.
    """
    compared = (
        f" {tables} tables were compared on the same calls: the best of several looks better than it is."
        if tables > 1
        else ""
    )
    return (
        "Old calls can rank decision tables; they cannot prove a gain: the moves and states are a tagger's reading, and no log "
        f"shows how a customer would have answered a move that nobody made.{compared} Proof takes a canary beside a control group."
    )
