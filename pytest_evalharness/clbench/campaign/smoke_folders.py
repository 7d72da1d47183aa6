"""Where a smoke keeps its log and its engines, and what of that must not stay: live keys, and clones of tens of megabytes.

An engine's settings hold the key it was paid with, in a file that everybody may read, and a home may become an artifact of a CI job.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.clbench.campaign.runroots import runroot_folders
from pytest_evalharness.errors import SmokeRefused

_PARENT = Path("clbench", "smokes")
_ENGINES = "engines"
_SETTINGS = Path("data", "settings.json")
_CLONE = "clone"


@dataclass(frozen=True)
class SmokeFolder:
    """One smoke's.

    Attributes:
        path: of its log.
        engines: where its engines have their folders, and no others.
    """

    path: Path
    engines: Path

    @property
    def log(self) -> Path:
        """What the benchmark said."""
        return self.path / "smoke.log"


@contextlib.contextmanager
def smoke_folder(home: Path, stamp: str, runs_root: str | None) -> Iterator[SmokeFolder]:
    """A folder for one smoke; what smokes that were killed have left of keys and clones is removed first.

    Args:
        home: the harness's own folder.
        stamp: the smoke's own.
        runs_root: where the user wants engines to be; below the smoke's folder when None.

    Raises:
        SmokeRefused: it cannot be made.
    """
    parent = home / _PARENT
    path = parent / stamp
    try:
        path.mkdir(parents=True)
        engines = _engines(path, runs_root, stamp)
    except OSError as problem:
        raise SmokeRefused(
            f"the smoke's folder {path} cannot be made: {problem.strerror or problem}",
            not_done="nothing was started and nothing was paid",
            next_step="--home names a folder that can be written to",
        ) from None
    with _held(path) as mine:
        for other in sorted(parent.iterdir()) if mine else ():
            _tidy_dead(other, path)
        yield SmokeFolder(path, engines)


def _engines(path: Path, runs_root: str | None, stamp: str) -> Path:
    engines = path / _ENGINES
    if runs_root is None:
        engines.mkdir()
    else:
        elsewhere = Path(runs_root).expanduser().absolute() / f"smoke-{stamp}"
        elsewhere.mkdir(parents=True)
        engines.symlink_to(elsewhere)
    return engines.resolve()


def tidy(engines: Path) -> int:
    """Remove keys and clones of engines that have ended; what they recorded and logged stays. Returns of how many engines."""
    count = 0
    for root in runroot_folders(engines):
        settings, clone = root / _SETTINGS, root / _CLONE
        there = settings.exists() or clone.exists()
        with contextlib.suppress(OSError):
            settings.unlink(missing_ok=True)
        if not clone.is_symlink():
            shutil.rmtree(clone, ignore_errors=True)
        count += there
    return count


def _tidy_dead(other: Path, mine: Path) -> None:
    if other == mine or other.is_symlink() or not other.is_dir():
        return
    with _held(other) as free:
        if free:
            tidy((other / _ENGINES).resolve())


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Lock a smoke's folder while its smoke lives, however that ends; False if a living one has it, or nobody can tell."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
