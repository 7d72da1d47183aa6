"""What dates, labels and git say of where two builds came from: doubts and facts in words. They prove nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_evalharness.base.clock import iso, span
from pytest_evalharness.base.git import Changes, Repository, Unknown, Worktree
from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.containers.images import LocalImage
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.local_builds import LocalBuilds
from pytest_evalharness.league.provenance import Seen, Source, short_commit, short_digest, some_files

OLD_SECONDS = 86_400.0
"""A baseline that is older was built before other things changed too."""
_MANY_FILES = 10


def image_seen(image: LocalImage, digest: str | None) -> str:
    """What the engine told of an image.

    Args:
        image: the image.
        digest: the server's digest of the policy that it belongs to, if it tells one.
    """
    parts = [f"{printable(image.name)} has id {short_digest(image.id)}"]
    parts.append("carries no date" if image.created is None else f"built {iso(image.created)[:16]}Z")
    if image.revision is not None:
        dirty = ", from a tree that was not clean" if image.dirty else ""
        parts.append(f"says revision {short_commit(image.revision)}{dirty}")
    if digest is not None and digest in image.repo_digests:
        parts.append("is what was uploaded: registries know it by the digest that the server tells")
    return ", ".join(parts)


def commit_seen(local: LocalBuilds, label: str) -> Iterator[Seen]:
    """What git knows of the commit that an image names."""
    commit = local.commits.get(label)
    if isinstance(commit, Unknown):
        yield Seen(Source.GIT, f"its revision is not known: {printable(commit.why)}")
    elif commit is not None:
        at = [tree for tree in _worktrees(local) if tree.head == commit]
        where = ", ".join(_named(tree) for tree in at) or "no worktree"
        yield Seen(Source.GIT, f"revision {short_commit(commit)} is checked out in {where}")


def facts(local: LocalBuilds) -> Iterator[str]:
    """Where the command was typed, what is not committed elsewhere, and which files differ."""
    repository = local.repository
    if isinstance(repository, Unknown):
        if local.images:
            yield f"git knows nothing of this folder: {printable(repository.why)}"
    elif repository is not None:
        here = repository.here
        head = "before its first commit" if here.head is None else f"at {short_commit(here.head)}"
        yield f"this is the worktree {_named(here)}, {head}"
        if here.changes is None:
            yield "git did not tell in time what is not committed here"
        if not _clean_here(repository):
            yield from (f"{_held(tree)}" for tree in _edited_elsewhere(repository))
    if isinstance(local.files, tuple):
        files = len(local.files)
        names = f": {some_files(local.files, files, _MANY_FILES)}" if files else ""
        yield f"{counted(files, 'file differs', 'files differ')} between the arms' revisions{names}"
    elif isinstance(local.files, Unknown):
        yield f"which files differ between the arms' revisions is not known: {printable(local.files.why)}"


def doubts(local: LocalBuilds, candidate: str, baseline: str, now: float) -> Iterator[str]:
    """What casts a doubt on what is compared.

    Args:
        local: what this machine knows.
        candidate: the candidate's label.
        baseline: the baseline's label.
        now: seconds since 1970.
    """
    for label in (candidate, baseline):
        missing = local.images.get(label)
        if missing is not None and not isinstance(missing, LocalImage):
            yield f"the local image {printable(missing.name)} of {printable(label)} was not inspected: {printable(missing.why)}"
    images = [local.image(label) for label in (candidate, baseline)]
    yield from _of_images(images[0], images[1], now)
    if isinstance(local.repository, Repository):
        yield from _of_tree(local.repository)
        yield from _of_worktree(local, local.repository, candidate)


def _of_images(candidate: LocalImage | None, baseline: LocalImage | None, now: float) -> Iterator[str]:
    if baseline is not None and baseline.created is not None and now - baseline.created > OLD_SECONDS:
        yield (
            f"the baseline image was built {span(now - baseline.created)} ago: whatever else changed since then is "
            "compared too; build it from the candidate's tree without the edit"
        )
    for side, image in zip(SIDES, (candidate, baseline), strict=True):
        if image is not None and image.dirty:
            yield f"the {side} image says that it was built from a tree with uncommitted changes"
    alike = candidate is not None and baseline is not None and candidate.content == baseline.content
    if alike and candidate is not None and baseline is not None and candidate.id != baseline.id:
        yield (
            "the local images hold the same files and start alike; only their labels or dates differ, so the edit is "
            "probably not in the candidate"
        )


def _of_tree(repository: Repository) -> Iterator[str]:
    here = repository.here
    if here.changes is not None and here.changes.total:
        them = "it" if here.changes.total == 1 else "them"
        yield f"{_held(here)}: every build that was made here has {them} in it"
        return
    if _clean_here(repository):
        for tree in _edited_elsewhere(repository):
            yield f"{_held(tree)}, and this worktree, {_named(here)}, none: was the build made from the one with the edit?"


def _of_worktree(local: LocalBuilds, repository: Repository, candidate: str) -> Iterator[str]:
    """Whether the candidate was built from what is checked out here."""
    commit, here = local.commits.get(candidate), repository.here
    if commit is None or commit == here.head:
        return
    image = local.image(candidate)
    said = short_commit((image.revision if image else None) or "")
    if isinstance(commit, Unknown):
        yield f"the candidate image says that it was built at revision {said}: {printable(commit.why)}"
        return
    built = [tree for tree in repository.worktrees if tree.head == commit]
    where = f"the worktree {_named(built[0])}" if built else "no worktree"
    at = "has no commit yet" if here.head is None else f"is at {short_commit(here.head)}"
    yield (
        f"the candidate image was built at revision {short_commit(commit)}, which is checked out in {where}; this "
        f"worktree, {_named(here)}, {at}"
    )


def _worktrees(local: LocalBuilds) -> tuple[Worktree, ...]:
    return local.repository.worktrees if isinstance(local.repository, Repository) else ()


def _clean_here(repository: Repository) -> bool:
    changes = repository.here.changes
    return changes is not None and not changes.total


def _edited_elsewhere(repository: Repository) -> Iterator[Worktree]:
    for tree in repository.worktrees:
        if not tree.here and tree.changes is not None and tree.changes.total:
            yield tree


def _held(tree: Worktree) -> str:
    changes = tree.changes or Changes(0, ())
    what = counted(changes.total, "uncommitted change")
    which = "this worktree" if tree.here else f"the worktree {_named(tree)}"
    return f"{which} holds {what} ({some_files(changes.names, changes.total)})"


def _named(tree: Worktree) -> str:
    branch = "" if tree.branch is None else f" ({printable(tree.branch)})"
    return f"{printable(tree.path)}{branch}"
