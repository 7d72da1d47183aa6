"""Local images: what `docker image inspect` tells of them, within a deadline, and errors that say what to type."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from socket import AF_UNIX, gaierror, socket
from typing import Any, Self, TypeAlias

from pytest_evalharness.base.clock import Clock, parse_iso
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import ImageUnavailable

_Client: TypeAlias = Any
"""`docker.APIClient`, whose published types know neither fractions of a second nor what it answers."""
SECONDS = 10.0
"""How long the engine may take to tell of all images together."""
REVISION = "org.opencontainers.image.revision"
_DEFAULT = "unix:///var/run/docker.sock"
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
        engine, address = _engine(variables, deadline)
    except ImageUnavailable as problem:
        return dict.fromkeys(names, problem)
    try:
        for name in names:
            found[name] = _inspect_one(engine, address, name, deadline)
    finally:
        engine.close()
    return found


def _inspect_one(
    engine: _Client, address: str, name: str, deadline: Deadline
) -> LocalImage | ImageUnavailable:
    from docker.errors import APIError, DockerException, ImageNotFound

    shown = printable(name)
    try:
        engine.timeout = _left(deadline)
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
        return _no_engine(problem, address, deadline)


# ------------------------------------------------------------------- engine


def _engine(variables: Mapping[str, str], deadline: Deadline) -> tuple[_Client, str]:
    """A client of the engine that the `docker` command would use, and where that engine is.

    Raises:
        ImageUnavailable: none answers; the message says why and what to type.
    """
    from docker.errors import DockerException

    address = _DEFAULT
    try:
        options = _options(variables)
        address = str(options.get("base_url") or _DEFAULT)
        _knock(address, deadline)
        return _negotiated(options, deadline), address
    except (DockerException, OSError, ValueError, KeyError, TypeError) as problem:
        raise _no_engine(problem, address, deadline) from None


def _negotiated(options: Mapping[str, Any], deadline: Deadline) -> _Client:
    """A client that speaks the engine's version: new engines refuse old ones, and old engines new ones.

    The library's own way of finding it out leaves connections open where that fails.
    """
    import docker
    from docker.constants import DEFAULT_DOCKER_API_VERSION

    kind: _Client = docker.APIClient
    first = kind(version=DEFAULT_DOCKER_API_VERSION, timeout=_left(deadline), **options)
    try:
        version = first.version(api_version=False)["ApiVersion"]
    finally:
        first.close()
    return kind(version=version, timeout=_left(deadline), **options)


def _knock(address: str, deadline: Deadline) -> None:
    """Connect to a socket in the file system once, which the library would not close if that failed.

    Raises:
        OSError: nobody is there, or this user may not.
    """
    if address.startswith("unix://"):
        with socket(AF_UNIX) as knocking:
            knocking.settimeout(_left(deadline))
            knocking.connect(address.removeprefix("unix://"))


def _options(variables: Mapping[str, str]) -> dict[str, Any]:
    """Where the engine is: the environment says it, else the context that `docker context use` chose."""
    from docker.context import ContextAPI
    from docker.utils import kwargs_from_env

    # An empty environment means the process's own to it.
    options: dict[str, Any] = {**kwargs_from_env({"": "", **variables})}
    if "base_url" not in options:
        context = ContextAPI.get_context(variables.get("DOCKER_CONTEXT") or None)
        if context is not None and context.name != "default" and context.Host:
            options["base_url"] = context.Host
            if context.TLSConfig:
                options["tls"] = context.TLSConfig
    return options


def _left(deadline: Deadline) -> float:
    """Seconds that the engine still has.

    Raises:
        TimeoutError: none.
    """
    if deadline.expired:
        raise TimeoutError
    return deadline.remaining


def _no_engine(problem: BaseException, address: str, deadline: Deadline) -> ImageUnavailable:
    """What kept the engine from answering, and what to do about it."""
    where = printable(address)
    causes = list(_causes(problem))
    if any(isinstance(cause, PermissionError) for cause in causes):
        return ImageUnavailable(
            f"this user may not talk to the container engine at {where}",
            not_done=_NOT_DONE,
            next_step='sudo usermod -aG docker "$USER", then log in again (or: newgrp docker)',
        )
    if deadline.expired or any(isinstance(cause, TimeoutError) for cause in causes):
        return ImageUnavailable(
            f"the container engine at {where} did not answer within {deadline.allowed:g} s",
            not_done=_NOT_DONE,
            next_step="docker version; restart the engine if that hangs too",
        )
    if any(isinstance(cause, FileNotFoundError | ConnectionError | gaierror) for cause in causes):
        return ImageUnavailable(
            f"no container engine answers at {where}",
            not_done=_NOT_DONE,
            next_step="start it (sudo systemctl start docker, or Docker Desktop), or set DOCKER_HOST to where it listens",
        )
    return ImageUnavailable(
        f"the container engine at {where} cannot be used: {printable(problem)}",
        not_done=_NOT_DONE,
        next_step="docker version",
    )


def _causes(problem: BaseException) -> Iterator[BaseException]:
    """An error and everything it stands for: libraries wrap the system's errors as causes and as arguments."""
    pending, seen = [problem], set[int]()
    while pending:
        error = pending.pop()
        if id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        pending += [one for one in (error.__cause__, error.__context__, *error.args) if _is_error(one)]


def _is_error(value: object) -> bool:
    return isinstance(value, BaseException)


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
        at = parse_iso(_to_microseconds(str(said)))
    except (ValueError, OverflowError):
        return None
    return at if at >= _OLDEST else None


def _to_microseconds(instant: str) -> str:
    """An instant whose fraction of a second has at most six digits: engines tell nine."""
    return re.sub(r"(\.\d{6})\d+", r"\1", instant)


def _digests(told: object) -> Iterator[str]:
    for name in told if isinstance(told, list) else ():
        _, at, digest = str(name).rpartition("@")
        if at:
            yield digest
