"""Runs that are made for cases: nothing is begun where nobody is left to see its end."""

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.case_campaigns import Making, campaign_made, smoke_made
from pytest_evalharness.clbench.case_plan import RunPlan
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner


@pytest.mark.parametrize("make", [campaign_made, smoke_made])
def test_a_worker_whose_session_is_gone_begins_nothing_in_the_place_of_the_one_that_it_waited_for(
    tmp_path, make
):
    clock, said = SystemClock(), []
    ledger = Ledger.open(tmp_path / "home", clock=clock, owner=Owner.current("run", "gw1"))
    how = Making(
        home=tmp_path / "home",
        base=tmp_path,
        session="run",
        ledger=lambda: ledger,
        clock=clock,
        say=said.append,
        note=said.append,
        abandoned=lambda: True,
    )
    plan = RunPlan("seed", checkout="embedded", system="notebook", name="mine")
    with pytest.raises(KeyboardInterrupt, match="the session is gone"):
        make(plan, how)
    assert (said, ledger.campaigns.find("mine")) == ([], None)
    assert not (tmp_path / "home" / "clbench").exists()
    ledger.close()
