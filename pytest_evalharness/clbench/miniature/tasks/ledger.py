"""Ledger lookup: which drawer holds an account's entry? Drawers are rearranged between the stages, with no more than a hint."""

from __future__ import annotations

from typing import Any, ClassVar

from pytest_evalharness.clbench.miniature.tasks.contract import Observation, Outcome, Task

DRAWERS = ("ash", "birch", "cedar", "elm", "fir")
KINDS = ("grain", "rope", "salt")
BUDGET = 6


class LedgerLookup(Task):
    """A short lookup: `LOOK <drawer>` costs a query, `ANSWER <amount>` ends the instance.

    A word that is neither costs nothing and ends nothing, for ever.
    """

    name: ClassVar[str] = "mini_ledger_lookup"
    stages: ClassVar[tuple[int, ...]] = (6, 6)
    schema: ClassVar[str] = "LedgerAction"
    brief: ClassVar[dict[str, Any]] = {
        "objective": "Name the amount of an account's entry with as few looks into drawers as possible.",
        "instance_unit": "one account",
        "reward_definition": f"right: 1 - looks / {BUDGET}; wrong or over {BUDGET} looks: 0",
        "completion_definition": "an answer, or one look too many",
    }

    def begin_instance(self) -> None:
        """No look yet."""
        self.looks = 0
        self.actions = 0

    @property
    def kind(self) -> str:
        """What the account deals in: accounts of one kind lie in one drawer."""
        return KINDS[self.number % len(KINDS)]

    @property
    def drawer(self) -> str:
        """Where its entry lies in this stage."""
        drawers = self.chance("drawers", self.stage).sample(DRAWERS, len(KINDS))
        return drawers[KINDS.index(self.kind)]

    @property
    def amount(self) -> int:
        """What the entry says."""
        return self.chance("amount", self.number).randint(100, 999)

    def prompt(self) -> str:
        """The account, and after the first stage that something was moved."""
        moved = "" if self.stage == 0 else " The archive was tidied lately."
        return (
            f"Account {self.number:02d} deals in {self.kind}. Drawers: {', '.join(DRAWERS)}.{moved} "
            "Reply LOOK <drawer> or ANSWER <amount>."
        )

    def facts(self) -> dict[str, Any]:
        """The kind and the looks so far."""
        return {"stage": self.stage, "kind": self.kind, "looks": self.looks}

    def judge(self, action: dict[str, Any], said: dict[str, Any]) -> tuple[Observation, Outcome | None]:
        """A look, an answer, or neither."""
        self.actions += 1
        word, _, rest = str(action.get("text") or "").strip().partition(" ")
        if said.get("latency_timeout"):
            return self._over("given up", right=False, timed_out=True)
        if word == "LOOK":
            self.looks += 1
            if self.looks > BUDGET:
                return self._over("one look too many", right=False)
            there = rest.strip() == self.drawer
            return Observation(f"amount {self.amount}" if there else f"{rest.strip()}: nothing"), None
        if word == "ANSWER":
            right = rest.strip() == str(self.amount)
            return self._over("right" if right else "wrong", right=right)
        return Observation(
            f"unknown action {word!r}; reply LOOK or ANSWER", metadata={"accepted": False}
        ), None

    def _over(self, words: str, *, right: bool, timed_out: bool = False) -> tuple[Observation, Outcome]:
        regret = float(self.looks if right else BUDGET)
        metadata: dict[str, Any] = {"num_queries": self.looks, "num_actions": self.actions, "regret": regret}
        if timed_out:
            metadata["latency_timeout"] = True
        outcome = self.outcome(
            max(0.0, 1.0 - regret / BUDGET), ("lookup_regret", regret, False), success=right, **metadata
        )
        return Observation(words, instance_complete=True, metadata={"drawer": self.drawer}), outcome
