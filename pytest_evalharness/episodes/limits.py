"""How much a download may take of time, space and patience."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_evalharness.episodes.untrusted import MIB

GIB = 1024 * MIB


@dataclass(frozen=True)
class DownloadLimits:
    """Bounds that a hostile or broken server cannot exceed.

    Attributes:
        artifact_bytes: of one artifact as it is served.
        unpacked_bytes: of a replay that is compressed, unpacked.
        artifact_seconds: for one artifact with all its tries.
        late_seconds: how long, from the start of a run on, artifacts of ended episodes may still be published.
        attempts: tries of one artifact.
        retries: further tries of all artifacts of a run together.
        concurrency: episodes that are fetched at once.
    """

    artifact_bytes: int = GIB
    unpacked_bytes: int = GIB
    artifact_seconds: float = 900.0
    late_seconds: float = 30.0
    attempts: int = 5
    retries: int = 500
    concurrency: int = 8
