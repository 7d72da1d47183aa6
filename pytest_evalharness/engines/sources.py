"""Where evidence comes from, by the name that a person gives it."""

from __future__ import annotations

from pathlib import Path

from pytest_evalharness.engines import worlds
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.engines.evidence.folder import VOLUME, DataFolder
from pytest_evalharness.engines.worlds.playing import simulate

SIMULATED = "sim:"
SIMULATED_CALLS, SIMULATED_SEED = 2_000, 7
"""Of `sim:WORLD`, whose calls every move is as likely in as any other."""


def evidence_of(name: str, data: Path, *, base: Path | None = None) -> Evidence:
    """Evidence by a set's id, a file, `vol:` and a path below the data folder's datasets, or `sim:` and a world.

    Args:
        name: one of these.
        data: the data folder.
        base: what a relative path is relative to; the current folder if None.

    Raises:
        UsageError: a `vol:` name that leaves the folder, or no such world.
        EvidenceUnreadable: there is no such set or file, or it is no evidence.
    """
    if name.startswith(SIMULATED):
        world = worlds.named(name.removeprefix(SIMULATED))
        return simulate(world, SIMULATED_CALLS, SIMULATED_SEED, policy=world.uniform)
    folder = DataFolder(data)
    beside = None if base is None or name.startswith(VOLUME) else base / name
    return Evidence.load(beside if beside is not None and beside.is_file() else folder.locate(name))
