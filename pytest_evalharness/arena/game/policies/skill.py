"""A policy's skills: how well it plays, never how often it wins."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

# Skills that are not probabilities, and the range each must lie in.
_RANGES: Final = {
    "hesitation": (0.0, 5_000.0),
    "memory": (0.0, 100_000.0),
    "vote_threshold": (0.0, 10.0),
    "vote_delay": (0.0, 100_000.0),
    "lull": (0.0, 100_000.0),
    "steering": (0.1, 1.0),
}


@dataclass(frozen=True, slots=True)
class Skill:
    """What a build can do. Probabilities and shares are from 0 to 1, durations are mean ticks.

    Attributes:
        steering: share of the ideal walking speed it keeps.
        routing: chance to walk to the nearest open task rather than to any.
        sweep: walks its tasks as a round trip through the rooms, in place of nearest first.
        hesitation: ticks it stands at a task before it starts.
        fumble: chance that it lets go of a task too early and has to start again.
        attention: chance to notice a body it comes upon, or a kill or vent it is present at.
        report_diligence: chance to report a body it noticed.
        memory: ticks for which it remembers where it saw somebody.
        inference: how well it reasons from sightings to suspects; the rest is noise.
        trust: weight it gives to what others say.
        vote_threshold: suspicion from which it votes for somebody rather than skips.
        attentiveness: chance to vote at all before the timer ends.
        vote_delay: ticks it takes to vote.
        button: chance to call a meeting when it has caught somebody and found no body.
        lull: ticks it lets pass after its kill cooldown before it hunts.
        boldness: chance to strike when alone with a victim, at each look.
        recklessness: chance to strike before witnesses, at each look.
        stalking: chance to hunt where it last saw somebody rather than anywhere.
        venting: chance to leave a body through a vent.
        deceit: chance that what it says about itself agrees with what others saw.
        framing: chance to accuse an innocent.
        self_report: chance to report its own victim when somebody comes upon it.
    """

    steering: float = 0.95
    routing: float = 0.95
    sweep: bool = False
    hesitation: float = 24.0
    fumble: float = 0.02
    attention: float = 0.95
    report_diligence: float = 0.97
    memory: float = 700.0
    inference: float = 0.85
    trust: float = 0.8
    vote_threshold: float = 1.0
    attentiveness: float = 1.0
    vote_delay: float = 60.0
    button: float = 0.8
    lull: float = 100.0
    boldness: float = 0.8
    recklessness: float = 0.02
    stalking: float = 0.7
    venting: float = 0.3
    deceit: float = 0.9
    framing: float = 0.3
    self_report: float = 0.2

    def __post_init__(self) -> None:
        """Refuse skills outside their range.

        Raises:
            ValueError: naming the skill.
        """
        for field in fields(self):
            low, high = _RANGES.get(field.name, (0.0, 1.0))
            if not low <= getattr(self, field.name) <= high:
                raise ValueError(f"{field.name}: must be from {low} to {high}")
