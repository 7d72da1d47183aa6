"""How long a campaign takes, what it will have cost, and what to end first."""

import pytest

from pytest_evalharness.clbench.campaign.forecast import forecast, least_complete_first
from pytest_evalharness.clbench.domains import DATABASE, POKER, SALES


def test_a_pass_goes_on_as_it_went(campaign, made):
    campaign.task(SALES, rollouts=1, baseline=False, expected=10)
    campaign.write(SALES, 0, [made.outcome(k) for k in range(4)], cost=2.0, seconds=240.0)
    told = forecast(campaign.reader().read())
    (task,) = told.tasks
    assert (task.per_hour, task.per_instance, task.cost) == (60.0, 0.5, 2.0)
    assert (task.seconds_left, task.projected) == (360.0, 5.0)
    assert (told.done, told.expected, told.seconds_left, told.dollars_left, told.untimed) == (
        4,
        10,
        360.0,
        3.0,
        (),
    )


def test_what_a_silent_pass_waits_for_takes_time_too(campaign, made):
    campaign.task(SALES, rollouts=1, baseline=False, expected=10)
    campaign.write(SALES, 0, [made.outcome(k) for k in range(4)], seconds=240.0)
    campaign.clock.forward(240.0)
    assert forecast(campaign.reader().read()).tasks[0].per_hour == 30.0
    campaign.clock.wall -= 86_400.0
    assert forecast(campaign.reader().read()).tasks[0].per_hour == 60.0, (
        "a clock that was set back tells no silence"
    )


def test_passes_that_have_not_begun_take_what_their_kin_take_on_as_many_workers_as_run(campaign, made):
    campaign.task(SALES, rollouts=4, expected=10)
    for k in range(2):
        campaign.write(SALES, k, [made.outcome(k) for k in range(5)], cost=1.0, seconds=500.0)
    campaign.write(SALES, None, [], seconds=0.0)
    told = forecast(campaign.reader().read()).tasks[0]
    rollouts = {one.live.run_index: (one.seconds_left, one.projected) for one in told.passes}
    assert rollouts[0] == rollouts[1] == (500.0, 2.0)
    assert rollouts[2] == rollouts[3] == (1000.0, 2.0)
    assert rollouts[None] == (None, 2.0), "an instance of a baseline costs about what one of a rollout does"
    assert told.seconds_left is None, "but nobody knows how long it takes"
    campaign.write(
        SALES,
        None,
        [made.outcome(k) for k in range(5)],
        cost=0.5,
        seconds=250.0,
        execution={"instances_total": 10},
    )
    told = forecast(campaign.reader().read()).tasks[0]
    assert told.seconds_left == pytest.approx((500 + 500 + 1000 + 1000 + 250) / 3)
    assert told.projected == pytest.approx(4 * 2.0 + 1.0)


def test_what_nothing_tells_is_named_and_not_made_up(campaign, made):
    campaign.task(SALES, rollouts=1, baseline=False)
    campaign.write(SALES, 0, [made.outcome(k) for k in range(4)], cost=1.0, status="completed")
    campaign.task(POKER, status="pending")
    told = forecast(campaign.reader().read())
    assert (told.untimed, told.unpriced, told.projected, told.dollars_left) == ((POKER,), (POKER,), 1.0, 0.0)
    priced = forecast(campaign.reader().read(), {POKER: 120.0})
    assert priced.tasks[1].projected == pytest.approx(3 * 120.0), (
        "two rollouts, and a baseline at their price"
    )
    assert (priced.untimed, priced.unpriced) == ((POKER,), ()), "its time is still unknown"


def test_a_campaign_that_is_over_has_nothing_left(campaign, made):
    campaign.task(SALES, rollouts=1, baseline=False, status="failed")
    campaign.write(SALES, 0, [made.outcome(0)], cost=1.0)
    told = forecast(campaign.reader().read())
    assert (told.seconds_left, told.dollars_left, told.projected, told.untimed) == (0.0, 0.0, 1.0, ())


def test_the_least_complete_rollouts_are_ended_first(campaign, made):
    campaign.task(SALES, rollouts=3, expected=10)
    campaign.task(DATABASE, rollouts=1, expected=10)
    campaign.write(SALES, 0, [made.outcome(k) for k in range(9)], cost=9.0)
    campaign.write(SALES, 1, [made.outcome(k) for k in range(2)], cost=2.0)
    campaign.write(SALES, None, [made.outcome(0)], execution={"instances_total": 10})
    campaign.write(DATABASE, 0, [made.outcome(k) for k in range(2)], cost=10.0)
    found = least_complete_first(campaign.reader().read())
    assert [(one.live.key, one.completion, one.spent) for one in found] == [
        ((SALES, 2), 0.0, 0.0),
        ((DATABASE, 0), 0.2, 10.0),
        ((SALES, 1), 0.2, 2.0),
        ((SALES, 0), 0.9, 9.0),
    ]
    assert [one.saves for one in found] == pytest.approx([10.0, 40.0, 8.0, 1.0])
    campaign.write(SALES, 0, [made.outcome(k) for k in range(10)], status="completed")
    assert (SALES, 0) not in [one.live.key for one in least_complete_first(campaign.reader().read())]
