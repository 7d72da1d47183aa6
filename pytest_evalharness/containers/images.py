"""Local images: what `docker image inspect` tells of them, within a deadline, and errors that say what to type."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pytest_evalharness.base.clock import Clock, parse_iso
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.containers.engine import Client, NoEngine, connected, left, no_engine, to_microseconds
from pytest_evalharness.errors import ImageUnavailable

SECONDS = 10.0
"""How long the engine may take to tell of all images together."""
REVISION = "org.opencontainers.image.revision"
_OLDEST = parse_iso("2001-01-01")
"""Reproducible builds give every image one date: 1970, or 1980 where zip files are made."""
_DIRTY = re.compile(r"(.+?)[-.+](?:dirty|modified)", re.DOTALL)
_RUNS = ("Cmd", "Entrypoint", "Env", "ExposedPorts", "Shell", "StopSignal", "User", "Volumes", "WorkingDir")
_NOT_DONE = "the image was not inspected"


@dataclass(frozen=True)
class LocalImage:
    """One image of the local engine. What it says of itself was written by whoever built it.

    Attributes:
        name: what was asked for.
        id: the engine's id, which follows from everything in it: `sha256:…`.
        content: a digest of its files and of how it starts, without dates and labels. Two images with one content do
            the same, whatever their ids.
        created: when it was built, in seconds since 1970; None where it carries no date, or none that means anything.
        revision: the commit it says it was built from; None if it says none.
        dirty: whether it says that the tree was not clean then.
        repo_digests: the digests under which registries know it: `sha256:…`.
    """

    name: str
    id: str
    content: str
    created: float | None
    revision: str | None
    dirty: bool
    repo_digests: tuple[str, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The image that was written down with `dataclasses.asdict`."""
        return cls(**{**data, "repo_digests": tuple(data["repo_digests"])})

    @classmethod
    def told(cls, name: str, attributes: Mapping[str, Any]) -> Self:
        """An image from the engine's answer.

        Raises:
            ImageUnavailable: the answer has no id.
        """
        identity = attributes.get("Id")
        if not isinstance(identity, str) or not identity:
            raise ImageUnavailable(
                f"the engine tells no id of the image {printable(name)}",
                not_done=_NOT_DONE,
                next_step=f"docker image inspect {printable(name)}",
            )
        config = attributes.get("Config")
        config = config if isinstance(config, dict) else {}
        revision, dirty = _revision(config.get("Labels"))
        return cls(
            name=name,
            id=identity,
            content=_content(attributes, config) or identity,
            created=_created(attributes.get("Created")),
            revision=revision,
            dirty=dirty,
            repo_digests=tuple(_digests(attributes.get("RepoDigests"))),
        )


def inspect(
    names: Sequence[str],
    *,
    clock: Clock,
    seconds: float = SECONDS,
    environment: Mapping[str, str] | None = None,
) -> dict[str, LocalImage | ImageUnavailable]:
    """Ask the local engine for images.

    Args:
        names: what `docker image inspect` takes: NAME, NAME:TAG, NAME@DIGEST, or an id.
        clock: tells when time is up.
        seconds: for all of them together.
        environment: where `DOCKER_HOST` and its kin are read; the process's own when left out.

    Returns:
        For each name the image, or why there is none. Nothing is raised: an image that cannot be inspected proves
        nothing, and others may.
    """
    deadline = Deadline.after(clock, seconds)
    variables = os.environ if environment is None else environment
    found: dict[str, LocalImage | ImageUnavailable] = {}
    try:
        engine, address = connected(variables, deadline)
    except NoEngine as problem:
        return dict.fromkeys(names, _not_inspected(problem))
    try:
        for name in names:
            found[name] = _inspect_one(engine, address, name, deadline)
    finally:
        engine.close()
    return found


def _inspect_one(
    engine: Client, address: str, name: str, deadline: Deadline
) -> LocalImage | ImageUnavailable:
    from docker.errors import APIError, DockerException, ImageNotFound

    shown = printable(name)
    try:
        engine.timeout = left(deadline)
        return LocalImage.told(name, engine.inspect_image(name))
    except ImageUnavailable as problem:
        return problem
    except ImageNotFound:
        return ImageUnavailable(
            f"there is no local image {shown}",
            not_done=_NOT_DONE,
            next_step=f"docker image ls shows those there are; build it, or docker pull {shown}",
        )
    except APIError as problem:
        return ImageUnavailable(
            f"the engine does not inspect the image {shown}: {printable(problem.explanation or problem)}",
            not_done=_NOT_DONE,
            next_step=f"docker image inspect {shown}",
        )
    except (DockerException, OSError) as problem:  # the HTTP library's errors are OSErrors
        return _not_inspected(no_engine(problem, address, deadline))


def _not_inspected(problem: NoEngine) -> ImageUnavailable:
    return ImageUnavailable(problem.what, not_done=_NOT_DONE, next_step=problem.next_step)


# ------------------------------------------------------------------ answers


def _content(attributes: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """A digest of an image's layers and of how it starts; empty where the engine tells no layers."""
    files = attributes.get("RootFS")
    layers = files.get("Layers") if isinstance(files, dict) else None
    if not layers:
        return ""
    platform = [attributes.get(key) for key in ("Os", "Architecture", "Variant")]
    # An engine leaves out what is empty, or writes it as null, as its version pleases.
    start = {key: config[key] for key in _RUNS if config.get(key)}
    told = json.dumps([layers, platform, start], sort_keys=True)
    return "sha256:" + hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def _revision(labels: object) -> tuple[str | None, bool]:
    """The commit that an image's label names, and whether it says that the tree was not clean."""
    said = labels.get(REVISION) if isinstance(labels, dict) else None
    if not isinstance(said, str) or not said.strip():
        return None, False
    dirty = _DIRTY.fullmatch(said.strip())
    return (dirty[1] if dirty else said.strip()), dirty is not None


def _created(said: object) -> float | None:
    try:
        at = parse_iso(to_microseconds(str(said)))
    except (ValueError, OverflowError):
        return None
    return at if at >= _OLDEST else None


def _digests(told: object) -> Iterator[str]:
    for name in told if isinstance(told, list) else ():
        _, at, digest = str(name).rpartition("@")
        if at:
            yield digest
