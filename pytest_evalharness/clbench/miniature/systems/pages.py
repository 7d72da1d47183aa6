"""Two systems without a model: one keeps notes over instances, the other loses them. Both are cheap and need no key."""

from __future__ import annotations

import random
from typing import Any, ClassVar

from pytest_evalharness.clbench.miniature.policy import Player
from pytest_evalharness.clbench.miniature.systems.contract import Place, Response, System
from pytest_evalharness.clbench.miniature.tasks.contract import Observation, Query
from pytest_evalharness.clbench.miniature.usage import Call


class _Pages(System):
    """What both share: a player, and a price by turn."""

    base_cost: ClassVar[float]

    def __init__(self, place: Place, params: dict[str, Any]) -> None:
        super().__init__(place, params)
        # The seed of a system is its pass: a rollout is repeatable, and two rollouts differ.
        self.player = Player(
            random.Random(f"{params['seed']}:{place.task}:{place.run_index}:{place.instance}")
        )

    def respond(self, query: Query) -> Response:
        """The player's action, priced by the length of what it was told."""
        action = self.player.act(query)
        tokens = len(query.prompt) // 4 + 12 * len(self.player.notes)
        cost = round(self.base_cost + 1e-6 * tokens, 8)
        return Response(
            action, {}, (Call(str(self.params["model"]), "miniature", "completion", tokens, 8, cost),)
        )

    def observe(self, query: Query, observation: Observation) -> tuple[Call, ...]:
        """Note it."""
        self.player.learn(query, observation)
        return ()

    def memory(self) -> dict[str, Any] | None:
        """The notes."""
        return {
            "backend": "notes",
            "files": {key: str(one) for key, one in self.player.notes.items()},
            "history": [],
        }


class Notebook(_Pages):
    """Learns: what an instance showed is known in the next, as far as its pages go."""

    name: ClassVar[str] = "notebook"
    summary: ClassVar[str] = "Keeps notes from instance to instance."
    parameters: ClassVar[dict[str, Any]] = {"model": "miniature/notebook-1", "seed": 7, "pages": 40}
    base_cost: ClassVar[float] = 0.002

    def observe(self, query: Query, observation: Observation) -> tuple[Call, ...]:
        """Note it, and tear out the oldest page where there are too many."""
        calls = super().observe(query, observation)
        while len(self.player.notes) > int(self.params["pages"]):
            del self.player.notes[next(iter(self.player.notes))]
        return calls


class Plain(_Pages):
    """Stateless: whatever it saw is gone when the next instance begins."""

    name: ClassVar[str] = "plain"
    summary: ClassVar[str] = "Forgets everything between instances."
    parameters: ClassVar[dict[str, Any]] = {"model": "miniature/plain-1", "seed": 7}
    base_cost: ClassVar[float] = 0.0012

    def observe(self, query: Query, observation: Observation) -> tuple[Call, ...]:
        """Forget, once the instance is over."""
        calls = super().observe(query, observation)
        if observation.instance_complete:
            self.player.forget()
        return calls

    def memory(self) -> dict[str, Any] | None:
        """Nothing."""
        return None
