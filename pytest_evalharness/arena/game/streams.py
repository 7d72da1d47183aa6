"""Independent random streams from one seed, so that no seat can predict the game or another seat."""

from __future__ import annotations

from hashlib import sha256
from random import Random


def stream(seed: int, label: str) -> Random:
    """The stream of this seed for this purpose; the same on every platform and in every process."""
    return Random(int.from_bytes(sha256(f"{seed}/{label}".encode()).digest()[:16], "big"))
