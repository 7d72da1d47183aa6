"""What a run is to compare: each comparison and each pool, frozen once, when the first asks for it."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.league.fields import FieldsPlan
from pytest_evalharness.league.freeze import Freezer
from pytest_evalharness.league.frozen import Frozen, frozen_of, strata_of
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.pool_plan import Configurations, PoolPlan
from pytest_evalharness.ledger.records import Comparison


@dataclass
class Entry:
    """A case's comparison on its way: not prepared yet, frozen, or in error.

    Attributes:
        pool: the case whose pool this is one configuration of; empty for a comparison of its own.
        renewals: how often it was frozen anew, because its field moved on before anything was sent.
    """

    name: str
    plan: ComparisonPlan
    frozen: Frozen | None = None
    error: EvalHarnessError | None = None
    pool: str = ""
    renewals: int = 0

    @property
    def key(self) -> str:
        """Under which name it is on the plan."""
        return _part(self.pool, self.name) if self.pool else self.name

    def ready(self) -> Frozen:
        """The frozen comparison.

        Raises:
            EvalHarnessError: it could not be prepared.
        """
        if self.error is not None:
            raise self.error
        assert self.frozen is not None
        return self.frozen


class Entries:
    """The comparisons and pools of a run.

    Args:
        freezer: freezes them.
        fresh: whether what was played before is left alone.
    """

    def __init__(self, freezer: Freezer, *, fresh: bool) -> None:
        self._freezer = freezer
        self._fresh = fresh
        self._entries: dict[str, Entry] = {}
        self._pools: dict[str, Configurations] = {}

    def all(self) -> list[tuple[str, Entry]]:
        """Every comparison by its key: those that are one configuration of a pool too."""
        return list(self._entries.items())

    def pool(self, case: str) -> Configurations | None:
        """The pool of a case; None where it is one comparison."""
        return self._pools.get(case)

    def plan(self, case: str) -> ComparisonPlan:
        """What a case that is one comparison asks."""
        return self._entries[case].plan

    def asked_pool(self, case: str) -> PoolPlan:
        """The pool that a case declares."""
        plan = self._pools[case]
        assert isinstance(plan, PoolPlan)  # the fields of one comparison are frozen before they are a pool
        return plan

    def add(self, case: str, plan: ComparisonPlan | PoolPlan, kept: Comparison | None = None) -> None:
        """Put a case's comparison, or its pool, on the plan. Nothing is resolved or posted yet.

        Args:
            case: which case.
            plan: what it asks.
            kept: the very comparison to go on with, where it is known; else the one that answers the plan by now.
        """
        told = None if kept is None else kept.frozen
        if isinstance(plan, ComparisonPlan):
            frozen = None if kept is None or told is None else frozen_of(kept, told)
            self._spread(self._entries.setdefault(case, Entry(case, plan, frozen)))
            return
        self._pools.setdefault(case, plan)
        strata = strata_of(kept, told) if kept is not None and told is not None else [None] * len(plan.plans)
        for (name, part), one in zip(plan.strata, strata, strict=True):
            self._entries.setdefault(_part(case, name), Entry(name, part, one, pool=case))

    def _spread(self, entry: Entry) -> None:
        """Make a comparison that was played on several fields a pool of them."""
        first = entry.frozen
        if first is None or not first.later or entry.name in self._pools:
            return
        fields = first, *first.later
        plan = self._pools[entry.name] = FieldsPlan.of(entry.plan, fields)
        for (name, part), one in zip(plan.strata, fields, strict=True):
            self._entries[_part(entry.name, name)] = Entry(name, part, one, pool=entry.name)

    def prepare(self, case: str) -> Entry:
        """Freeze one comparison, if nobody has. Its error, if any, is kept for its own case."""
        entry = self._entries[case]
        if entry.frozen is None and entry.error is None:
            if entry.pool:
                self._prepare_pool(entry.pool)
                return entry
            try:
                entry.frozen = self._freezer.freeze(entry.plan, case, fresh=self._fresh)
                self._spread(entry)
            except EvalHarnessError as error:
                entry.error = error
        return entry

    def _prepare_pool(self, case: str) -> None:
        """Freeze a pool: all of its configurations, or none."""
        parts = self.parts(case)
        try:
            frozen = self._freezer.freeze_pool(self.asked_pool(case), case, fresh=self._fresh)
        except EvalHarnessError as error:
            for entry in parts:
                entry.error = error
            return
        for entry, one in zip(parts, frozen, strict=True):
            entry.frozen = one

    def parts(self, case: str) -> list[Entry]:
        """Every comparison of a case: each configuration of its pool, or the one that it is."""
        pool = self._pools.get(case)
        return (
            [self._entries[case]] if pool is None else [self._entries[_part(case, one)] for one in pool.names]
        )


def _part(case: str, name: str) -> str:
    """Under which name a configuration of a pool is on the plan."""
    return f"{case} [{name}]"
