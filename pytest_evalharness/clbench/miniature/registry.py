"""Which tasks and systems there are; a class is imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_evalharness.clbench.miniature.systems.contract import System
    from pytest_evalharness.clbench.miniature.tasks.contract import Task

_HERE = "pytest_evalharness.clbench.miniature"
TASKS = {
    "mini_band_scan": ("bands", "BandScan"),
    "mini_coin_duel": ("duel", "CoinDuel"),
    "mini_ledger_lookup": ("ledger", "LedgerLookup"),
    "mini_shop_forecast": ("shop", "ShopForecast"),
}
SYSTEMS = {
    "notebook": ("pages", "Notebook"),
    "ouroboros": ("ouroboros.adapter", "Ouroboros"),
    "plain": ("pages", "Plain"),
}
LIVELOCKS = frozenset({"mini_ledger_lookup", "mini_coin_duel"})
"""Tasks that an unknown action neither costs nor ends."""
TASK_PARAMETERS: dict[str, object] = {"schedule": None, "seed": 42, "num_questions": None}
"""Of every task's constructor, with their defaults."""


def task_class(name: str) -> type[Task]:
    """A task.

    Raises:
        KeyError: there is none of that name.
    """
    module, kind = TASKS[name]
    found: type[Task] = getattr(importlib.import_module(f"{_HERE}.tasks.{module}"), kind)
    return found


def system_class(name: str) -> type[System]:
    """A system.

    Raises:
        KeyError: there is none of that name.
    """
    module, kind = SYSTEMS[name]
    found: type[System] = getattr(importlib.import_module(f"{_HERE}.systems.{module}"), kind)
    return found
