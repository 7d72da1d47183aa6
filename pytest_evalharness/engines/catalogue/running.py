"""An engine in a world's simulator: what it learns there, and what that is exactly worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pytest_evalharness.engines import catalogue, worlds
from pytest_evalharness.engines.catalogue.contract import SIMULATOR, DecisionEngine
from pytest_evalharness.engines.worlds.playing import Simulator, play, simulate
from pytest_evalharness.engines.worlds.world import World
from pytest_evalharness.errors import UsageError

COMPLETION = "the played calls leave a state that the table does not know to chance; serving, and the benchmark, leave it to today's agent"
"""Why a table that leaves states out has two exact values."""


def run_in_world(
    engine: str | DecisionEngine,
    world: str | World,
    episodes: int = 100,
    seed: int = 3,
    *,
    params: Mapping[str, Any] | None = None,
    calls: int = 2000,
) -> dict[str, Any]:
    """Fit an engine in a world, play its table there, and hold it against the world's exact optimum.

    An engine that learns by acting plays as many calls as its own knob `episodes` says; one that learns from a log is fitted on
    simulated calls of the world's today's agent.

    Args:
        engine: a name of the catalogue, or an engine of one's own.
        world: a shipped world's name, or a world.
        episodes: calls that are played with the fitted table.
        seed: of all chance: the same seed gives the same report.
        params: values of the engine's knobs.
        calls: how many simulated calls an engine is given that learns from a log.

    Returns:
        Plain values: `policy`, `value`, `diagnostics`; `learned_from`; `exact`, the exact mean return of a call of the table
        under both completions, of today's agent, chance, the optimum and the worst table; `share_of_optimum`, how much of the way
        from chance to the optimum the table goes; `measured`, the played calls; `notices`, knobs whose value counts as another one.

    Raises:
        UsageError: no such engine or world, or less than one call.
        TooExpensive: the world is too big for an engine that solves it again and again.
        NotEnoughEvidence: the simulated calls have nothing for the engine to learn from.
    """
    if episodes < 1 or calls < 1:
        raise UsageError(
            f"at least one call is played and learned from, not {min(episodes, calls)}",
            not_done="nothing was played",
            next_step="give a larger number",
        )
    chosen = catalogue.get(engine) if isinstance(engine, str) else engine
    place = worlds.named(world) if isinstance(world, str) else world
    if chosen.declaration.learns_from == SIMULATOR:
        simulator = Simulator(place, seed)
        result = chosen.fit(simulator, simulator.moves, params)
        source = {"kind": "simulator", "calls": simulator.calls, "turns": simulator.turns}
    else:
        evidence = simulate(place, calls, seed)
        result = chosen.run(evidence, params)
        source = {"kind": "simulated log", "calls": calls, "turns": len(evidence.transitions())}
    table = result["policy"]
    exact = {
        "table": place.worth_of(table),
        "table_else_chance": place.worth_of(table, "uniform"),
        **place.truth,
    }
    span = exact["optimum"] - exact["random"]
    return {
        "engine": chosen.name,
        "label": chosen.label,
        "world": place.name,
        "seed": seed,
        "learned_from": source,
        "policy": table,
        "value": result["value"],
        "diagnostics": result["diagnostics"],
        "exact": exact,
        "share_of_optimum": (exact["table"] - exact["random"]) / span if span > 0 else None,
        "measured": _measured(place, table, episodes, seed),
        "completion": COMPLETION,
        "notices": [f"the knob {line}" for line in chosen.declaration.altered(params)],
        "synthetic": f"simulated customers of the world {place.name}, seed {seed}",
    }


def _measured(world: World, table: Mapping[str, str], episodes: int, seed: int) -> dict[str, Any]:
    played = play(world, world.policy(table, "uniform"), episodes, np.random.default_rng([seed, 1]))
    ended = played.outcome[played.last]
    worth = played.returns[played.step == 0]
    unknown = np.array([state not in table for state in world.states])
    return {
        "calls": episodes,
        "mean_return": float(worth.mean()),
        "standard_error": float(worth.std(ddof=1) / np.sqrt(episodes)) if episodes > 1 else None,
        "outcomes": {name: int((ended == at).sum()) for at, name in enumerate(world.outcomes)},
        "unknown_share": float(unknown[played.state].mean()),
    }
