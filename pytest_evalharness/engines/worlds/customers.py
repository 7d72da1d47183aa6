"""The shipped worlds: a customer has a stage, some trust and perhaps an objection, and a move changes them.

The numbers are made up. They are chosen so that today's agent is neither the best nor the worst, so that every move is made
somewhere, and so that proposing pays late and with trust: an engine has to look ahead to see it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from pytest_evalharness.engines.evidence.words import Words
from pytest_evalharness.engines.worlds.world import Floats, World

OUTCOMES = {"viewing_booked": 100.0, "follow_up": 40.0, "dropped": 0.0}
STAGES = 4
_BOOKED, _LATER, _DROPPED = range(3)
_NO_OBJECTION = "none"


@dataclass(frozen=True)
class Move:
    """What a move does to a customer, in probabilities.

    Attributes:
        warms: that trust rises a step.
        cools: that it falls a step, in a customer without trust; less with it.
        clears: that an objection is settled.
        books: that a customer of full trust and without objection books.
        parks: that such a customer settles for a follow-up.
        annoys: that a customer without trust hangs up, over and above those who would anyway.
    """

    warms: float
    cools: float
    clears: float = 0.0
    books: float = 0.0
    parks: float = 0.0
    annoys: float = 0.0


MOVES = {
    "greet": Move(0.25, 0.10, annoys=0.02),
    "ask_need": Move(0.40, 0.15, clears=0.05, annoys=0.04),
    "share_info": Move(0.30, 0.10, clears=0.20, books=0.06),
    "handle_objection": Move(0.20, 0.15, clears=0.65, books=0.04),
    "build_trust": Move(0.65, 0.05, annoys=0.06),
    "propose_viewing": Move(0.10, 0.45, books=0.62, annoys=0.22),
    "follow_up": Move(0.10, 0.10, parks=0.45, annoys=0.03),
    "close": Move(0.02, 0.60, books=0.80, parks=0.05, annoys=0.40),
}
SMALL_MOVES = ("greet", "handle_objection", "build_trust", "propose_viewing")

_WORDS = Words(
    moves={
        "ask_need": "ask what they need",
        "share_info": "tell them more",
        "handle_objection": "answer their worry",
        "build_trust": "build trust",
        "propose_viewing": "offer a visit",
        "follow_up": "offer to call back",
        "close": "press for a booking",
    },
    objections={"none": "no worry", "price": "worried about the price", "family": "has to ask the family", "timing": "in no hurry"},
    stages=["at the start", "early on", "in the middle", "at the end"],
)  # fmt: skip


def small() -> World:
    """24 states and 4 moves."""
    return _world("acme-small", SMALL_MOVES, (2, 5, 8), ("none", "price"))


def full() -> World:
    """176 states and 8 moves."""
    return _world("acme", tuple(MOVES), tuple(range(11)), ("none", "price", "family", "timing"))


def heard() -> World:
    """16 states and 8 moves: everybody is lukewarm, so that a tagger which hears no warmth knows the whole state."""
    return _world("acme-phone", tuple(MOVES), (5,), ("none", "price", "family", "timing"))


def _world(name: str, moves: tuple[str, ...], buckets: tuple[int, ...], objections: tuple[str, ...]) -> World:
    keys = list(product(range(STAGES), buckets, objections))
    at = {key: position for position, key in enumerate(keys)}
    ends = np.zeros((len(keys), len(moves), len(OUTCOMES)))
    goes = np.zeros((len(keys), len(moves), len(keys)))
    for (row, (stage, trust, objection)), (column, move) in product(enumerate(keys), enumerate(moves)):
        ends[row, column] = _ends(MOVES[move], stage, trust, objection)
        left = 1.0 - ends[row, column].sum()
        if stage < STAGES - 1:
            for (warmer, worry), chance in _next(MOVES[move], trust, objection, buckets, objections).items():
                goes[row, column, at[stage + 1, warmer, worry]] += left * chance
    return World(
        name=name,
        states=tuple(f"{stage}:{trust}:{objection}" for stage, trust, objection in keys),
        moves=moves,
        outcomes=OUTCOMES,
        start=_start(keys, buckets, objections),
        today=np.array([_today(moves, stage, objection) for stage, _, objection in keys]),
        ends=ends,
        goes=goes,
        words=_WORDS,
    )


def _ends(move: Move, stage: int, trust: int, objection: str) -> Floats:
    """How likely the call ends with each outcome; in the last stage it does."""
    warm = trust / 10
    ready = 1.0 if objection == _NO_OBJECTION else 0.4
    booked = move.books * warm**1.5 * ready
    later = move.parks * (0.3 + 0.7 * warm)
    dropped = (0.04 + (0.08 + move.annoys) * (1.0 - warm)) * (1.0 - booked - later)
    ended = np.array([booked, later, dropped])
    if stage == STAGES - 1:
        left = 1.0 - ended.sum()
        ended[_LATER] += left * 0.6 * warm
        ended[_DROPPED] += left * (1.0 - 0.6 * warm)
    return ended


def _next(
    move: Move, trust: int, objection: str, buckets: tuple[int, ...], objections: tuple[str, ...]
) -> dict[tuple[int, str], float]:
    """Trust and objection after a move that did not end the call."""
    here, step = buckets.index(trust), max(1, len(buckets) // 4)
    cools = move.cools * (1.0 - 0.5 * trust / 10)
    moods = [(0, 1.0 - move.warms - cools), (step, move.warms), (-step, cools)]
    if objection == _NO_OBJECTION:
        raised = 0.25 / (len(objections) - 1)
        worries = {one: 0.75 if one == _NO_OBJECTION else raised for one in objections}
    else:
        worries = {objection: 1.0 - move.clears, _NO_OBJECTION: move.clears}
    found: dict[tuple[int, str], float] = {}
    for (change, mood), (worry, chance) in product(moods, worries.items()):
        key = (buckets[min(len(buckets) - 1, max(0, here + change))], worry)
        found[key] = found.get(key, 0.0) + mood * chance
    return found


def _start(keys: list[tuple[int, int, str]], buckets: tuple[int, ...], objections: tuple[str, ...]) -> Floats:
    """Calls begin in the first stage, most of them lukewarm and six in ten without an objection."""
    middle = (len(buckets) - 1) / 2
    spread = 0.6 * middle or 1.0
    mood = np.array([np.exp(-(((place - middle) / spread) ** 2)) for place in range(len(buckets))])
    worry = {one: 0.6 if one == _NO_OBJECTION else 0.4 / (len(objections) - 1) for one in objections}
    chances = np.array([
        mood[buckets.index(trust)] / mood.sum() * worry[objection] if stage == 0 else 0.0
        for stage, trust, objection in keys
    ])  # fmt: skip
    return np.asarray(chances / chances.sum())


def _today(moves: tuple[str, ...], stage: int, objection: str) -> Floats:
    """Today's agent: mostly by a script that looks at the stage and at objections and never at trust, else by whim."""
    script = dict.fromkeys(moves, 0.0)
    wanted = {
        0: {"greet": 0.35, "build_trust": 0.35, "propose_viewing": 0.3},
        1: {"share_info": 0.15, "greet": 0.1, "build_trust": 0.45, "propose_viewing": 0.3},
        2: {"propose_viewing": 0.45, "share_info": 0.1, "build_trust": 0.45},
        3: {"propose_viewing": 0.6, "close": 0.2, "follow_up": 0.2},
    }[stage]
    if objection != _NO_OBJECTION:
        wanted = {"handle_objection": 0.6, **{move: 0.4 * share for move, share in wanted.items()}}
    for move, share in wanted.items():
        if move in script:
            script[move] += share
    planned = np.array(list(script.values()))
    return np.asarray(0.7 * planned / planned.sum() + 0.3 / len(moves))
