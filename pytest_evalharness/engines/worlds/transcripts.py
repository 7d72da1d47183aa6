"""Calls of a world as a platform would export them: what was said, in words that the shipped cue phrases read back."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pytest_evalharness.engines.evidence.taggers.cues import Cues, heaviest, words
from pytest_evalharness.engines.evidence.world import World as Speech
from pytest_evalharness.engines.evidence.world import load_world
from pytest_evalharness.engines.worlds.playing import play
from pytest_evalharness.engines.worlds.world import World

LABELS = {"viewing_booked": "Booked Visit", "follow_up": "Call Later", "dropped": "No Interest"}
"""The platform's labels of a world's outcomes."""
_UNANSWERED = 0.03
"""The share of rows, beside the calls, that no agent came to speak in."""


def export(world: World, path: Path, calls: int, seed: int) -> str:
    """Write a call export, gzip of JSON lines, as played by the world's today's agent.

    Args:
        world: whose states can be heard: the trust of every one is the middle.
        path: of the file.
        calls: how many; a few voicemails stand between them.
        seed: of all chance.

    Returns:
        What made the calls up, for everything that is built on them.

    Raises:
        ValueError: a world whose trust differs, which no phrase tells.
    """
    rows = _rows(world, _Phrases(world, load_world()), calls, seed)
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        for row in rows:
            file.write(msgspec.json.encode(row) + b"\n")
    return f"invented calls of the world {world.name}, seed {seed}"


def _rows(world: World, phrases: _Phrases, calls: int, seed: int) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    played = play(world, world.today, calls, rng)
    outcomes = list(world.outcomes)
    turns: list[dict[str, str]] = []
    for call, state, move, ending in zip(
        *(one.tolist() for one in (played.call, played.state, played.move, played.outcome)), strict=True
    ):
        turns += [
            {"role": "customer", "text": phrases.of_state(world.states[state], rng)},
            {"role": "agent", "text": phrases.of_move(world.moves[move], rng)},
        ]
        if ending < 0:
            continue
        name, phone = f"C-{seed}-{call:06d}", f"+971 50 {rng.integers(1_000_000, 9_999_999)}"
        yield {"call_id": name, "phone": phone, "outcome": LABELS[outcomes[ending]], "turns": turns}
        turns = []
        if rng.random() < _UNANSWERED:
            yield {
                "call_id": f"V-{seed}-{call:06d}",
                "outcome": "Voicemail",
                "turns": [{"role": "customer", "text": "…"}],
            }


class _Phrases:
    """Cue phrases that are read as one thing only."""

    def __init__(self, world: World, speech: Speech) -> None:
        if {state.split(":")[1] for state in world.states} != {"5"}:
            raise ValueError(
                f"the trust of world {world.name!r} is not the middle everywhere: nothing said tells it"
            )
        agent = Cues([one.cues for one in speech.moves.values()])
        customer = Cues([one.cues for one in (*speech.objections.values(), *speech.stages)])
        moves, objections = list(speech.moves), list(speech.objections)
        self._moves = {
            name: [cue for cue in told.cues if moves[heaviest(agent.met(words(cue)))] == name]
            for name, told in speech.moves.items()
        }
        self._objections = {
            name: [cue for cue in told.cues if set(customer.met(words(cue))) == {at}]
            for at, (name, told) in enumerate(speech.objections.items())
        }
        self._stages = [
            [cue for cue in told.cues if set(customer.met(words(cue))) == {len(objections) + at}]
            for at, told in enumerate(speech.stages)
        ]

    def of_move(self, move: str, rng: np.random.Generator) -> str:
        return f"{_one(self._moves[move], rng).capitalize()}."

    def of_state(self, state: str, rng: np.random.Generator) -> str:
        stage, _, objection = state.split(":")
        heard = [_one(self._stages[int(stage)], rng)] if int(stage) else ["Hello?"]
        return f"{'. '.join([*heard, _one(self._objections[objection], rng)]).capitalize()}."


def _one(phrases: list[str], rng: np.random.Generator) -> str:
    return phrases[int(rng.integers(len(phrases)))]
