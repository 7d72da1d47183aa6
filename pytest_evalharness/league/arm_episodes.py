"""What the arms of a comparison left, downloaded into the home: one folder a request, shared by all who ask for it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.files import safe_component
from pytest_evalharness.episodes.discovery import Mode, Selection
from pytest_evalharness.episodes.download import Wanted
from pytest_evalharness.episodes.fetching import fetch
from pytest_evalharness.episodes.folder import EpisodeFolder, open_folder
from pytest_evalharness.episodes.index import Entry
from pytest_evalharness.observatory.client import Observatory

FOLDER = "episodes"
"""Where they are, below the home."""


@dataclass(frozen=True)
class ArmEpisodes:
    """The downloaded episodes of both arms.

    Attributes:
        candidate: those of the candidate, the oldest first.
        baseline: those of the baseline.
        folders: by side, the folders that they are in, one a request.
        complete: whether everything is there that was produced and may be read.
    """

    candidate: tuple[EpisodeFolder, ...]
    baseline: tuple[EpisodeFolder, ...]
    folders: Mapping[str, tuple[Path, ...]]
    complete: bool

    def remarks(self) -> list[str]:
        """What whoever opens a folder should know."""
        if self.complete:
            return []
        return ["not everything is there: evalharness episodes show FOLDER says what is missing, and why"]


def arm_episodes(
    observatory: Observatory,
    requests: Mapping[str, Sequence[str]],
    home: Path,
    *,
    server: str,
    clock: Clock,
) -> ArmEpisodes:
    """Download what the requests of both arms left; what is there already is kept.

    Args:
        observatory: a client that has learnt what it speaks to.
        requests: `candidate` and `baseline` → their requests' ids.
        home: the run's home.
        server: how indexes name the server.
        clock: tells the time and waits.

    Raises:
        EvalHarnessError: the server cannot be asked, or a folder is unsafe. What has come is kept.
    """
    found: dict[str, list[EpisodeFolder]] = {side: [] for side in requests}
    folders: dict[str, list[Path]] = {side: [] for side in requests}
    complete = True
    for side, ids in requests.items():
        for request in ids:
            root = home / FOLDER / safe_component(request)
            report = fetch(
                observatory,
                Selection(Mode.XREQ, (request,)),
                root,
                Wanted(),
                server=server,
                clock=clock,
                stop=threading.Event(),
                watching=_Silent(),
            )
            complete = complete and report.complete
            folders[side].append(root)
            found[side].extend(open_folder(root).episodes)
    return ArmEpisodes(
        candidate=tuple(found.get("candidate", ())),
        baseline=tuple(found.get("baseline", ())),
        folders={side: tuple(paths) for side, paths in folders.items()},
        complete=complete,
    )


class _Silent:
    """Nobody is told how it goes: a case's own lines stand where its progress would."""

    def found(self, count: int) -> None:
        """See `Watching`."""

    def bytes(self, count: int) -> None:
        """See `Watching`."""

    def done(self, entry: Entry, *, skipped: bool) -> None:
        """See `Watching`."""

    def remark(self, text: str) -> None:
        """See `Watching`."""
