"""Whether the money lasts, with what others spend of the same key."""

import pytest

from pytest_evalharness.clbench.campaign.money import BALANCE, KEY, Bound, Known, Spendable
from pytest_evalharness.clbench.campaign.money_watch import MoneyWatch
from pytest_evalharness.clbench.domains import SALES

UNKNOWN = Bound.unknown(BALANCE, "nobody tells")


def key(left, used):
    return Spendable(Bound(KEY, Known.DOLLARS, left, f"${left:,.2f} left", used), UNKNOWN)


@pytest.fixture
def half_done(campaign, made):
    """Half of a rollout, in an hour, for five dollars: as much is to come."""
    campaign.task(SALES, rollouts=1, baseline=False, expected=10)

    def write(cost=5.0):
        campaign.write(SALES, 0, [made.outcome(k) for k in range(5)], cost=cost, seconds=3600.0)
        return campaign.reader().read()

    return write


def watching(campaign, *answers):
    told = list(answers)
    return MoneyWatch(lambda: told.pop(0), campaign.clock, {}, every=600.0)


def said(watch, snapshot):
    """What is said of an answer, once it is there."""
    at_once = list(watch.look(snapshot))
    watch._asking.join()
    return at_once + list(watch.look(snapshot))


def test_nothing_is_said_while_it_lasts(campaign, half_done):
    assert said(watching(campaign, key(5.0, 0.0)), half_done()) == []


def test_what_does_not_last_is_said_with_what_to_end(campaign, half_done):
    lines = said(watching(campaign, key(4.99, 0.0)), half_done())
    assert lines[0].startswith(
        "money runs short: spendable $4.99 (key limit: $4.99 left; account balance: unknown: "
    )
    assert lines[0].endswith("about $5.00 are still to be spent")
    assert lines[2] == "    sales_prediction, rollout 0: 50% done, $5.00 spent, ending it saves about $5.00"


def test_a_key_that_others_drain_does_not_last_as_long(campaign, half_done):
    """Ten dollars hold the five to come, and not the six that others spend meanwhile, as they did since the first look."""
    watch = watching(campaign, key(12.0, 100.0), key(10.0, 102.0))
    assert said(watch, half_done()) == []
    campaign.clock.forward(1200.0)
    lines = said(watch, half_done())
    assert lines[0].endswith(
        "about $5.00 are still to be spent; others spend $6.00 an hour of the same money"
    )


def test_what_the_campaign_spends_itself_is_nobody_elses(campaign, half_done):
    watch = watching(campaign, key(12.0, 100.0), key(10.0, 102.0))
    assert said(watch, half_done(cost=3.0)) == []
    campaign.clock.forward(1200.0)
    assert said(watch, half_done(cost=5.0)) == []


def test_a_clock_that_was_set_back_tells_nothing_of_others(campaign, half_done):
    watch = watching(campaign, key(12.0, 100.0), key(10.0, 102.0))
    said(watch, half_done())
    campaign.clock.forward(1200.0)
    campaign.clock.wall -= 86_400.0
    assert said(watch, half_done()) == []


def test_nothing_is_said_where_nothing_is_known(campaign, half_done):
    nobody = Spendable(Bound.unknown(KEY, "?"), UNKNOWN)
    assert said(watching(campaign, nobody), half_done()) == []
