"""The engine that the `docker` command would use: reached within a deadline, or why it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from socket import AF_UNIX, gaierror, socket
from typing import Any, TypeAlias

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable

Client: TypeAlias = Any
"""`docker.APIClient`, whose published types know neither fractions of a second nor what it answers."""
_DEFAULT = "unix:///var/run/docker.sock"


class NoEngine(Exception):
    """No engine answers, or not to this user, or not in time. Internal: callers say what was not done because of it.

    Args:
        what: happened, in one line.
        next_step: what to type.
    """

    def __init__(self, what: str, next_step: str) -> None:
        self.what = what
        self.next_step = next_step
        super().__init__(what)


def connected(variables: Mapping[str, str], deadline: Deadline) -> tuple[Client, str]:
    """A client of the engine that the `docker` command would use, and where that engine is.

    Raises:
        NoEngine: none answers; it says why and what to type.
    """
    from docker.errors import DockerException

    address = _DEFAULT
    try:
        options = _options(variables)
        address = str(options.get("base_url") or _DEFAULT)
        _knock(address, deadline)
        return _negotiated(options, deadline), address
    except (DockerException, OSError, ValueError, KeyError, TypeError) as problem:
        raise no_engine(problem, address, deadline) from None


def _negotiated(options: Mapping[str, Any], deadline: Deadline) -> Client:
    """A client that speaks the engine's version: new engines refuse old ones, and old engines new ones.

    The library's own way of finding it out leaves connections open where that fails.
    """
    import docker
    from docker.constants import DEFAULT_DOCKER_API_VERSION

    kind: Client = docker.APIClient
    first = kind(version=DEFAULT_DOCKER_API_VERSION, timeout=left(deadline), **options)
    try:
        version = first.version(api_version=False)["ApiVersion"]
    finally:
        first.close()
    return kind(version=version, timeout=left(deadline), **options)


def _knock(address: str, deadline: Deadline) -> None:
    """Connect to a socket in the file system once, which the library would not close if that failed.

    Raises:
        OSError: nobody is there, or this user may not.
    """
    if address.startswith("unix://"):
        with socket(AF_UNIX) as knocking:
            knocking.settimeout(left(deadline))
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


def left(deadline: Deadline) -> float:
    """Seconds that the engine still has.

    Raises:
        TimeoutError: none.
    """
    if deadline.expired:
        raise TimeoutError
    return deadline.remaining


def no_engine(problem: BaseException, address: str, deadline: Deadline) -> NoEngine:
    """What kept the engine from answering, and what to do about it."""
    where = printable(address)
    causes = list(_causes(problem))
    if any(isinstance(cause, PermissionError) for cause in causes):
        return NoEngine(
            f"this user may not talk to the container engine at {where}",
            'sudo usermod -aG docker "$USER", then log in again (or: newgrp docker)',
        )
    if deadline.expired or any(isinstance(cause, TimeoutError) for cause in causes):
        return NoEngine(
            f"the container engine at {where} did not answer within {deadline.allowed:g} s",
            "docker version; restart the engine if that hangs too",
        )
    if any(isinstance(cause, FileNotFoundError | ConnectionError | gaierror) for cause in causes):
        return NoEngine(
            f"no container engine answers at {where}",
            "start it (sudo systemctl start docker, or Docker Desktop), or set DOCKER_HOST to where it listens",
        )
    return NoEngine(
        f"the container engine at {where} cannot be used: {printable(problem)}",
        "docker version",
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


def to_microseconds(instant: str) -> str:
    """An instant whose fraction of a second has at most six digits: engines tell nine."""
    return re.sub(r"(\.\d{6})\d+", r"\1", instant)
