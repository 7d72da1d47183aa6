"""How long something may still take."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_evalharness.base.clock import Clock


@dataclass(frozen=True)
class Deadline:
    """A point on a clock's monotonic scale after which waiting is over."""

    clock: Clock
    at: float
    allowed: float

    @classmethod
    def after(cls, clock: Clock, seconds: float) -> Deadline:
        """The deadline that is `seconds` away from now."""
        return cls(clock, clock.monotonic() + seconds, seconds)

    @property
    def remaining(self) -> float:
        """Seconds left; never negative."""
        return max(0.0, self.at - self.clock.monotonic())

    @property
    def expired(self) -> bool:
        """Whether the time is over."""
        return self.remaining <= 0.0
