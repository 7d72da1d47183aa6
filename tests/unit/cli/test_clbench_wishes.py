"""`evalharness clbench pause`, `continue` and `end`: what is said when the supervisor answers, ends before it does, or is dead."""

import os
import threading
import time
from contextlib import contextmanager

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.cli import main
from pytest_evalharness.ledger.campaigns import ASKED
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.states import CampaignState

TASK = "mini_band_scan"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@contextmanager
def supervised(home):
    """A campaign under this process's supervision."""
    with Ledger.open(home, clock=SystemClock(), owner=Owner.current("test")) as ledger:
        ledger.campaigns.begin("mine", {"tasks": [TASK]}, {})
        with ledger.campaigns.claim("mine") as lease:
            lease.start(["clbench"])
            lease.running(os.getpid(), "now")
            yield ledger, lease


def asked(home, answer, wish, *words):
    """The exit code of a wish to a supervisor who does something as soon as it hears it."""
    codes = []
    with supervised(home) as (ledger, lease):
        argv = ["clbench", wish, "mine", *words, "--home", str(home)]
        asking = threading.Thread(target=lambda: codes.append(main(argv)))
        asking.start()
        try:
            while not (heard := [one for one in ledger.campaigns.events("mine") if one.kind == ASKED]):
                assert asking.is_alive()
                time.sleep(0.01)
        finally:
            answer(lease, heard[0] if heard else None)
            asking.join(300)
    assert not asking.is_alive()
    return codes[0]


def answering(*, done):
    return lambda lease, event: lease.note("answered", {"asked": event.id, "done": done})


def ending(lease, event):
    lease.end(CampaignState.FINISHED, 0, "run-all ended with 0")


@pytest.mark.parametrize(
    ("done", "code", "words"), [(True, 0, "pause: done"), (False, 1, "pause: there was nothing to do")]
)
def test_what_a_supervisor_answers_is_told(home, capsys, done, code, words):
    assert asked(home, answering(done=done), "pause", TASK) == code
    assert capsys.readouterr().out == f"mine: {TASK}: {words}\n"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["pause", TASK], 1, f"mine: {TASK}: pause: there was nothing to do"),
        (["continue", TASK], 1, f"mine: {TASK}: continue: there was nothing to do"),
        (["end", TASK], 0, f"mine: {TASK}: end: done"),
        (["end"], 0, "mine: the campaign: end: done"),
    ],
)
def test_a_campaign_that_ends_before_it_answers_has_ended_and_has_paused_nothing(
    home, capsys, words, code, told
):
    assert asked(home, ending, *words) == code
    assert capsys.readouterr().out == f"{told}\n"


def test_a_campaign_whose_supervisor_is_dead_is_said_to_be_lost_and_not_to_run(home, capsys):
    with supervised(home):
        pass
    assert main(["clbench", "pause", "mine", TASK, "--home", str(home)]) == 4
    told = capsys.readouterr().err
    assert "campaign mine does not run: it is lost" in told
    assert f"evalharness clbench status mine --home {home}" in told


def test_an_end_of_what_nobody_supervises_is_no_error(home, capsys):
    with supervised(home) as (_, lease):
        ending(lease, None)
    assert main(["clbench", "end", "mine", "--home", str(home)]) == 0
    assert capsys.readouterr().out == "mine: nobody supervises it, and nothing of it is alive\n"
    assert main(["clbench", "end", "mine", TASK, "--home", str(home)]) == 4
    assert "campaign mine does not run: it is finished" in capsys.readouterr().err


def test_a_name_or_a_domain_that_is_nearly_right_is_suggested(home, capsys):
    with supervised(home):
        assert main(["clbench", "pause", "mine", "mini_band", "--home", str(home)]) == 4
        assert f"has no domain 'mini_band'; did you mean '{TASK}'?" in capsys.readouterr().err
        assert main(["clbench", "end", "mina", "--home", str(home)]) == 4
        assert "did you mean 'mine'?" in capsys.readouterr().err
