"""Decision engines: each learns a table, state to move. The catalogue's fourteen, the sanity row, and engines of one's own."""

from __future__ import annotations

import difflib

from pytest_evalharness.engines.catalogue.contract import DecisionEngine
from pytest_evalharness.errors import UsageError

FROM_A_LOG = (
    "q-learning",
    "sarsa",
    "monte-carlo",
    "td-lambda",
    "value-iteration",
    "policy-iteration",
    "dpo",
    "reward-model",
)
"""The eight that a log can fit, in the order of the leaderboard."""

IN_A_SIMULATOR = ("reinforce", "ppo", "q-learning-online", "sarsa-online", "mdp-model", "rmax")
"""The six that learn by acting."""

SANITY = "behaviour-clone"
"""Not one of the fourteen: the row that the others are held against."""

NAMES = (*FROM_A_LOG, *IN_A_SIMULATOR, SANITY)


def all() -> list[DecisionEngine]:  # noqa: A001 - it reads `catalogue.all()`
    """The fourteen, those that learn from a log first."""
    made = _made()
    return [made[name] for name in (*FROM_A_LOG, *IN_A_SIMULATOR)]


def get(name: str) -> DecisionEngine:
    """An engine of the catalogue by its name, the sanity row included.

    Raises:
        UsageError: no such engine.
    """
    made = _made().get(name)
    if made is None:
        near = difflib.get_close_matches(name, NAMES, 1)
        raise UsageError(
            f"the catalogue has no engine {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
            not_done="nothing was fitted",
            next_step="evalharness engine ls",
        )
    return made


def _made() -> dict[str, DecisionEngine]:
    from pytest_evalharness.engines.catalogue import acting, bootstrapping, counting, modelling, preferring

    modules = (bootstrapping, counting, preferring, acting, modelling)
    found = (one for module in modules for one in vars(module).values())
    return {one.name: one for one in found if isinstance(one, DecisionEngine)}
