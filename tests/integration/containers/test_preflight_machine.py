"""Where a campaign would run, asked of a real engine."""

import os

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign.checkout import open_checkout
from pytest_evalharness.clbench.campaign.plan import PlanKind, campaign_of
from pytest_evalharness.clbench.campaign.preflight_machine import (
    found_images,
    images_of,
    machine_checks,
    with_images,
)
from pytest_evalharness.clbench.checking import State
from tests.unit.clbench.campaign.small_checkout import lay_down


@pytest.fixture
def checks(engine, tmp_path):
    """The checks of a smoke of the adapter with an image, by name."""
    checkout = open_checkout(str(lay_down(tmp_path / "clb")), tmp_path, environment={"PATH": "/nowhere"})

    def looked(image, **environment):
        mine = campaign_of(
            checkout, "ouroboros", PlanKind.SMOKE, "x", params={"docker_image": image}, inherited={}
        )
        # The engine that the tests ask, wherever it is.
        where = {name: os.environ[name] for name in ("DOCKER_HOST",) if name in os.environ}
        variables = {"OUROBOROS_BENCH_RUNS_ROOT": str(tmp_path), **where, **environment}
        found = found_images(images_of(mine, {}), SystemClock(), variables)
        mine = with_images(mine, found)
        told = machine_checks(mine, {}, found, clock=SystemClock(), environment=variables)
        return mine, {one.name: one for one in told}

    return looked


@pytest.mark.usefixtures("alone")  # engines that run already are counted
def test_an_image_that_is_here(checks, asked, engine, box):
    gateway = asked.gateway()  # an engine without a bridge has none
    mine, told = checks(box, **({"CLBENCH_SHIM_BIND": gateway} if gateway else {}))
    assert list(told) == ["containers", "memory", "images", "bridge", "disk"]
    bridge = told.pop("bridge")
    assert bridge.state is (State.OK if gateway else State.FAILED), bridge
    assert {one.state for one in told.values()} == {State.OK}, told
    assert mine.identity()["images"] == {box: engine.images.get(box).id}
    assert "at most 1 engines at once" in told["memory"].seen


def test_an_image_that_is_not_here_is_told_before_a_rollout_pulls_it(checks):
    mine, told = checks("evalharness-no-such:v1")
    assert (told["images"].state, told["bridge"].state) == (State.FAILED, State.FAILED)
    assert "127.0.0.1 is the host's own loopback" in told["bridge"].seen
    assert mine.identity()["images"] == {}


def test_a_listener_on_the_loopback_is_not_reached(checks, box):
    _, told = checks(box)
    assert told["bridge"].state is State.FAILED
    assert "CLBENCH_SHIM_BIND" in told["bridge"].mend
