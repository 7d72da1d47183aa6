"""How a match can end."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Ending(StrEnum):
    """Why a match ended. The two timeouts void it."""

    TASKS = "all crew tasks done"
    EJECTED = "all imposters ejected"
    PARITY = "imposters reached parity"
    TIME_LIMIT = "time limit"
    CONNECT_TIMEOUT = "a player never connected"
    DISCONNECT_TIMEOUT = "a player disconnected"


CREW_WINS: Final = (Ending.TASKS, Ending.EJECTED, Ending.TIME_LIMIT)
IMPOSTER_WINS: Final = (Ending.PARITY,)
