"""What an episode leaves behind, found, downloaded and read: results, player status, error info, replays, logs and telemetry.

Every reader takes what an untrusted server, game or player wrote, and gives checked values or `ArtifactUnreadable`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pytest_evalharness.episodes.artifacts import Artifact, Category, Outcome, State
    from pytest_evalharness.episodes.discovery import Mode, Selection
    from pytest_evalharness.episodes.fetching import Report, Watch, fetch
    from pytest_evalharness.episodes.folder import DownloadFolder, EpisodeFolder, open_folder, verify
    from pytest_evalharness.episodes.limits import DownloadLimits
    from pytest_evalharness.episodes.replays import ReplayHeader, read_replay_header

_HOMES = {
    "Artifact": "artifacts",
    "Category": "artifacts",
    "DownloadFolder": "folder",
    "DownloadLimits": "limits",
    "EpisodeFolder": "folder",
    "Mode": "discovery",
    "Outcome": "artifacts",
    "ReplayHeader": "replays",
    "Report": "fetching",
    "Selection": "discovery",
    "State": "artifacts",
    "Watch": "fetching",
    "fetch": "fetching",
    "open_folder": "folder",
    "read_replay_header": "replays",
    "verify": "folder",
}
__all__ = [
    "Artifact",
    "Category",
    "DownloadFolder",
    "DownloadLimits",
    "EpisodeFolder",
    "Mode",
    "Outcome",
    "ReplayHeader",
    "Report",
    "Selection",
    "State",
    "Watch",
    "fetch",
    "open_folder",
    "read_replay_header",
    "verify",
]


def __getattr__(name: str) -> object:
    """Public names are imported when they are asked for: whoever only reads results needs no client."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
