"""What the local engine holds now: its machine, its containers with their mounts, its networks. Nothing of it is secret."""

from __future__ import annotations

import contextlib
import ipaddress
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from pytest_evalharness.base.clock import Clock, parse_iso
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.containers.engine import Client, NoEngine, connected, left, no_engine, to_microseconds
from pytest_evalharness.errors import EngineUnavailable

SECONDS = 20.0
"""How long all questions to one connection may take together."""
OURS = "pytest-evalharness"
"""The label of containers that this package starts."""
_NOT_DONE = "containers were not read"
_SAID = 2000
_NO_DATE = -62135596800.0
"""The year 1, which engines tell where something has not happened."""


@dataclass(frozen=True)
class Machine:
    """Where containers run.

    Attributes:
        memory: bytes: of the virtual machine where containers run in one.
        cpus: how many.
        name: the machine's, as the engine tells it.
        id: the engine's own.
        system: the operating system's name; tells Docker Desktop.
        cgroup: its version, 1 or 2; 0 where the engine tells none.
        root: where the engine keeps images and containers, on its own machine.
        rootless: whether the engine runs without root.
        limits_memory: whether a container's memory can be limited, so that an `oom` event tells whose it was.
    """

    memory: int
    cpus: int
    name: str
    id: str
    system: str
    cgroup: int
    root: str
    rootless: bool
    limits_memory: bool

    @property
    def desktop(self) -> bool:
        """Whether containers run in Docker Desktop's virtual machine, which forwards to the host's loopback."""
        return "docker desktop" in self.system.lower()

    @classmethod
    def told(cls, answer: Mapping[str, Any]) -> Self:
        """The machine of the engine's answer; what is not told is 0, empty or False."""
        options = answer.get("SecurityOptions")
        cgroup = str(answer.get("CgroupVersion") or "")
        return cls(
            memory=_whole(answer.get("MemTotal")),
            cpus=_whole(answer.get("NCPU")),
            name=str(answer.get("Name") or ""),
            id=str(answer.get("ID") or ""),
            system=str(answer.get("OperatingSystem") or ""),
            cgroup=int(cgroup) if cgroup in {"1", "2"} else 0,
            root=str(answer.get("DockerRootDir") or ""),
            rootless=any("rootless" in str(one) for one in options) if isinstance(options, list) else False,
            limits_memory=answer.get("MemoryLimit") is True,
        )


@dataclass(frozen=True)
class Mount:
    """A folder of the host in a container.

    Attributes:
        source: on the engine's machine.
        target: in the container.
        writable: whether the container may write.
    """

    source: str
    target: str
    writable: bool


@dataclass(frozen=True)
class Container:
    """One container, without its environment and its command line: both can hold keys.

    Attributes:
        id: the engine's.
        name: without the slash.
        image: as it was started.
        status: `running`, `paused`, `exited`, `dead`, …
        started: seconds since 1970; None if it never ran.
        ended: seconds since 1970; None while it runs.
        exit_code: of the process it started; None while it runs.
        oom_killed: whether the engine says so. False is no proof: a child can be killed while the first process lives.
        memory: its limit in bytes, 0 without one.
        init: whether a small first process reaps the others (`--init`).
        removes_itself: whether it is gone when it ends (`--rm`): its exit code is then in the events only.
        labels: of the container and its image.
        mounts: folders of the host.
    """

    id: str
    name: str
    image: str
    status: str
    started: float | None
    ended: float | None
    exit_code: int | None
    oom_killed: bool
    memory: int
    init: bool
    removes_itself: bool
    labels: Mapping[str, str]
    mounts: tuple[Mount, ...]

    @property
    def running(self) -> bool:
        """Whether its processes exist, paused or not."""
        return self.status in {"running", "paused", "restarting"}

    @classmethod
    def told(cls, answer: Mapping[str, Any]) -> Self:
        """A container of the engine's answer; what is not told is None, empty, 0 or False."""
        state, host, config = (_part(answer, key) for key in ("State", "HostConfig", "Config"))
        status = str(state.get("Status") or "")
        over = status in {"exited", "dead", "removing"}
        code = state.get("ExitCode")
        mounts = answer.get("Mounts")
        return cls(
            id=str(answer.get("Id") or ""),
            name=str(answer.get("Name") or "").removeprefix("/"),
            image=str(config.get("Image") or answer.get("Image") or ""),
            status=status,
            started=_instant(state.get("StartedAt")),
            ended=_instant(state.get("FinishedAt")) if over else None,
            exit_code=code if over and isinstance(code, int) else None,
            oom_killed=state.get("OOMKilled") is True,
            memory=_whole(host.get("Memory")),
            init=host.get("Init") is True,
            removes_itself=host.get("AutoRemove") is True,
            labels={str(key): str(value) for key, value in _part(config, "Labels").items()},
            mounts=tuple(_mounts(mounts if isinstance(mounts, list) else ())),
        )


class Engine:
    """An open connection to the engine that the `docker` command would use. Use it as a context manager.

    Args:
        client: that speaks the engine's version.
        address: where the engine is.
        deadline: for all questions together.
    """

    def __init__(self, client: Client, address: str, deadline: Deadline) -> None:
        self._client = client
        self._deadline = deadline
        self.address = address

    @classmethod
    def reached(
        cls, *, clock: Clock, seconds: float = SECONDS, environment: Mapping[str, str] | None = None
    ) -> Self:
        """The engine, once it has answered.

        Args:
            clock: tells when time is up.
            seconds: for all questions together, this one too.
            environment: where `DOCKER_HOST` and its kin are read; the process's own when left out.

        Raises:
            EngineUnavailable: none answers, or not to this user, or not in time.
        """
        deadline = Deadline.after(clock, seconds)
        try:
            client, address = connected(os.environ if environment is None else environment, deadline)
        except NoEngine as problem:
            raise _unavailable(problem) from None
        return cls(client, address, deadline)

    @property
    def clock(self) -> Clock:
        """What tells when time is up."""
        return self._deadline.clock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def machine(self) -> Machine:
        """Where containers run.

        Raises:
            EngineUnavailable: the engine does not answer.
        """
        with self.asking() as client:
            return Machine.told(client.info())

    def containers(self, *, ended: bool = False) -> tuple[Container, ...]:
        """Containers that run; also those that have ended and are still there, if asked for.

        Raises:
            EngineUnavailable: the engine does not answer.
        """
        from docker.errors import NotFound

        found = []
        with self.asking() as client:
            for one in client.containers(all=ended, quiet=True):
                client.timeout = left(self._deadline)
                with contextlib.suppress(NotFound):  # it ended and removed itself in between
                    found.append(Container.told(client.inspect_container(one["Id"])))
        return tuple(sorted(found, key=lambda one: (one.name, one.id)))

    def gateway(self, network: str = "bridge") -> str | None:
        """The host's own address on a network of containers; None if there is no such network, or it has none.

        Raises:
            EngineUnavailable: the engine does not answer.
        """
        from docker.errors import NotFound

        with self.asking() as client:
            try:
                addresses = _part(client.inspect_network(network), "IPAM").get("Config")
            except NotFound:
                return None
        return gateway_of(addresses)

    def stop(self, container: str, *, grace: int = 10) -> None:
        """End a container; one that has ended, or has removed itself meanwhile, is as good. It stays where it does not.

        Args:
            container: its id.
            grace: whole seconds between asking its first process to end and killing it.

        Raises:
            EngineUnavailable: the engine refuses, or does not answer in time.
        """
        from docker.errors import NotFound

        with self.asking() as client, contextlib.suppress(NotFound):
            client.timeout = left(self._deadline) + grace
            client.stop(container, timeout=grace)

    def run_once(
        self,
        image: str,
        command: Sequence[str],
        *,
        deadline: Deadline,
        network: str,
        hosts: Mapping[str, str],
    ) -> tuple[int, str]:
        """Run a command in a new container until it ends, and remove the container.

        Args:
            image: a local image; none is downloaded.
            command: in place of the image's own.
            deadline: when the container is killed.
            network: of the container.
            hosts: addresses by name.

        Returns:
            The exit code, and the end of what was printed.

        Raises:
            EngineUnavailable: the engine does not start it, or time is over.
        """
        with self.asking() as client:
            settings = client.create_host_config(network_mode=network, extra_hosts=dict(hosts))
            made = client.create_container(
                image,
                command=list(command[1:]),
                entrypoint=[command[0]],
                host_config=settings,
                labels={OURS: "once"},  # should this process die, whoever finds it knows whose it was
            )["Id"]
            try:
                client.start(made)
                client.timeout = left(deadline)
                code = client.wait(made)["StatusCode"]
                said = client.logs(made, tail=20)[-_SAID:]
            finally:
                client.timeout = 10.0  # time may be over, and a container that was started has to go
                client.remove_container(made, force=True)
        return int(code), said.decode("utf-8", "replace").strip()

    @contextlib.contextmanager
    def asking(self) -> Iterator[Client]:
        """The client, for one question; what goes wrong becomes one kind of error.

        Raises:
            EngineUnavailable: the engine refuses, or does not answer in time.
        """
        from docker.errors import APIError, DockerException

        try:
            self._client.timeout = left(self._deadline)
            yield self._client
        except APIError as problem:
            raise EngineUnavailable(
                f"the engine at {printable(self.address)} refuses: {printable(problem.explanation or problem)}",
                not_done=_NOT_DONE,
                next_step="docker ps says whether this user may ask it",
            ) from None
        except (DockerException, OSError) as problem:  # the HTTP library's errors are OSErrors
            raise _unavailable(no_engine(problem, self.address, self._deadline)) from None


def _unavailable(problem: NoEngine) -> EngineUnavailable:
    return EngineUnavailable(problem.what, not_done=_NOT_DONE, next_step=problem.next_step)


# ------------------------------------------------------------------ answers


def _mounts(told: Sequence[Any]) -> Iterator[Mount]:
    for one in told:
        if isinstance(one, dict) and one.get("Source"):
            yield Mount(str(one["Source"]), str(one.get("Destination") or ""), one.get("RW") is True)


def _part(answer: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = answer.get(key)
    return part if isinstance(part, dict) else {}


def _whole(told: object) -> int:
    return told if isinstance(told, int) and not isinstance(told, bool) else 0


def _instant(told: object) -> float | None:
    try:
        at = parse_iso(to_microseconds(str(told)))
    except (ValueError, OverflowError):
        return None
    return at if at > _NO_DATE else None


def gateway_of(addresses: object) -> str | None:
    """The host's own address among a network's `IPAM.Config`; None if nothing tells it.

    Some engines name none for the default bridge: then it is the first address of the subnet, as they give it to the host
    unless they are told otherwise, which they would name.
    """
    told = [one for one in addresses if isinstance(one, dict)] if isinstance(addresses, list) else []
    for one in told:
        if one.get("Gateway"):
            return str(one["Gateway"]).partition("/")[0]
    for one in told:
        with contextlib.suppress(ValueError, StopIteration):
            return str(next(ipaddress.ip_network(str(one.get("Subnet")), strict=False).hosts()))
    return None
