"""Engines whose owner is dead are ended, and nobody else's container is touched. The engine and its containers are real."""

import contextlib
import os
import subprocess
import sys
import time

import pytest
from docker.errors import APIError, NotFound

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign.leftover_engines import end_engines, leftover
from pytest_evalharness.clbench.campaign.process_table import process
from pytest_evalharness.containers.state import Container, Mount
from pytest_evalharness.ledger.campaigns import SeenProcess
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from tests.integration.containers.conftest import PATIENCE


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "home", clock=SystemClock(), owner=Owner.current("test")) as opened:
        yield opened


@pytest.fixture
def dead():
    """The pid of a process that has ended."""
    one = subprocess.Popen([sys.executable, "-c", ""])
    one.wait()
    return one.pid


@pytest.fixture
def started(engine, box):
    """Starts a container that would run for minutes, under a name, with a folder of ours."""
    running = []

    def start(name, folder):
        one = engine.containers.run(
            box, ["sleep", "1200"], name=name, detach=True, remove=True, init=True,
            volumes={str(folder): {"bind": "/data", "mode": "rw"}},
        )  # fmt: skip
        running.append(one)
        return one

    yield start
    for one in running:
        with contextlib.suppress(APIError):  # gone, or about to be
            one.remove(force=True)


def runroot(tmp_path, name="obo_dockerclbench_ab12cd34"):
    folder = tmp_path / name / "data"
    folder.mkdir(parents=True)
    return folder


def gone(container):
    """Whether it is removed: that happens some time after its end."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            container.reload()
        except NotFound:
            return True
        time.sleep(0.05)
    return False


def test_an_engine_of_a_dead_process_of_ours_is_ended_alone(ledger, dead, started, tmp_path):
    me = process(os.getpid())
    campaigns = ledger.campaigns
    campaigns.begin("mine", {"docker": True}, {})
    lease = campaigns.claim("mine")
    lease.start(["clbench"])
    host = ledger.owner.host
    lease.saw([SeenProcess(host, dead, "1", "worker"), SeenProcess(host, me.pid, me.started, "worker")])
    own = runroot(tmp_path)
    orphan = started(f"clbench-obo-{dead}-40001", own)
    spared = [
        started(f"clbench-obo-{me.pid}-40002", own),  # its owner lives
        started(f"clbench-obo-{dead + 100_000}-40003", own),  # nobody of ours
        started(f"clbench-obo-{dead}-40004", tmp_path),  # no engine's folder
    ]
    said = []
    assert end_engines(campaigns, "mine", host, SystemClock(), said.append) == [orphan.name]
    assert said == [f"1 engines without an owner were ended: {orphan.name}"]
    assert gone(orphan)
    for one in spared:
        one.reload()
        assert one.status == "running"
    (event,) = campaigns.events("mine")
    assert (event.kind, event.told["container"]) == ("ending engine", orphan.name)


def test_a_campaign_without_containers_asks_no_engine(ledger, monkeypatch):
    ledger.campaigns.begin("mine", {"docker": False}, {})
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    said = []
    assert end_engines(ledger.campaigns, "mine", ledger.owner.host, SystemClock(), said.append) == []
    assert said == []
    ledger.campaigns.begin("other", {"docker": True}, {})
    assert end_engines(ledger.campaigns, "other", ledger.owner.host, SystemClock(), said.append) == []
    assert "docker ps --filter name=clbench-obo- lists what may go on spending" in said[0]


def test_what_is_older_than_the_campaign_is_not_its(tmp_path):
    def container(**more):
        told = {
            "id": "c", "name": "clbench-obo-77-40000", "image": "i", "status": "running", "started": 1_000.0, "ended": None,
            "exit_code": None, "oom_killed": False, "memory": 0, "init": True, "removes_itself": True, "labels": {},
            "mounts": (Mount(str(folder), "/data", writable=True),),
        }  # fmt: skip
        return Container(**{**told, **more})

    folder = runroot(tmp_path)

    def found(one, since=900.0, *, lives=False):
        return leftover([one], {77}, since, lives=lambda _: lives) != []

    assert found(container())
    assert not found(container(), lives=True)
    assert not found(container(), since=2_000.0)
    assert not found(container(started=None))
    assert not found(container(name="minisweagent-77"))
    assert not found(container(mounts=(Mount("/elsewhere/obo_clbench_x/data", "/data", writable=True),)))
