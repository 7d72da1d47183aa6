"""Who is an imposter: forced seats first, the rest drawn."""

from __future__ import annotations

from random import Random

from pytest_evalharness.arena.game.config import ConfigError, GameConfig


def draw_imposters(config: GameConfig, players: int, rng: Random) -> frozenset[int]:
    """The imposters' seats. Forced ones count towards the total; the rest come from seats without a role.

    Raises:
        ConfigError: if the seats cannot hold that many imposters, or more are forced than the match has.
    """
    forced = [seat for seat, rule in enumerate(config.slots) if rule.role == "imposter"]
    total = config.imposters_for(players)
    if len(forced) > total:
        raise ConfigError(f"slots: {len(forced)} forced imposters, but this match has {total}")
    ruled = {seat for seat, rule in enumerate(config.slots) if rule.role is not None}
    free = [seat for seat in range(players) if seat not in ruled]
    if total - len(forced) > len(free):
        raise ConfigError(
            f"imposterCount: {total} imposters wanted, but only {len(forced) + len(free)} seats can be"
        )
    return frozenset(forced + rng.sample(free, total - len(forced)))
