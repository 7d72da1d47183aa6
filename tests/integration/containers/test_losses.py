"""A question that was lost to memory, proved by a real engine; and a container that kills its own workers."""

import contextlib
import time
import uuid

import pytest
from docker.errors import NotFound

from pytest_evalharness.clbench.campaign import capacity
from pytest_evalharness.cli import main
from tests.integration.containers.conftest import PATIENCE
from tests.unit.clbench.left import Left

OOM = {"status": "failed", "reason_code": "worker_crash_signal", "crash_signal": 9}


@pytest.fixture
def left(tmp_path):
    return Left(tmp_path)


@pytest.fixture
def engine_container(engine, box, left):
    """A container with the name and the mounts of an engine's; it is gone after the test."""
    made = []

    def run(command, **words):
        name = f"clbench-obo-{10**9 + uuid.uuid4().int % 10**9}-40001"  # no process has such a pid
        data = {str(left.folder / "data"): {"bind": "/obo/data", "mode": "rw"}}
        container = engine.containers.create(box, ["sh", "-c", command], name=name, volumes=data, **words)
        made.append(container)
        container.start()
        assert capacity.family(name) is capacity.Family.ENGINE
        return name

    yield run
    for container in made:
        with contextlib.suppress(NotFound):
            container.remove(force=True)


def said(left, capsys):
    assert main(["clbench", "losses", str(left.runs_root)]) == 1
    return capsys.readouterr().out


def test_an_oom_event_of_the_engines_own_container_is_the_proof(left, engine_container, capsys, asked):
    name = engine_container("tail /dev/zero; sleep 600", mem_limit="24m", memswap_limit="24m", init=True)
    left.task("t1", **OOM)
    deadline = time.monotonic() + PATIENCE
    while f"{name} was out of memory (oom event)" not in (out := said(left, capsys)):
        assert time.monotonic() < deadline, out
        time.sleep(0.05)
    assert "  worker out of memory: 1 lost\n" in out
    assert name in {one.name for one in asked.containers()}


def test_a_container_without_an_init_process(left, engine_container, capsys):
    engine_container("sleep 600")
    left.task("t1", **OOM)
    assert "  worker killed without an init process: 1 lost\n" in said(left, capsys)


def test_containers_that_cannot_be_asked_are_told(left, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    left.task("t1", **OOM)
    out = said(left, capsys)
    assert "without a limit of memory no event proves whose it was" in out
    assert "not read: the container engine's events: no container engine answers" in out
