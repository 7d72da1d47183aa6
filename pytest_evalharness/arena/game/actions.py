"""What a seat can do: the inputs of the game. An action is ``(kind, argument, ticks)``, three integers.

The input log is these actions, recorded when they change: with the configuration, the seating and the seed it is
all a re-simulation needs.
"""

from __future__ import annotations

from typing import Final

Action = tuple[int, int, int]

WAIT: Final = 0  # stand still for ``ticks``
WATCH: Final = 1  # stand still, but decide again as soon as somebody comes or goes
MOVE: Final = 2  # walk to room ``argument``, arriving after ``ticks`` (never fewer than the corridor takes)
TASK: Final = 3  # after ``argument`` ticks hold the task button for ``ticks``; too short a hold is in vain
STALK: Final = 4  # walk up to seat ``argument`` in the same room, which takes ``ticks``
KILL: Final = 5  # kill seat ``argument``, who must be in reach
REPORT: Final = 6  # walk up to the body of seat ``argument`` and report it
BUTTON: Final = 7  # walk up to the emergency button and press it
VENT: Final = 8  # climb through a vent to room ``argument``
# In a meeting: accuse seat ``argument`` (-1 nobody). ``ticks`` holds the rest of the statement: the ground
# (`suspicion.GROUNDS`) times the number of rooms, plus the room the speaker claims to be in.
SAY: Final = 9
VOTE: Final = 10  # in a meeting: vote for seat ``argument`` (-1 skip)

NAMES: Final = ("wait", "watch", "move", "task", "stalk", "kill", "report", "button", "vent", "say", "vote")

NOBODY: Final = -1
