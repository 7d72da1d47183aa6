"""Starts an engine: a process beside the adapter, and a container under its name where one is asked for."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from typing import Any

from pytest_evalharness.clbench.miniature.systems.ouroboros.parameters import IMAGE
from pytest_evalharness.clbench.miniature.systems.ouroboros.runroot import KEY, Runroot

MERCY = "CLBENCH_MINIATURE_MERCY"
_DEFAULT_MERCY = "60"
_MODULE = "pytest_evalharness.clbench.miniature.systems.ouroboros.engine"
_GRACE = 5.0
_CONTAINER_SECONDS = 900
"""A container that nobody ends ends by itself, as upstream's does not."""


class EngineProcess:
    """A running engine.

    It has a session of its own: what ends the benchmark's process group leaves it running, as it would a container.

    Args:
        root: its folder.
        params: of the adapter.
        told: what it has to know at its start.

    Raises:
        RuntimeError: a container was asked for and cannot be had.
    """

    def __init__(self, root: Runroot, params: dict[str, Any], told: dict[str, Any]) -> None:
        self.root = root
        self.name = f"clbench-obo-{os.getpid()}-{_free_port()}"
        self.container = _started(self.name, root, params) if wants_container(params) else None
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                _MODULE,
                self.name,
                os.environ.get(MERCY) or _DEFAULT_MERCY,
                str(root.path),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(root.data / "logs" / "server.err").open("ab"),
            text=True,
            start_new_session=True,
        )
        self.health = self.ask(told)

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message and wait for the answer.

        Raises:
            ConnectionError: the engine is gone.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise ConnectionError(f"the engine {self.name} is gone") from None
        line = self.process.stdout.readline()
        if not line:
            raise ConnectionError(f"the engine {self.name} is gone")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """End it, and its container."""
        if self.process.stdin is not None and self.process.poll() is None:
            with contextlib.suppress(OSError):
                self.process.stdin.write('{"command": "stop"}\n')
                self.process.stdin.close()
            try:
                self.process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.container is not None:
            docker = shutil.which("docker") or "docker"
            subprocess.run([docker, "rm", "-f", self.container], capture_output=True, check=False)


def wants_container(params: dict[str, Any]) -> bool:
    """Whether a real container is asked for: by `docker` and an image of the user's own.

    The runbook's recipe has `docker`, and the adapter's own image exists nowhere: with it the process alone is the engine.
    """
    return bool(params.get("docker")) and params.get("docker_image", IMAGE) != IMAGE


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _started(name: str, root: Runroot, params: dict[str, Any]) -> str:
    """A container that stands for the engine: it has its name and its mounts, and does nothing."""
    image, docker = str(params["docker_image"]), shutil.which("docker")
    instead = "the miniature's engine needs no container: leave docker_image out"
    if docker is None:
        raise RuntimeError(f"docker=true, and there is no docker command; {instead}")
    if subprocess.run([docker, "image", "inspect", image], capture_output=True, check=False).returncode:
        raise RuntimeError(f"docker=true, and the image {image} is not there; {instead}")
    words = [docker, "run", "-d", "--rm", "--init", "--user", f"{os.getuid()}:{os.getgid()}", "--name", name]
    # By name only: the key is in the container's environment, as upstream has it, but in nobody's process list.
    words += [
        "-e",
        KEY,
        "-v",
        f"{root.path / 'clone'}:/obo/repo:ro",
        "-v",
        f"{root.data}:/obo/data",
        "--entrypoint",
        "sh",
    ]
    done = subprocess.run(
        [*words, image, "-c", f"sleep {_CONTAINER_SECONDS}"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"docker run of {image} failed: {done.stderr.strip()}")
    return name
