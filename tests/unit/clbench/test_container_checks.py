"""Images that are here or not, and a bridge that carries or not."""

import pytest

from pytest_evalharness.clbench.campaign.container_checks import bridge_check, image_check
from pytest_evalharness.clbench.checking import State
from pytest_evalharness.containers.images import LocalImage
from pytest_evalharness.containers.reach import Reach, Reached
from pytest_evalharness.errors import ImageUnavailable

HERE = LocalImage("a:1", "sha256:" + "ab" * 32, "sha256:c", None, None, dirty=False, repo_digests=())
YES = Reach(Reached.YES, "a container of a:1 reached 172.17.0.1:4000")
NO = Reach(Reached.NO, "a container of a:1 did not reach 127.0.0.1:4000")
UNTRIED = Reach(
    Reached.UNKNOWN, "the image a:1 has no Python, nc or bash", "try it with the engine's own image"
)
BRIDGE = {"bind": "172.17.0.1", "gateway": "172.17.0.1", "desktop": False}


def missing(name, step="docker image ls"):
    return ImageUnavailable(f"there is no local image {name}", next_step=step)


def test_images_that_are_all_here():
    check = image_check({"a:1": HERE})
    assert (check.state, check.seen) == (State.OK, "a:1 is sha256:abababababab")
    assert image_check({}).seen == "no image is needed"


def test_images_that_are_not_here_are_all_told():
    check = image_check({"a:1": HERE, "b:2": missing("b:2"), "c:3": missing("c:3", "docker pull c:3")})
    assert check.state is State.FAILED
    assert check.seen == "there is no local image b:2; there is no local image c:3"
    assert check.mend == "docker image ls; docker pull c:3"


def test_no_engine_is_told_once():
    problem = missing("b:2")
    assert image_check({"a:1": problem, "b:2": problem}).seen == "there is no local image b:2"


@pytest.mark.parametrize(
    ("reach", "words", "state", "mend"),
    [
        (YES, {}, State.OK, ""),
        (NO, {"bind": "127.0.0.1"}, State.FAILED, "export CLBENCH_SHIM_BIND=172.17.0.1"),
        (NO, {"gateway": None}, State.FAILED, "set CLBENCH_SHIM_BIND to the host's address on the containers' bridge"),
        # What could not be tried is known all the same on Linux: no container reaches the host's loopback.
        (UNTRIED, {"bind": "127.0.0.1"}, State.FAILED, "export CLBENCH_SHIM_BIND=172.17.0.1"),
        (UNTRIED, {"bind": "localhost"}, State.FAILED, "export CLBENCH_SHIM_BIND=172.17.0.1"),
        (UNTRIED, {"bind": "127.0.0.1", "desktop": True}, State.UNKNOWN, "try it with the engine's own image"),
        (UNTRIED, {}, State.UNKNOWN, "try it with the engine's own image"),
        (YES, {"bind": "127.0.0.1", "desktop": True}, State.OK, ""),
    ],
)  # fmt: skip
def test_the_bridge(reach, words, state, mend):
    check = bridge_check(reach, **{**BRIDGE, **words})
    assert (check.name, check.state, check.mend) == ("bridge", state, mend)


def test_a_shim_that_listens_everywhere_is_told():
    assert bridge_check(YES, **{**BRIDGE, "bind": "0.0.0.0"}).seen.endswith(
        "which everybody in the network reaches too"
    )
    assert "everybody" not in bridge_check(YES, **BRIDGE).seen
