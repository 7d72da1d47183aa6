"""How a system plays: one policy for all four tasks, with notes that either survive an instance or do not."""

from __future__ import annotations

import random
from typing import Any

from pytest_evalharness.clbench.miniature.tasks.contract import Observation, Query
from pytest_evalharness.clbench.miniature.tasks.duel import HANDS
from pytest_evalharness.clbench.miniature.tasks.ledger import DRAWERS

_IN_USE = 0.5
NULL_ACTIONS: dict[str, dict[str, Any]] = {
    "LedgerAction": {"text": "ANSWER "},
    "DuelAction": {"text": "PASS"},
    "BandAnswer": {"channels": []},
    "ShopAction": {"text": "FORECAST "},
}
"""By schema, a legal answer without content."""
EMPTY_ACTIONS: dict[str, dict[str, Any]] = {
    name: {"channels": []} if name == "BandAnswer" else {"text": ""} for name in NULL_ACTIONS
}
"""By schema, what can be derived from it alone: no legal action of the duel, whose round then never ends."""
UNKNOWN_ACTION: dict[str, Any] = {"text": "HMM"}


class Player:
    """Plays with notes by key; the last instance's scratch is thrown away when another begins.

    Args:
        chance: decides where the notes say nothing.
    """

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.notes: dict[str, Any] = {}
        self.scratch: dict[str, Any] = {}

    def forget(self) -> None:
        """Lose the notes."""
        self.notes.clear()

    def act(self, query: Query) -> dict[str, Any]:
        """The next action."""
        if self.scratch.get("instance") != query.instance_id:
            self.scratch = {"instance": query.instance_id, "looked": []}
        plays = {"LedgerAction": self._ledger, "DuelAction": self._duel, "BandAnswer": self._bands}
        return plays.get(query.schema, self._shop)(query)

    def learn(self, query: Query, observation: Observation) -> None:
        """Note what an action led to."""
        told, facts = observation.metadata, query.metadata
        if "drawer" in told:
            self.notes[f"drawer {facts['kind']}"] = told["drawer"]
        if "hand" in told:
            self.notes[f"hand {facts['stage']} {facts['sign']}"] = told["hand"]
        if "used" in told:
            self.notes[f"used {facts['stage']} {facts['site']}"] = told["used"]
        if "sold" in told:
            self.notes[f"growth {facts['stage']} {facts['ware']}"] = told["sold"] / told["past"]
        if "past" in told:
            self.scratch["past"] = told["past"]

    def _ledger(self, query: Query) -> dict[str, Any]:
        seen = query.feedback.content if query.feedback and self.scratch["looked"] else ""
        if seen.startswith("amount "):
            return {"text": f"ANSWER {seen.removeprefix('amount ')}"}
        left = [one for one in DRAWERS if one not in self.scratch["looked"]] or list(DRAWERS)
        noted = self.notes.get(f"drawer {query.metadata['kind']}")
        choice = noted if noted in left else self.chance.choice(left)
        self.scratch["looked"].append(choice)
        return {"text": f"LOOK {choice}"}

    def _duel(self, query: Query) -> dict[str, Any]:
        noted = self.notes.get(f"hand {query.metadata['stage']} {query.metadata['sign']}")
        return {"text": noted or self.chance.choice(HANDS)}

    def _bands(self, query: Query) -> dict[str, Any]:
        noted = self.notes.get(f"used {query.metadata['stage']} {query.metadata['site']}")
        read = [at for at, value in enumerate(query.metadata["readings"]) if value > _IN_USE]
        return {"channels": noted or read}

    def _shop(self, query: Query) -> dict[str, Any]:
        past = self.scratch.get("past")
        if past is None:
            return {"text": "PAST"}
        noted = self.notes.get(f"growth {query.metadata['stage']} {query.metadata['ware']}")
        return {"text": f"FORECAST {past * (noted or self.chance.uniform(0.9, 1.1)):.1f}"}
