"""What a run's requests become when the run ends before they do."""

import threading
from types import SimpleNamespace

import pytest

from pytest_evalharness.errors import ArmFailed, OverBudget
from pytest_evalharness.league.work import Work
from pytest_evalharness.ledger.states import BlockState


class Driver:
    """A driver that ends with an error, or goes on for as long as it is given."""

    def __init__(self, error=None):
        self.error = error
        self.given = 0.0

    def join(self, seconds):
        self.given = seconds


@pytest.mark.parametrize(("error", "given"), [(OverBudget("too dear"), 60.0), (ArmFailed("it failed"), 0.0)])
def test_what_is_too_dear_is_given_the_time_to_be_cancelled(error, given):
    """It costs until it is; any other failure ends the run at once, and whoever comes next goes on with the other arm."""
    work = Work.__new__(Work)
    other = Driver()
    work._drivers = {"a": Driver(error), "b": other}
    work._stop, work._on_wait = threading.Event(), lambda: None
    work._clock = SimpleNamespace(monotonic=lambda: 0.0)
    blocks = {
        name: SimpleNamespace(
            block_id=name, state=BlockState.RUNNING, settled=False, failure=None, request_id=None
        )
        for name in ("a", "b")
    }
    work._ledger = SimpleNamespace(block=blocks.get)
    known = []
    work._guard = SimpleNamespace(hear=lambda: known.append(not work._stop.is_set()))
    with pytest.raises(type(error), match=error.what):
        work._raise_failures({"candidate": [blocks["a"]], "baseline": [blocks["b"]]})
    assert work._stop.is_set() is bool(given)
    assert known == [True] * bool(given), "who watches what is too dear must know that it is before it stops"
    assert other.given == given
