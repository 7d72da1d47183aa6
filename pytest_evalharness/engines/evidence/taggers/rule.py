"""The rule tagger: cue phrases, no model. For seeing the pipeline work, and wherever another tagger leaves a turn out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_evalharness.base.closing import Closing
from pytest_evalharness.engines.evidence.sampling import ScrubbedCall
from pytest_evalharness.engines.evidence.taggers.cues import Cues, heaviest, words
from pytest_evalharness.engines.evidence.taggers.reading import MIDDLE_TRUST, Reading
from pytest_evalharness.engines.evidence.world import NO_OBJECTION, World


class RuleReader:
    """Reads one call by cues. Moves from the agent's turn, everything of the state from the customer's turns before it."""

    def __init__(self, world: World) -> None:
        self._moves = list(world.moves)
        self._objections = list(world.objections)
        self._agent = Cues([one.cues for one in world.moves.values()])
        self._customer = Cues([one.cues for one in (*world.objections.values(), *world.stages)])
        self._otherwise = world.otherwise

    def read(self, call: ScrubbedCall) -> tuple[list[Reading], int]:
        """A reading of each agent turn, and how many of them had no cue."""
        found: list[Reading] = []
        without = stage = 0
        objection = NO_OBJECTION
        for turn in call.turns:
            said = words(turn.text)
            if turn.agent:
                met = self._agent.met(said)
                without += not met
                move = self._moves[heaviest(met)] if met else self._otherwise
                found.append(Reading(move, stage, MIDDLE_TRUST, objection))
            elif met := self._customer.met(said):
                stage, objection = self._moved(met, stage, objection)
        return found, without

    def _moved(self, met: Mapping[int, int], stage: int, objection: str) -> tuple[int, str]:
        """Where the customer stands after a turn: a stage once reached is kept, an objection until another one or none."""
        objections = {at: weight for at, weight in met.items() if at < len(self._objections)}
        if objections:
            objection = self._objections[heaviest(objections)]
        return max(stage, max(met) - len(self._objections)), objection


class RuleTagger(Closing):
    """See the module."""

    kind = "rule"
    model_id: str | None = None

    def __init__(self, world: World) -> None:
        self._reader = RuleReader(world)
        self._world = world
        self.stats: Counter[str] = Counter(turns=0, by_rule=0, without_cue=0, calls=0)
        self.effort: Counter[str] = Counter()

    def read(self, calls: Iterable[ScrubbedCall]) -> Iterator[tuple[ScrubbedCall, list[Reading]]]:
        """Each call with a reading of each of its agent turns."""
        stats = self.stats
        for call in calls:
            found, without = self._reader.read(call)
            stats["turns"] += len(found)
            stats["by_rule"] += len(found)
            stats["without_cue"] += without
            stats["calls"] += 1
            yield call, found

    def described(self) -> dict[str, Any]:
        """The cues, as a hash."""
        return {"cues_hash": cues_hash(self._world)}

    def close(self) -> None:
        """Nothing is open."""


def cues_hash(world: World) -> str:
    """What tells two worlds apart."""
    return f"sha256:{hashlib.sha256(world.canonical.encode()).hexdigest()}"
