"""What a real engine holds, and engines that do not tell it."""

import socket
import time

import docker
import pytest
from docker.errors import APIError

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.containers.reach import Reached, reaches_host
from pytest_evalharness.containers.state import Container, Engine, Machine
from pytest_evalharness.errors import EngineUnavailable
from tests.integration.containers.conftest import PATIENCE, own_name

MIB = 1 << 20


def named(asked, name, **words):
    found = [one for one in asked.containers(**words) if one.name == name]
    assert len(found) == 1
    return found[0]


def test_the_machine(engine, asked):
    told, seen = engine.info(), asked.machine()
    assert (seen.memory, seen.cpus, seen.id, seen.root) == (
        told["MemTotal"],
        told["NCPU"],
        told["ID"],
        told["DockerRootDir"],
    )
    assert seen.cgroup in {1, 2}
    assert seen.desktop == ("Docker Desktop" in told["OperatingSystem"])


def test_a_machine_that_tells_nothing_is_not_guessed():
    assert Machine.told({"MemTotal": "much", "CgroupVersion": "x", "SecurityOptions": None}) == Machine(
        0, 0, "", "", "", 0, "", rootless=False, limits_memory=False
    )
    rootless = Machine.told({"SecurityOptions": ["name=seccomp", "name=rootless"], "CgroupVersion": "2"})
    assert (rootless.rootless, rootless.cgroup) == (True, 2)


def test_a_running_container_with_its_mounts_and_without_its_secrets(asked, start, tmp_path):
    made = start(
        "sleep", "600",
        environment={"OPENROUTER_API_KEY": "sk-or-v1-not-to-be-seen"},
        volumes={str(tmp_path): {"bind": "/obo/data", "mode": "ro"}}, labels={"a": "b"},
        mem_limit="64m", init=True, auto_remove=True,
    )  # fmt: skip
    seen = named(asked, made.name)
    assert seen.running
    assert (seen.id, seen.memory, seen.init, seen.removes_itself) == (made.id, 64 * MIB, True, True)
    assert [(one.source, one.target, one.writable) for one in seen.mounts] == [
        (str(tmp_path), "/obo/data", False)
    ]
    assert seen.labels["a"] == "b"
    assert abs(time.time() - seen.started) < 600
    assert (seen.ended, seen.exit_code, seen.oom_killed) == (None, None, False)
    assert "not-to-be-seen" not in repr(seen)


def test_a_container_that_has_ended_is_seen_where_it_is_asked_for(asked, start):
    made = start("sh", "-c", "exit 3")
    made.wait()
    seen = named(asked, made.name, ended=True)
    assert (seen.running, seen.exit_code, seen.memory, seen.init) == (False, 3, 0, False)
    assert abs(seen.ended - seen.started) < 600  # engines tell the end of a short life before its start
    assert made.name not in {one.name for one in asked.containers()}


def test_a_container_that_tells_nothing_is_not_guessed():
    seen = Container.told(
        {"Id": "x", "Name": "/n", "State": {"Status": "created", "StartedAt": "0001-01-01T00:00:00Z"}}
    )
    assert (seen.name, seen.running, seen.started, seen.exit_code) == ("n", False, None, None)


def test_a_network_that_does_not_exist_has_no_gateway(asked):
    assert asked.gateway("evalharness-no-such-network") is None


# -------------------------------------------------------------------- reach


@pytest.fixture
def network(engine, asked):
    """A bridge of its own, on which the host has an address."""
    if asked.machine().rootless:
        pytest.skip("a rootless engine keeps its bridges in a network that the host has no address in")
    try:
        made = engine.networks.create(own_name())
    except APIError as problem:
        pytest.skip(f"this engine makes no bridge: {problem.explanation}")
    yield made.name
    made.remove()


def test_a_container_reaches_the_bridge_and_never_the_hosts_loopback(engine, asked, box, network):
    def of_the_box():
        return {one.id for one in engine.containers.list(all=True, sparse=True, filters={"ancestor": box})}

    before = of_the_box()  # those of an earlier test may be removing themselves just now
    gateway = asked.gateway(network)
    near = {"network": network, "address": gateway}
    heard = reaches_host(asked, box, bind=gateway, **near)
    assert heard.state is Reached.YES, heard
    assert f"reached {gateway}:" in heard.words
    deaf = reaches_host(asked, box, bind="127.0.0.1", **near)
    assert deaf.state is Reached.NO
    assert "did not reach 127.0.0.1:" in deaf.words
    assert of_the_box() <= before


def test_what_cannot_be_tried_proves_nothing(asked, image):
    here = {"bind": "127.0.0.1", "network": "none"}
    missing = reaches_host(asked, "evalharness-no-such:v9", **here)
    assert missing.state is Reached.UNKNOWN
    assert "evalharness-no-such:v9" in missing.words
    shellless = reaches_host(asked, image(), **here)
    assert shellless.state is Reached.UNKNOWN
    assert "/bin/sh" in shellless.words
    assert shellless.next_step


def test_an_address_that_is_not_this_hosts_is_told_before_anything_starts(asked):
    nowhere = reaches_host(asked, "evalharness-no-such:v9", bind="203.0.113.7")
    assert nowhere.state is Reached.NO
    assert nowhere.words.startswith("nothing can listen at 203.0.113.7 of this host: ")


# ------------------------------------------------------------------ engines


def test_no_engine(tmp_path):
    with pytest.raises(EngineUnavailable, match="no container engine answers") as raised:
        Engine.reached(clock=SystemClock(), environment={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert raised.value.not_done == "containers were not read"
    assert "DOCKER_HOST" in raised.value.next_step


def test_an_engine_that_is_silent(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{tmp_path}/s")
        listener.listen()
        with pytest.raises(EngineUnavailable, match=r"did not answer within 0\.2 s"):
            Engine.reached(
                clock=SystemClock(), seconds=0.2, environment={"DOCKER_HOST": f"unix://{tmp_path}/s"}
            )


class LateClock(SystemClock):
    late = 0.0

    def monotonic(self):
        return super().monotonic() + self.late


def test_time_is_up_for_all_questions_together(engine):
    clock = LateClock()
    with Engine.reached(clock=clock) as reached:
        clock.late = PATIENCE
        with pytest.raises(EngineUnavailable, match=f"did not answer within {PATIENCE:g} s"):
            reached.machine()


def test_what_the_engine_refuses(asked):
    def refuse():
        raise docker.errors.APIError("no", explanation="you may\x1b[31m not")

    with pytest.raises(EngineUnavailable, match="refuses: you may") as raised, asked.asking():
        refuse()
    assert "\x1b" not in str(raised.value)
