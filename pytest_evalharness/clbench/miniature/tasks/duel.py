"""Coin duel: in which hand does the opponent hide the coins? Each stage has another opponent with another habit."""

from __future__ import annotations

from typing import Any, ClassVar

from pytest_evalharness.clbench.miniature.tasks.contract import Observation, Outcome, Task

SIGNS = ("blinks", "hums", "nods")
HANDS = ("LEFT", "RIGHT")
_DOUBLE = 0.4
_SLIP = 0.1
FORFEITED = (4, 12)
"""Rounds that the opponent gives up before anybody is asked: they earn a coin and cost nothing, in every pass."""


class CoinDuel(Task):
    """A one-step duel for coins: right wins the pot, wrong loses one, `PASS` neither.

    An illegal action is refused, costs nothing and ends nothing, for ever; no forfeit of an adapter ends it either.
    """

    name: ClassVar[str] = "mini_coin_duel"
    stages: ClassVar[tuple[int, ...]] = (6, 5, 5)
    schema: ClassVar[str] = "DuelAction"
    brief: ClassVar[dict[str, Any]] = {
        "objective": "Win coins by naming the hand that hides them.",
        "instance_unit": "one round",
        "reward_definition": "the pot, 1 or 2 coins, if the hand is right; -1 if it is wrong; 0 for PASS",
        "completion_definition": "a legal action",
    }

    @property
    def sign(self) -> str:
        """What the opponent does; it tells the hand to whoever knows the opponent."""
        return SIGNS[self.number % len(SIGNS)]

    @property
    def pot(self) -> int:
        """Coins at stake."""
        return 2 if self.chance("pot", self.number).random() < _DOUBLE else 1

    @property
    def hand(self) -> str:
        """Where they are: by habit, seldom otherwise."""
        habit = self.chance("habit", self.stage, self.sign).choice(HANDS)
        slips = self.chance("slip", self.number).random() < _SLIP
        return HANDS[1 - HANDS.index(habit)] if slips else habit

    def resolved(self) -> Outcome | None:
        """A round that the opponent gives up."""
        if self.number not in FORFEITED:
            return None
        return self.outcome(1.0, ("coins", 1.0, True), success=True, auto_resolved=True)

    def facts(self) -> dict[str, Any]:
        """The sign and the pot."""
        return {"stage": self.stage, "sign": self.sign, "pot": self.pot}

    def prompt(self) -> str:
        """The round."""
        return (
            f"Round {self.number:02d} against opponent {self.stage + 1}: {self.pot} at stake, the opponent {self.sign}. "
            "Reply LEFT, RIGHT or PASS."
        )

    def judge(self, action: dict[str, Any], said: dict[str, Any]) -> tuple[Observation, Outcome | None]:
        """A guess, a pass, or something illegal."""
        word = str(action.get("text") or "").strip()
        if word not in {*HANDS, "PASS"}:
            return Observation(
                f"illegal action {word!r}; reply LEFT, RIGHT or PASS", metadata={"accepted": False}
            ), None
        coins = 0 if word == "PASS" else self.pot if word == self.hand else -1
        outcome = self.outcome(
            float(coins), ("coins", float(coins), True), success=coins > 0, total_profit=coins
        )
        return Observation(
            f"it was {self.hand}", instance_complete=True, metadata={"hand": self.hand}
        ), outcome
