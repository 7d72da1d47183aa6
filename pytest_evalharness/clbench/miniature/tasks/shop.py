"""Shop forecast: how much will a stand sell next week? A time series, so that every rollout meets it in one order."""

from __future__ import annotations

from typing import Any, ClassVar

from pytest_evalharness.clbench.miniature.tasks.contract import Observation, Outcome, Task

MOST_STEPS = 6
_GOOD = 0.8
WARES = ("bread", "honey")


class ShopForecast(Task):
    """Several steps a week: `PAST` tells last week's sales, `FORECAST <n>` ends the instance; at most six steps."""

    name: ClassVar[str] = "mini_shop_forecast"
    stages: ClassVar[tuple[int, ...]] = (4, 4)
    schema: ClassVar[str] = "ShopAction"
    replicated: ClassVar[bool] = True
    brief: ClassVar[dict[str, Any]] = {
        "objective": "Forecast next week's sales of a ware.",
        "instance_unit": "one week of one ware",
        "reward_definition": "1 - |forecast - sold| / sold, which may be below 0; 0 without a forecast",
        "completion_definition": f"a forecast, or {MOST_STEPS} steps",
    }

    def begin_instance(self) -> None:
        """No step yet."""
        self.steps = 0

    @property
    def ware(self) -> str:
        """What is sold."""
        return WARES[self.number % len(WARES)]

    @property
    def growth(self) -> float:
        """What multiplies sales from week to week in this stage."""
        return self.chance("growth", self.stage, self.ware).choice((0.6, 0.75, 1.3, 1.5))

    @property
    def past(self) -> int:
        """Last week's sales."""
        return self.chance("past", self.number).randint(40, 160)

    @property
    def sold(self) -> int:
        """What it comes to."""
        return max(1, round(self.past * self.growth * self.chance("luck", self.number).uniform(0.95, 1.05)))

    def facts(self) -> dict[str, Any]:
        """The ware and the steps so far."""
        return {"stage": self.stage, "ware": self.ware, "steps": self.steps}

    def prompt(self) -> str:
        """The week."""
        return f"Week {self.number // len(WARES)}, {self.ware}. Reply PAST or FORECAST <number>."

    def judge(self, action: dict[str, Any], said: dict[str, Any]) -> tuple[Observation, Outcome | None]:
        """The past, a forecast, or a step for nothing; the workspace of a late week may be gone."""
        self.steps += 1
        word, _, rest = str(action.get("text") or "").strip().partition(" ")
        if said.get("workspace_gone"):
            return self._over(None, "the workspace is gone", timed_out=True)
        if word == "FORECAST":
            return self._forecast(rest)
        if self.steps >= MOST_STEPS:
            return self._over(None, "no step is left", timed_out=True)
        if word == "PAST":
            return Observation(f"last week: {self.past}", metadata={"past": self.past}), None
        return Observation(f"unknown action {word!r}; {MOST_STEPS - self.steps} steps left"), None

    def _forecast(self, text: str) -> tuple[Observation, Outcome]:
        try:
            told = float(text)
        except ValueError:
            return self._over(None, "no number")
        return self._over(1.0 - abs(told - self.sold) / self.sold, f"sold: {self.sold}")

    def _over(
        self, score: float | None, words: str, *, timed_out: bool = False
    ) -> tuple[Observation, Outcome]:
        metadata = {"steps": self.steps, "format_valid": score is not None, "timed_out": timed_out}
        earned = 0.0 if score is None else score
        outcome = self.outcome(earned, ("score", round(earned, 6), True), success=earned > _GOOD, **metadata)
        told = Observation(words, instance_complete=True, metadata={"past": self.past, "sold": self.sold})
        return told, outcome
