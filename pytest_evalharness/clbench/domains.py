"""The tasks and what a scorer or a driver has to know of each: six of the benchmark, four of the embedded miniature. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pytest_evalharness.base.text import printable

DATABASE = "database_exploration"
POKER = "exploitable_poker"
SPECTRUM = "blind_spectrum_monitoring"
COHORT = "cohort_studies"
CODEBASE = "codebase_adaptation"
SALES = "sales_prediction"
LEDGER = "mini_ledger_lookup"
DUEL = "mini_coin_duel"
BANDS = "mini_band_scan"
SHOP = "mini_shop_forecast"

REFERENCE_RUN = "icl-gpt-5.4"
"""The run whose stateless baseline normalises everybody's reward on the leaderboard."""
FULL_ROLLOUTS = 5
QUERY_BUDGET = 15
"""Queries an instance of the database task may take where the artifact does not tell."""
CLOSE = 5e-5
"""Published rewards are rounded to four decimals."""
_EXACT = 1e-9
"""Nothing is exactly 0: a study answered almost as the reference does is an answer."""


class Family(StrEnum):
    """Tasks that are scored together; the value is how reports call them."""

    OFFICIAL = "official"
    """The benchmark's own: a leaderboard has them."""
    EMBEDDED = "embedded miniature"
    """Invented ones of this package, whose scores say nothing about a system elsewhere."""

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Its tasks, in the order in which they are told."""
        return tuple(one for one in ALL if one.family is self)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Their ids: a score over fewer is over easier or harder ones."""
        return tuple(one.task for one in self.domains)

    @property
    def reference_run(self) -> str | None:
        """The run whose baselines normalise everybody's rewards; None where any may be named."""
        return REFERENCE_RUN if self is Family.OFFICIAL else None


@dataclass(frozen=True)
class Domain:
    """One task.

    Attributes:
        task: its id.
        short: how tables call it.
        instances: of its default schedule.
        largest: the reference reward an instance, r_max.
        nulls: closed ranges of reward that an answer without content earns.
        multi_step: whether an instance takes several turns of any system that works on it.
        permuted: whether another seed is another order; a time series keeps its order.
        positional: whether instance ids only number the positions, so that orders must be told from prompts.
        bounded: whether no reward may exceed `largest`.
        auto_resolves: whether instances may be over before the system's turn, which costs nothing and is no fault.
        family: the tasks it is scored with.
    """

    task: str
    short: str
    instances: int
    largest: float
    nulls: tuple[tuple[float, float], ...] = ((0.0, 0.0),)
    multi_step: bool = True
    permuted: bool = True
    positional: bool = False
    bounded: bool = True
    auto_resolves: bool = False
    family: Family = Family.OFFICIAL

    def at_null(self, reward: float) -> bool:
        """Whether a reward is what an answer without content earns."""
        return any(low - _slack(low) <= reward <= high + _slack(high) for low, high in self.nulls)

    def no_better_than_null(self, reward: float) -> bool:
        """Whether a reward is at most what an answer without content earns."""
        most = self.nulls[-1][1]
        return reward <= most + _slack(most)


def _slack(null: float) -> float:
    return CLOSE if null > 0.0 else _EXACT


ALL: tuple[Domain, ...] = (
    Domain(DATABASE, "db", 40, 1.0),
    # Folding or calling blindly costs the blinds; a published hand at no cost and no gain was never seen.
    Domain(
        POKER, "poker", 120, 9.4875, nulls=((-1.0, 0.0),), multi_step=False, bounded=False, auto_resolves=True
    ),
    # An empty list of bands earns 0.1964 a scan; a scan that was given up earns nothing.
    Domain(SPECTRUM, "bsm", 90, 1.0, nulls=((0.0, 0.0), (0.1964, 0.1964)), multi_step=False, positional=True),
    Domain(COHORT, "cohort", 20, 0.162202, bounded=False),
    Domain(CODEBASE, "code", 19, 1.0),
    Domain(SALES, "sales", 12, 1.0, permuted=False),
    Domain(LEDGER, "lookup", 12, 1.0, family=Family.EMBEDDED),
    Domain(
        DUEL,
        "duel",
        16,
        2.0,
        nulls=((-1.0, 0.0),),
        multi_step=False,
        auto_resolves=True,
        family=Family.EMBEDDED,
    ),
    Domain(
        BANDS,
        "bands",
        10,
        1.0,
        nulls=((0.0, 0.0), (0.25, 0.25)),
        multi_step=False,
        positional=True,
        family=Family.EMBEDDED,
    ),
    Domain(SHOP, "shop", 8, 1.0, permuted=False, family=Family.EMBEDDED),
)
BY_TASK: dict[str, Domain] = {one.task: one for one in ALL}


def short_of(task: str) -> str:
    """How tables call a task; one that nobody knows by its id, made fit to be printed."""
    return BY_TASK[task].short if task in BY_TASK else printable(task, 60)


def families(tasks: Iterable[str]) -> frozenset[Family]:
    """The families of some tasks; ids that nobody knows are of none."""
    return frozenset(BY_TASK[task].family for task in tasks if task in BY_TASK)
