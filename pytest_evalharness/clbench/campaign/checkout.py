"""A checkout of the benchmark: where its program, tasks, systems and results are. Nothing in it is imported here."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_evalharness.base.clock import Clock, SystemClock
from pytest_evalharness.base.git import Git, Unknown
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.programs import program_of
from pytest_evalharness.clbench.domains import Family, families
from pytest_evalharness.errors import NoCheckout

EMBEDDED = "embedded"
"""What is typed in the place of a folder for the miniature that comes with this package."""
MINIATURE = "pytest_evalharness.clbench.miniature"
DEFAULT = "default"
"""The schedule that a leaderboard's run takes."""
CODE = ("src", "scripts", "data", "run_benchmark.py", "pyproject.toml")
"""What makes a result: changes elsewhere, new results among them, are no other benchmark."""
_TASKS, _SYSTEMS, _SCHEDULES = Path("src/tasks"), Path("src/systems"), ("schedules", "rollouts")
_INSTALL_SECONDS = 120.0
_UNTOLD = "git does not tell"
_LARGEST = 4 * 1024 * 1024


@dataclass(frozen=True)
class Schedule:
    """One schedule file of a task, as far as a plan needs it.

    Attributes:
        name: its id, the file's stem.
        rollouts: how many it makes where nothing else is said.
        max_workers: of its process pool where nothing else is said.
        mode: permute, resample or replicate.
    """

    name: str
    rollouts: int = 1
    max_workers: int = 12
    mode: str = "permute"


@dataclass(frozen=True)
class Checkout:
    """A checkout.

    Attributes:
        root: its root, in which its program has to be started.
        embedded: whether it is the embedded miniature, which every report says.
        revision: the commit, or the miniature's version; empty where git cannot tell.
        dirty: whether code, scripts or data differ from that commit; also where git cannot tell.
        program: how its `clbench` is started.
        python: the interpreter that runs it; empty if that could not be found out.
        foreign: the `clbench` on PATH, where that belongs to something else.
        changes: a digest of what is not committed, so that another edit is another benchmark; empty where nothing is.
    """

    root: Path
    embedded: bool
    revision: str
    dirty: bool
    program: tuple[str, ...]
    python: str = ""
    foreign: str = ""
    changes: str = ""

    def tasks(self) -> tuple[str, ...]:
        """Ids of every task in it, sorted."""
        return tuple(path.name for path in _folders(self.root / _TASKS) if _schedule_folder(path) is not None)

    def schedules(self, task: str) -> tuple[str, ...]:
        """Ids of a task's schedules, sorted; empty if there is no such task."""
        folder = _schedule_folder(self.root / _TASKS / task)
        return () if folder is None else tuple(sorted(path.stem for path in folder.glob("*.json")))

    def schedule(self, task: str, name: str = DEFAULT) -> Schedule:
        """One schedule.

        Raises:
            NoCheckout: there is none of this name, or its file is no schedule.
        """
        folder = _schedule_folder(self.root / _TASKS / task)
        path = (folder or self.root / _TASKS / task / _SCHEDULES[0]) / f"{name}.json"
        try:
            told = json.loads(path.read_bytes()[:_LARGEST])
            defaults = told.get("run_defaults") or {}
            return Schedule(
                str(told.get("id") or name),
                int(defaults.get("runs", 1)),
                int(defaults.get("max_workers", 12)),
                str(defaults.get("mode", "permute")),
            )
        except (OSError, ValueError, TypeError, AttributeError) as problem:
            raise NoCheckout(
                f"schedule {name} of task {task} cannot be read: {path}: {problem}",
                not_done="nothing was started",
                next_step=f"schedules that are there: {', '.join(self.schedules(task)) or 'none'}",
            ) from None

    def systems(self) -> tuple[str, ...]:
        """Names of every system in it, sorted: modules and packages below `src/systems`."""
        folder = self.root / _SYSTEMS
        names = {path.stem for path in folder.glob("*.py") if not path.name.startswith("_")}
        names |= {path.name for path in _folders(folder) if self.embedded or (path / "__init__.py").exists()}
        return tuple(sorted(names - {"utils", "common"}))

    def run_folder(self, slug: str) -> Path:
        """Where a run is published."""
        return self.root / "final_results" / "runs" / slug

    def live(self, task: str) -> Path:
        """Where a task's live snapshots are, a folder a run group."""
        return self.root / "results" / task / "live"

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """Variables that make `run-all` find this checkout's own `clbench` for its children; empty where it does already."""
        mine = Path(self.program[0])
        if mine.name != "clbench":
            return {}
        path = inherited.get("PATH", os.defpath)
        found = shutil.which("clbench", path=path)
        if found is not None and os.path.realpath(found) == os.path.realpath(mine):
            return {}
        return {"PATH": os.pathsep.join((str(mine.parent), path))}

    @property
    def words(self) -> str:
        """What a report calls it."""
        if self.embedded:
            return f"the {Family.EMBEDDED}, version {self.revision.rpartition(' ')[2] or 'unknown'}"
        if not self.revision:
            return f"{self.root}, whose revision git does not tell"
        return f"{self.root} at {self.revision[:12]}{', with changes that are not committed' if self.dirty else ''}"


def open_checkout(
    told: str,
    home: Path,
    *,
    environment: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> Checkout:
    """The checkout of a folder, or the embedded miniature, installed below the home.

    Args:
        told: a folder, or `embedded`.
        home: the harness's own folder.
        environment: in which `clbench` is looked for; the process's own when left out.
        clock: bounds the questions to git.

    Raises:
        NoCheckout: the folder is none, or the miniature cannot be installed.
    """
    inherited = os.environ if environment is None else environment
    if told == EMBEDDED:
        return _installed(home / "clbench" / "checkout")
    root = Path(told).expanduser().absolute()
    if not root.is_dir():
        raise _none(root, "there is no such folder")
    if missing := [
        one for one in ("src/tasks", "src/systems", "run_benchmark.py") if not (root / one).exists()
    ]:
        raise _none(root, f"it has no {', no '.join(missing)}")
    root = root.resolve()
    checkout = Checkout(root, embedded=False, revision="", dirty=False, program=())
    if tasks := checkout.tasks():
        if families(tasks) == {Family.EMBEDDED}:
            return _miniature(root)
    else:
        raise _none(root, "no task in it has a schedule")
    program = program_of(root, inherited.get("PATH", os.defpath))
    revision, changes = _revision(root, clock or SystemClock())
    return replace(
        checkout,
        revision=revision,
        dirty=changes != "",
        program=program.argv,
        python=program.python,
        foreign=program.foreign,
        changes=changes,
    )


def _revision(root: Path, clock: Clock) -> tuple[str, str]:
    """The commit, and a digest of what differs from it; both as far as git tells."""
    git = Git(root, clock)
    head, found = git.head(), git.changes(*CODE)
    if isinstance(found, Unknown):
        return "", _UNTOLD
    digest = hashlib.sha256(str(found.total).encode())
    for name in found.names:
        digest.update(f"\n{name} {_content(root / name)}".encode("utf-8", "surrogatepass"))
    changes = f"sha256:{digest.hexdigest()[:16]}" if found.total else ""
    return "" if isinstance(head, Unknown) else head, changes


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "absent"


def _installed(root: Path) -> Checkout:
    """The miniature, laid out below the home by its own program."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", MINIATURE, "install", str(root)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as problem:
        raise _none(root, f"the embedded miniature cannot be installed: {problem}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise _none(root, f"the embedded miniature cannot be installed: {printable(said)}")
    return _miniature(root.resolve())


def _miniature(root: Path) -> Checkout:
    try:
        version = printable((root / "VERSION").read_text(encoding="utf-8", errors="replace").strip(), 40)
    except OSError:
        version = ""
    return Checkout(
        root,
        embedded=True,
        revision=version,
        dirty=False,
        program=(str(root / "bin" / "clbench"),),
        python=sys.executable,
    )


def _folders(parent: Path) -> list[Path]:
    """Folders that hold code, sorted."""
    if not parent.is_dir():
        return []
    return sorted(path for path in parent.iterdir() if path.is_dir() and path.name[0] not in "_.")


def _schedule_folder(task: Path) -> Path | None:
    return next((task / name for name in _SCHEDULES if (task / name).is_dir()), None)


def _none(root: Path, why: str) -> NoCheckout:
    return NoCheckout(
        f"{root} is no checkout of the benchmark: {why}",
        not_done="nothing was started",
        next_step=f"--checkout DIR names its root; --checkout {EMBEDDED} is the miniature that comes with this package",
    )
