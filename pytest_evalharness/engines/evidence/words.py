"""How a world says its own ids."""

from __future__ import annotations

import msgspec

_TRUST = ("cold", "lukewarm", "warm")
_TENTHS = 10


class Words(msgspec.Struct, kw_only=True):
    """A world's vocabulary. A word that is missing costs clarity and never correctness: ids are then tidied.

    Attributes:
        moves: of each move.
        objections: of each objection.
        stages: of stage 0, 1, …
        trust: of equal bands of the scale from 0 to 10.
    """

    moves: dict[str, str] = {}
    objections: dict[str, str] = {}
    stages: list[str] = []
    trust: list[str] = msgspec.field(default_factory=lambda: list(_TRUST))

    def move(self, move: str) -> str:
        """A move in words."""
        return self.moves.get(move) or _tidy(move)

    def state(self, state: str) -> str:
        """A state in words: `1:4:price` is "early on, lukewarm, worried about the price"."""
        try:
            stage, bucket, objection = state.split(":")
            return f"{self._stage(int(stage))}, {self._trust(int(bucket))}, {self.objections.get(objection) or _tidy(objection)}"
        except ValueError:
            return state

    def _stage(self, stage: int) -> str:
        return self.stages[stage] if 0 <= stage < len(self.stages) else f"turn {stage}"

    def _trust(self, bucket: int) -> str:
        if not self.trust:
            return f"trust {bucket}/{_TENTHS}"
        return self.trust[min(len(self.trust) - 1, int(bucket / (_TENTHS / len(self.trust))))]


def _tidy(name: str) -> str:
    return name.replace("_", " ")
