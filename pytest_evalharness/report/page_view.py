"""What a page consists of: plain values, ready to be laid out by a template that computes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.report import checks, plot, rows, success


@dataclass(frozen=True)
class ArmView:
    """Who played in an arm, and how often it won; empty where that must not be told."""

    side: str
    label: str
    share: str


@dataclass(frozen=True)
class StratumView:
    """A configuration of a pool: its name, each arm's wins, and the difference in points."""

    name: str
    candidate: str
    baseline: str
    difference: str


@dataclass(frozen=True)
class ComparisonView:
    """One comparison.

    Attributes:
        place: its place among all comparisons of the page, from 0; its rows have the same.
        name: what was compared.
        verdict: the verdict's word, which is also its colour's name.
        symbol: the verdict's sign.
        sentence: what the evidence says.
        numbers: the counts and the difference; empty where none may be told.
        claim: what becomes of the claim.
        next_step: what to do now.
        remarks: what must be known beside the verdict.
        arms: both arms.
        arm_facts: what is told of both: its name, the candidate's, the baseline's.
        wilson: what the arms' intervals are, in words.
        arms_plot: both win rates; None where nothing may be read from them.
        difference_plot: the difference; likewise.
        difference: the difference in short; empty likewise.
        unit: what it is in.
        interval: what the difference's interval is, in words.
        margin: what the margin is and how it is judged; empty without one.
        checks: the trust checks.
        success: the runbook's success check.
        builds: what each source showed of each arm's build: side, label, source, and what it showed.
        build_facts: what else is known of the builds.
        build_files: the files that differ between the arms' commits.
        misplaced: the wrong seats.
        seats: the state of all seats in one line; empty without episodes.
        seats_open: whether some seat is wrong.
        episodes: how many rows there are.
        facts: how it was declared and played.
        spent: what it took.
        field: the opponents, by rank: label, player, score.
        lines: every number, as a terminal shows it.
        strata: of a pool, its configurations.
    """

    place: int
    name: str
    verdict: str
    symbol: str
    sentence: str
    numbers: str
    claim: str
    next_step: str
    remarks: tuple[str, ...]
    arms: tuple[ArmView, ...]
    arm_facts: tuple[tuple[str, str, str], ...]
    wilson: str
    arms_plot: plot.ArmsPlot | None
    difference_plot: plot.DifferencePlot | None
    difference: str
    unit: str
    interval: str
    margin: str
    checks: tuple[checks.Check, ...]
    success: success.SuccessCheck
    builds: tuple[tuple[str, str, str, str], ...]
    build_facts: tuple[str, ...]
    build_files: tuple[str, ...]
    misplaced: tuple[rows.Misplaced, ...]
    seats: str
    seats_open: bool
    episodes: int
    facts: tuple[tuple[str, str], ...]
    spent: tuple[tuple[str, str], ...]
    field: tuple[tuple[str, str, str], ...]
    lines: tuple[str, ...]
    strata: tuple[StratumView, ...] = ()


@dataclass(frozen=True)
class CaseView:
    """One case.

    Attributes:
        anchor: where it stands on the page.
        message: what it said where it did not pass, line by line.
        success: the runbook's success check where no comparison was made.
        judged: what was judged where no comparison was made, in a word or two.
        number: its difference; empty where there is none.
        at_fault: whether the case itself cannot be believed, whatever its comparisons found.
    """

    anchor: str
    nodeid: str
    outcome: str
    symbol: str
    message: tuple[str, ...]
    comparisons: tuple[ComparisonView, ...]
    success: tuple[success.SuccessCheck, ...]
    judged: str = "nothing judged"
    number: str = ""
    at_fault: bool = False


@dataclass(frozen=True)
class Page:
    """A whole run.

    Attributes:
        tone: `good`, `unsure` or `bad`.
        api: how the server was spoken to; empty if it was not asked.
        cost: what the run was charged; empty if it posted nothing.
        tally: outcomes and how many cases had them.
        data: the rows of all comparisons and their table of strings, for the one block of data.
    """

    run_id: str
    server: str
    api: str
    cost: str
    finished_at: str
    exit_code: int
    exit_words: str
    tone: str
    symbol: str
    embedded: bool
    scope: str
    tally: tuple[tuple[str, int], ...]
    cases: tuple[CaseView, ...]
    missing: tuple[str, ...]
    unfinished: tuple[str, ...]
    notices: tuple[str, ...]
    still_running: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    data: Mapping[str, Any]
