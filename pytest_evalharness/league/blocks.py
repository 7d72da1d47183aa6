"""How an arm is cut into requests, and which of them a look needs. Pure.

One request plays all games of an arm, unless looks are planned (one request for the games between two looks) or games are
paired by seed (one request a pair and arm, because a request gives one seed to all its episodes).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise

from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Pairing

AT_ONCE = 16
"""Requests of one comparison that are posted and watched at one time: pairs are many small ones."""
_SEED_BITS = 31
"""The service keeps seeds as signed 32-bit numbers, and takes negative ones for "any"."""


@dataclass(frozen=True)
class BlockSpec:
    """One request of an arm: how many episodes, and their seed if it is fixed."""

    episodes: int
    seed: int | None = None


def block_specs(declaration: Declaration, episodes: int, source: str) -> tuple[BlockSpec, ...]:
    """The requests of an arm, in order. Both arms of a comparison get the same.

    Args:
        declaration: its looks and its pairing.
        episodes: games an arm.
        source: what seeds are drawn from; the same source, the same seeds.
    """
    if declaration.pairing is Pairing.SEED:
        return tuple(BlockSpec(1, seed) for seed in seeds(episodes, source))
    ends = (0, *(declaration.looks or (episodes,)))
    return tuple(BlockSpec(after - before) for before, after in pairwise(ends))


def seeds(count: int, source: str) -> tuple[int, ...]:
    """So many different seeds, drawn from a source by hashing it."""
    drawn: dict[int, None] = {}
    turn = 0
    while len(drawn) < count:
        word = hashlib.sha256(f"{source}/{turn}".encode()).digest()
        drawn.setdefault(int.from_bytes(word[:4], "big") >> (32 - _SEED_BITS))
        turn += 1
    return tuple(drawn)


def blocks_of_look(declaration: Declaration, look: int, blocks: int) -> int:
    """How many of an arm's requests a planned look reads, from the first.

    Args:
        declaration: its looks and its pairing.
        look: which look, from 0.
        blocks: all requests of the arm.
    """
    if not declaration.looks:
        return blocks
    return declaration.looks[look] if declaration.pairing is Pairing.SEED else look + 1
