"""How fast the game plays in the default field, by processor time of one core; one figure a line."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

from pytest_evalharness.arena.game.artifacts import write
from pytest_evalharness.arena.game.cast import CAST, Tier
from pytest_evalharness.arena.game.config import parse_config
from pytest_evalharness.arena.game.match import Match, SeatEntry, play

GAMES = 1000
ROLES = [{"role": "imposter" if seat in (2, 3) else "crew"} for seat in range(8)]


def seats() -> list[SeatEntry]:
    strong = [player for player in CAST if player.tier is Tier.STRONG]
    return [
        SeatEntry("keeper", "keeper-1"),
        *(SeatEntry(player.name, player.builds[-1]) for player in strong),
    ]


def games_per_second(one: Callable[[int], Match]) -> tuple[float, list[Match]]:
    one(0)
    started = time.process_time()
    matches = [one(seed) for seed in range(GAMES)]
    return GAMES / (time.process_time() - started), matches


def main() -> None:
    config, table = parse_config({"slots": ROLES}), seats()
    in_memory, matches = games_per_second(lambda seed: play(config, table, seed))
    with TemporaryDirectory() as folder:

        def written(seed: int) -> Match:
            match = play(config, table, seed, record=True)
            write(match, Path(folder) / str(seed))
            return match

        with_artifacts, recorded = games_per_second(written)
    print(f"games a second in memory: {in_memory:.0f}")
    print(f"games a second with all artifacts written: {with_artifacts:.0f}")
    print(f"in memory over written: {in_memory / with_artifacts:.2f}")
    print(f"mean ticks a game: {mean(match.ticks for match in matches):.0f}")
    print(f"mean inputs a game: {mean(len(match.inputs) for match in recorded):.0f}")


if __name__ == "__main__":
    main()
