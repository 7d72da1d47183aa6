"""What this machine knows of the builds: the local images that were named, and the repository that they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.containers.images import LocalImage
from pytest_evalharness.errors import ImageUnavailable
from pytest_evalharness.settings import EMBEDDED

if TYPE_CHECKING:
    from pytest_evalharness.base.git import Repository, Unknown


@dataclass(frozen=True)
class BuildSources:
    """Where to look for what the server does not tell, and what to do where nobody tells.

    Attributes:
        images: policy label → the local image that it was uploaded from.
        folder: a folder of the repository that the builds come from; None where git has nothing to do with them.
        home: the run's home, whose files are no change of any tree.
        allow: whether builds that nobody proves different are compared all the same.
        unused: what was named and belongs to no policy.
    """

    images: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    home: Path | None = None
    allow: bool = False
    unused: tuple[str, ...] = ()

    @classmethod
    def of(cls, setting: Callable[[str], Any], *, folder: Path, home: Path) -> Self:
        """The sources that settings name.

        The embedded league's players are invented: no repository of the user's has their sources, unless images are named.

        Args:
            setting: a setting's key to its value, or None.
            folder: where the command was typed.
            home: the run's home.
        """
        named = {side: setting(f"{side}_image") for side in ("candidate", "baseline")}
        images = {str(setting(side)): str(image) for side, image in named.items() if image and setting(side)}
        unused = tuple(
            f"--eval-{side}-image {image} was not used: there is no --{side} that it could belong to"
            for side, image in named.items()
            if image and not setting(side)
        )
        real = bool(images) or setting("server") != EMBEDDED
        return cls(images, folder if real else None, home, setting("unproven_builds") == "allow", unused)


@dataclass(frozen=True)
class Missing:
    """A local image that was named and could not be inspected.

    Attributes:
        name: the image.
        why: what happened.
        next_step: what to type.
    """

    name: str
    why: str
    next_step: str


@dataclass(frozen=True)
class LocalBuilds:
    """What was found on this machine.

    Attributes:
        images: policy label → its local image.
        repository: the repository of the folder; None if it was not asked.
        commits: policy label → the commit that its image says it was built from.
        files: the files that differ between the commits of the two images; None where there are not two.
    """

    images: Mapping[str, LocalImage | Missing] = field(default_factory=dict)
    repository: Repository | Unknown | None = None
    commits: Mapping[str, str | Unknown] = field(default_factory=dict)
    files: tuple[str, ...] | Unknown | None = None

    def image(self, label: str) -> LocalImage | None:
        """The inspected image of a policy, if there is one."""
        found = self.images.get(label)
        return found if isinstance(found, LocalImage) else None

    def to_json(self) -> dict[str, Any]:
        """Plain data, for the other processes of the run."""
        return {
            "images": {label: asdict(one) for label, one in self.images.items()},
            "repository": None if self.repository is None else asdict(self.repository),
            "commits": {
                label: one if isinstance(one, str) else asdict(one) for label, one in self.commits.items()
            },
            "files": list(self.files) if isinstance(self.files, tuple) else self.files and asdict(self.files),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """What `to_json` gave."""
        from pytest_evalharness.base.git import Unknown

        files = data["files"]
        return cls(
            images={
                label: Missing(**one) if "why" in one else LocalImage.from_json(one)
                for label, one in data["images"].items()
            },
            repository=_repository(data["repository"]),
            commits={
                label: one if isinstance(one, str) else Unknown(**one)
                for label, one in data["commits"].items()
            },
            files=tuple(files) if isinstance(files, list) else files and Unknown(**files),
        )


def _repository(data: Mapping[str, Any] | None) -> Repository | Unknown | None:
    from pytest_evalharness.base.git import Changes, Repository, Unknown, Worktree

    if data is None:
        return None
    if "why" in data:
        return Unknown(data["why"])
    trees = []
    for tree in data["worktrees"]:
        told = tree["changes"]
        changes = None if told is None else Changes(told["total"], tuple(told["names"]))
        trees.append(Worktree(**{**tree, "changes": changes}))
    return Repository(tuple(trees))


def look(sources: BuildSources, clock: Clock) -> LocalBuilds:
    """Inspect the images that were named and ask git about the folder. Nothing is raised, nothing is changed."""
    images = _images(sources.images, clock)
    if sources.folder is None:
        return LocalBuilds(images)
    from pytest_evalharness.base.git import Git, Unknown

    git = Git(sources.folder, clock)
    repository = git.repository(beside=sources.home)
    revisions = {
        label: one.revision
        for label, one in images.items()
        if isinstance(one, LocalImage) and one.revision is not None
    }
    known = not isinstance(repository, Unknown)
    commits = {label: git.commit(one) for label, one in revisions.items()} if known else {}
    pair = [one for one in commits.values() if isinstance(one, str)]
    files = git.files_between(pair[1], pair[0]) if len(pair) == len(images) > 1 else None
    return LocalBuilds(images, repository, commits, files)


def _images(named: Mapping[str, str], clock: Clock) -> dict[str, LocalImage | Missing]:
    if not named:
        return {}
    from pytest_evalharness.containers.images import inspect

    found = inspect(list(dict.fromkeys(named.values())), clock=clock)
    told: dict[str, LocalImage | Missing] = {}
    for label, name in named.items():
        one = found[name]
        told[label] = Missing(name, one.what, one.next_step) if isinstance(one, ImageUnavailable) else one
    return told
