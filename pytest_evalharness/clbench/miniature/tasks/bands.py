"""Band scan: which channels are in use at a site? Readings are noisy, sites come back, and their bands move between stages."""

from __future__ import annotations

from typing import Any, ClassVar

from pytest_evalharness.clbench.miniature.tasks.contract import Observation, Outcome, Task

CHANNELS = 8
USED = 6
MISLEADING = 0.3
"""The share of readings that point the wrong way."""
SITES = ("hill", "quay")


class BandScan(Task):
    """One answer a scan: the list of channels in use, scored by the share of channels that are told rightly.

    Six of eight are in use in every scan, so that an empty list earns 0.25. Ids number positions, not contents.
    """

    name: ClassVar[str] = "mini_band_scan"
    stages: ClassVar[tuple[int, ...]] = (5, 5)
    schema: ClassVar[str] = "BandAnswer"
    brief: ClassVar[dict[str, Any]] = {
        "objective": "Name the channels that are in use.",
        "instance_unit": "one scan",
        "reward_definition": f"the share of {CHANNELS} channels that are told rightly; 0 for a scan that is given up",
        "completion_definition": "one answer",
    }

    @property
    def instance_id(self) -> str:
        """The position: scans have no name of their own."""
        return f"{self.name}:scan:{self.first + self.position}"

    @property
    def site(self) -> str:
        """Where the scan was made."""
        return SITES[self.number % len(SITES)]

    @property
    def used(self) -> list[int]:
        """The channels in use at the site in this stage."""
        return sorted(self.chance("used", self.stage, self.site).sample(range(CHANNELS), USED))

    @property
    def readings(self) -> list[float]:
        """A strength by channel, in which three of ten mislead."""
        chance = self.chance("noise", self.number)
        told = []
        for channel in range(CHANNELS):
            shown = (channel in self.used) != (chance.random() < MISLEADING)
            told.append(round((0.6 if shown else 0.1) + 0.3 * chance.random(), 2))
        return told

    def facts(self) -> dict[str, Any]:
        """The site and its readings."""
        return {"stage": self.stage, "site": self.site, "readings": self.readings}

    def prompt(self) -> str:
        """The readings."""
        told = " ".join(f"{channel}:{value:.2f}" for channel, value in enumerate(self.readings))
        return f"Site {self.site}, readings by channel: {told}. Reply with the list of channels in use."

    def judge(self, action: dict[str, Any], said: dict[str, Any]) -> tuple[Observation, Outcome | None]:
        """Every answer ends the scan."""
        given_up = bool(said.get("latency_timeout"))
        named = {one for one in action.get("channels") or () if isinstance(one, int)}
        right = sum((channel in named) == (channel in self.used) for channel in range(CHANNELS)) / CHANNELS
        reward = 0.0 if given_up else right
        metadata: dict[str, Any] = {"site": self.site, "named": len(named)}
        if given_up:
            metadata["latency_timeout"] = True
        outcome = self.outcome(reward, ("share_right", reward, True), success=reward == 1.0, **metadata)
        told = Observation(f"in use: {self.used}", instance_complete=True, metadata={"used": self.used})
        return told, outcome
