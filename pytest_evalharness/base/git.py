"""What git knows of a folder: its revision, uncommitted changes, worktrees, and what differs between two revisions.

Runs the `git` program and writes nothing. Whatever it cannot tell is `Unknown` and no failure: a folder need be no
repository. File names are bytes that anybody chose; here they are text, to be made harmless where they are printed.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline

SECONDS = 10.0
"""How long all questions about one folder may take together."""
MOST_FILES = 10_000
"""More differing files than that are not listed."""
_NAMED = 50
_MOST_WORKTREES = 16
_REVISION = re.compile(r"[0-9a-f]{7,64}")
_QUIET = (
    "-c", "core.fsmonitor=false",  # a repository may name a program here
    "-c", "protocol.allow=never",  # a partial clone would fetch what it lacks
)  # fmt: skip
_ELSEWHERE = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_WORK_TREE",
    }
)  # fmt: skip
"""Variables that a git hook hands on: they would answer for another repository than the folder's."""


@dataclass(frozen=True)
class Unknown:
    """What git could not tell, and why."""

    why: str


@dataclass(frozen=True)
class Changes:
    """Uncommitted changes, untracked files included, compiled Python left out.

    Attributes:
        total: how many files.
        names: the first of them, relative to the repository's root.
    """

    total: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class Worktree:
    """One checkout of a repository.

    Attributes:
        path: where it is.
        head: the full id of the commit it is at; None before the first.
        branch: its branch; None if it is on none.
        changes: what is not committed in it; None if that could not be told in time.
        here: whether the folder that was asked about lies in it.
    """

    path: str
    head: str | None
    branch: str | None
    changes: Changes | None
    here: bool = False


@dataclass(frozen=True)
class Repository:
    """A repository's worktrees, the asked folder's among them."""

    worktrees: tuple[Worktree, ...]

    @property
    def here(self) -> Worktree:
        """The worktree in which the folder lies."""
        return next(tree for tree in self.worktrees if tree.here)


class Git:
    """The repository of a folder.

    Args:
        folder: any folder in it.
        clock: tells when time is up.
        seconds: for all questions together.
        environment: of the program; the process's own when left out.
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        *,
        seconds: float = SECONDS,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self._deadline = Deadline.after(clock, seconds)
        inherited = os.environ if environment is None else environment
        self._environment = {
            **{name: value for name, value in inherited.items() if name not in _ELSEWHERE},
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }

    def repository(self, *, beside: Path | None = None) -> Repository | Unknown:
        """All worktrees of the repository, with what is not committed in each.

        Args:
            beside: a folder whose files are no changes, wherever it lies.
        """
        top = self._ask("rev-parse", "--show-toplevel")
        if isinstance(top, Unknown):
            return top
        root = os.path.realpath(os.fsdecode(top.removesuffix(b"\n")))
        listed = self._worktrees()
        if isinstance(listed, Unknown):
            return listed
        listed.sort(key=lambda tree: os.path.realpath(tree.path) != root)  # this one must not be cut off
        if not listed or os.path.realpath(listed[0].path) != root:
            return Unknown("git lists no worktree for this folder")
        # A worktree that lies inside another one is no change of that one.
        apart = [*([] if beside is None else [beside]), *(Path(tree.path) for tree in listed)]
        return Repository(
            tuple(
                replace(
                    tree,
                    path=_text(os.fsencode(tree.path)),
                    changes=self._changes(Path(tree.path), apart),
                    here=number == 0,
                )
                for number, tree in enumerate(listed[:_MOST_WORKTREES])
            )
        )

    def commit(self, revision: str) -> str | Unknown:
        """The full id of the commit that a revision names: hexadecimal digits, at least 7.

        Anything else is not handed to git, since a revision may come from a stranger's label.
        """
        if not _REVISION.fullmatch(revision):
            return Unknown("it is no commit id")
        told = self._ask("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        if isinstance(told, Unknown):
            return told if self._deadline.expired else Unknown("this repository has no such commit")
        return told.decode("ascii", "replace").strip()

    def head(self) -> str | Unknown:
        """The full id of the commit that is checked out."""
        told = self._ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return told if isinstance(told, Unknown) else told.decode("ascii", "replace").strip()

    def changes(self, *below: str) -> Changes | Unknown:
        """What is not committed in the folder's worktree.

        Args:
            below: paths, relative to the folder, to which the question is limited; everything when left out.
        """
        told = self._ask("status", "--porcelain", "--untracked-files=all", "-z", "--", *below)
        if isinstance(told, Unknown):
            return told
        names = list(_changed(told))
        return Changes(len(names), tuple(names[:_NAMED]))

    def holds(self, ancestor: str, descendant: str) -> bool | Unknown:
        """Whether a commit has another one behind it.

        Args:
            ancestor: the earlier commit, hexadecimal digits.
            descendant: the later one.
        """
        for revision in (ancestor, descendant):
            told = self.commit(revision)
            if isinstance(told, Unknown):
                return told
        count = self._ask("rev-list", "--count", "--max-count=1", ancestor, f"^{descendant}")
        return count if isinstance(count, Unknown) else count.strip() == b"0"

    def files_between(self, one: str, other: str) -> tuple[str, ...] | Unknown:
        """The files that differ between two commits, relative to the repository's root.

        Args:
            one: a full commit id, as `commit` gives it.
            other: another one.
        """
        told = self._ask("diff-tree", "-r", "--name-only", "--no-renames", "-z", one, other)
        if isinstance(told, Unknown):
            return told
        names = [_text(name) for name in told.split(b"\0") if name]
        return Unknown(f"{len(names)} files differ") if len(names) > MOST_FILES else tuple(names)

    def _worktrees(self) -> list[Worktree] | Unknown:
        told = self._ask("worktree", "list", "--porcelain", "-z")
        if isinstance(told, Unknown):  # git before 2.36 ends lines only
            lines = self._ask("worktree", "list", "--porcelain")
            if isinstance(lines, Unknown):
                return lines
            told = lines.replace(b"\n", b"\0")
        return list(_listed(told))

    def _changes(self, tree: Path, apart: Sequence[Path]) -> Changes | None:
        """What is not committed in a worktree, without what lies in some folders."""
        told = self._ask("-C", os.fspath(tree), "status", "--porcelain", "--untracked-files=all", "-z")
        if isinstance(told, Unknown):
            return None
        left_out = [path for path in (_inside(folder, tree) for folder in apart) if path]
        names = [name for name in _changed(told) if not any(_is_or_below(name, one) for one in left_out)]
        return Changes(len(names), tuple(names[:_NAMED]))

    def _ask(self, *words: str) -> bytes | Unknown:
        """What git prints, or why it does not."""
        if self._deadline.expired:
            return Unknown("git did not answer in time")
        try:
            done = subprocess.run(
                ["git", *_QUIET, *words],  # noqa: S607 - the user's own git, as the user's shell finds it
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self._deadline.remaining,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Unknown("git did not answer in time")
        except FileNotFoundError:
            return Unknown("there is no git" if self._folder.is_dir() else "there is no such folder")
        except OSError as problem:
            return Unknown(f"git cannot be run: {problem.strerror or problem}")
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            return Unknown(said.removeprefix("fatal: ") or f"git ended with {done.returncode}")
        return done.stdout


def _listed(told: bytes) -> Iterator[Worktree]:
    """The worktrees that still have a folder, from `git worktree list`."""
    for record in told.split(b"\0\0"):
        said: dict[bytes, bytes] = {}
        for line in record.split(b"\0"):
            word, _, rest = line.partition(b" ")
            said[word] = rest
        if b"worktree" not in said or b"bare" in said or b"prunable" in said:
            continue
        head = said.get(b"HEAD", b"").decode("ascii", "replace")
        branch = said.get(b"branch")
        yield Worktree(
            os.fsdecode(said[b"worktree"]),
            head if head.strip("0") else None,
            None if branch is None else _text(branch).removeprefix("refs/heads/"),
            None,
        )


def _changed(told: bytes) -> Iterator[str]:
    """The paths of `git status --porcelain -z`; of a rename the new one, which the old one follows."""
    entries = iter(told.split(b"\0"))
    for entry in entries:
        if not entry:
            continue
        if entry[:1] in {b"R", b"C"}:
            next(entries, None)
        if entry[:2] == b"??" and b"__pycache__" in entry[3:].split(b"/"):
            continue  # Python makes it of the sources while the cases run, and no build is made of it
        yield _text(entry[3:])


def _inside(folder: Path, tree: Path) -> str:
    """A folder as a path below a worktree; empty if it lies elsewhere, or is the worktree itself."""
    try:
        below = Path(os.path.realpath(folder)).relative_to(os.path.realpath(tree)).as_posix()
    except ValueError:
        return ""
    return "" if below == "." else below


def _is_or_below(name: str, folder: str) -> bool:
    return name.rstrip("/") == folder or name.startswith(f"{folder}/")


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
