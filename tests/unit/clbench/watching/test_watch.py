"""What is an alarm in a running campaign, and what is none."""

from dataclasses import replace

import pytest

from pytest_evalharness.clbench.campaign.watch import AlarmKind, Limits, watch
from pytest_evalharness.clbench.domains import COHORT, DATABASE, POKER, SALES, SPECTRUM

KINDS = AlarmKind


@pytest.fixture
def looks(campaign):
    """Looks at the campaign, each knowing the one before."""

    class Looks:
        reader, watched = campaign.reader(), None

        def __call__(self, limits=None, **more):
            self.watched = watch(self.reader.read(), self.watched, limits, **more)
            return [(one.kind, one.run_index, one.pause) for one in self.watched.alarms]

        @property
        def texts(self):
            return [one.text for one in self.watched.alarms]

    return Looks()


def test_a_campaign_that_goes_on_has_no_alarm(campaign, made, looks):
    campaign.task(SALES)
    for done in range(5):
        campaign.write(SALES, 0, [made.outcome(k) for k in range(done)], open_turns=[made.turn(done)] * 20)
        assert looks() == []
        campaign.clock.forward(2000.0)


def test_turns_without_an_outcome_are_a_livelock_at_the_first_look(campaign, made, looks):
    campaign.task(DATABASE)
    campaign.write(DATABASE, 0, [made.outcome(0)], open_turns=[made.turn(1)] * 149)
    assert looks() == []
    campaign.write(DATABASE, 0, [made.outcome(0)], open_turns=[made.turn(1)] * 150)
    assert looks() == [(KINDS.LIVELOCK, 0, True)]
    assert looks.texts == ["db, rollout 0: 150 turns on i1 and no outcome"]
    assert looks.watched.alarms[0].instances == ("i1",)
    campaign.write(DATABASE, 0, [made.outcome(0), made.outcome(1)], open_turns=[made.turn(1)] * 150)
    assert looks() == [], "once the outcome is there it was none"


def test_an_instance_that_the_adapter_answers_for_a_dead_engine_is_a_livelock_where_it_does_not_end(
    campaign, made, looks
):
    campaign.task(POKER)
    dead = made.turn(1, latency_timeout=True, forfeit_reason="engine_unresponsive")
    campaign.write(POKER, 0, [made.outcome(0)], open_turns=[made.turn(1), dead])
    assert looks() == [], "one may be a blip"
    campaign.write(POKER, 0, [made.outcome(0)], open_turns=[made.turn(1), dead, dead])
    assert looks() == [(KINDS.LIVELOCK, 0, True)]


def test_slow_turns_without_an_outcome_are_a_livelock_after_a_while(campaign, made, looks):
    campaign.task(COHORT)
    for turns in range(0, 14, 2):
        campaign.write(COHORT, 0, [made.outcome(0)], open_turns=[made.turn(1)] * turns)
        assert looks() == ([] if turns < 10 else [(KINDS.LIVELOCK, 0, True)]), turns
        campaign.clock.forward(1100.0)


def test_silence_is_a_stall_and_pauses_nothing(campaign, made, looks):
    campaign.task(SALES)
    campaign.write(SALES, 0, [made.outcome(0)])
    looks()
    campaign.clock.forward(2600.0)
    assert looks() == []
    campaign.clock.forward(200.0)
    assert looks() == [(KINDS.STALL, 0, False)]
    assert looks(paused={SALES}) == [], "a paused domain is silent on purpose"
    campaign.write(SALES, 0, [made.outcome(0), made.outcome(1)])
    assert looks() == []


def test_the_first_look_tells_silence_from_the_files_age(campaign, made, looks):
    campaign.task(SALES)
    campaign.write(SALES, 0, [made.outcome(0)])
    campaign.clock.forward(3000.0)
    assert looks() == [(KINDS.STALL, 0, False)]


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_a_wall_clock_that_jumps_is_no_stall_and_hides_none(campaign, made, looks, jump):
    campaign.task(SALES)
    campaign.write(SALES, 0, [made.outcome(0)])
    assert looks() == []
    campaign.clock.wall += jump
    assert looks() == []
    campaign.clock.forward(2800.0)
    assert looks() == [(KINDS.STALL, 0, False)]


def test_a_pass_that_begins_between_two_looks_is_no_older_than_these(campaign, made, looks):
    campaign.task(SALES)
    assert looks() == []
    campaign.write(SALES, 0, [made.outcome(0)])
    campaign.clock.wall += 86_400.0
    campaign.clock.forward(10.0)
    assert looks() == []
    campaign.clock.forward(2_695.0)
    assert looks() == [(KINDS.STALL, 0, False)]


def test_a_baseline_may_wait_for_the_workers_of_rollouts_but_not_for_nobody(campaign, made, looks):
    campaign.task(SALES, rollouts=1)
    campaign.write(SALES, None, [made.outcome(0)], execution={"instances_total": 4})
    for done in range(1, 5):
        campaign.write(
            SALES, 0, [made.outcome(k) for k in range(done)], status="running" if done < 4 else "completed"
        )
        assert looks() == []
        campaign.clock.forward(2600.0)
    campaign.clock.forward(200.0)
    assert looks() == [(KINDS.STALL, None, False)]
    assert "only once an instance is through" in looks.texts[0]


def test_a_task_that_began_and_never_wrote_is_a_stall(campaign, looks):
    campaign.task(SALES, head=False)
    looks()
    campaign.clock.forward(2800.0)
    assert looks() == [(KINDS.STALL, None, False)]


def poisoned(made, task, reward, cost=0.0, count=3):
    return [made.outcome(0)] + [made.outcome(k, reward, cost) for k in range(1, count + 1)]


@pytest.mark.parametrize(
    ("task", "reward"),
    [
        (DATABASE, 0.0),
        (SPECTRUM, 0.0),
        (SPECTRUM, 0.1964),
        (POKER, -0.5),
        (POKER, 0.0),
        (SALES, None),
        (SALES, -0.2),
    ],
)
def test_what_an_empty_answer_earns_at_no_cost_three_times_in_a_row_is_poison(
    campaign, made, looks, task, reward
):
    campaign.task(task, expected=12)
    campaign.write(task, 0, poisoned(made, task, reward))
    assert looks() == [(KINDS.POISONED, 0, True)]
    assert looks.watched.alarms[0].instances == ("i1", "i2", "i3")


def test_what_is_no_poison(campaign, made, looks):
    sound = {
        "two in a row": poisoned(made, POKER, -0.5, count=2),
        "hands that ended before the system's turn": poisoned(made, POKER, 1.5),
        "paid": poisoned(made, POKER, -0.5, cost=0.01),
        "nobody told the cost": poisoned(made, POKER, -0.5, cost=None),
    }
    for outcomes in sound.values():
        campaign.task(POKER, expected=12)
        campaign.write(POKER, 0, outcomes)
        assert looks() == []
    campaign.write(POKER, 0, poisoned(made, POKER, -0.5), usage={"unpriced_call_count": 3})
    assert looks() == [], "prices are missing"
    campaign.write(POKER, 0, [made.outcome(k, -0.5, 0.0) for k in range(5)])
    assert looks() == [], "nothing here costs anything"
    for known in (Limits(priced=True), Limits(budget=200.0)):
        assert looks(known) == [(KINDS.POISONED, 0, True)], (
            "unless it is known that it does: the key never worked"
        )


def test_forfeits_are_poison_whatever_they_cost_and_a_streak_that_ended_pauses_nothing(campaign, made, looks):
    campaign.task(SPECTRUM, expected=12)
    given_up = [made.outcome(k, 0.3, metadata={"latency_timeout": True}) for k in range(1, 4)]
    campaign.write(SPECTRUM, 0, [made.outcome(0), *given_up])
    assert looks() == [(KINDS.POISONED, 0, True)]
    assert "3 instances in a row: 3 were not answered by the system" in looks.texts[0]
    mixed = [made.outcome(0), made.outcome(5, 0.0, 0.0), made.outcome(6, 0.0, 0.0), given_up[0]]
    campaign.write(SPECTRUM, 1, mixed)
    looks()
    told = "2 earned no more than an empty answer at no cost and 1 was not answered by the system"
    assert told in looks.texts[1]
    (campaign.live(SPECTRUM) / "run_2.json").unlink()
    campaign.write(SPECTRUM, 1, [], start="later")
    campaign.write(SPECTRUM, 0, [made.outcome(0), *given_up, made.outcome(4)])
    assert looks() == [(KINDS.POISONED, 0, False)]
    assert "in every later answer" in looks.texts[0]


def test_a_pass_that_is_through_and_earned_nothing_at_a_price_is_told(campaign, made, looks):
    campaign.task(DATABASE, expected=4)
    campaign.write(DATABASE, 0, [made.outcome(k, 0.0, 0.3) for k in range(4)], status="completed")
    assert looks() == [(KINDS.POISONED, 0, False)]
    assert looks.texts == ["db, rollout 0: all 4 instances earned what an empty answer earns"]


def test_one_turn_each_of_a_task_that_takes_several_is_told_where_none_succeeded(campaign, made, looks):
    campaign.task(SALES, expected=4)
    outcomes = [made.outcome(k, -0.2, 0.3) for k in range(4)]
    turns = [made.turn(k) for k in range(4)]
    campaign.write(
        SALES, 0, outcomes, interactions=turns, execution={"total_interactions": 4}, status="completed"
    )
    assert looks() == [(KINDS.POISONED, 0, False)]
    assert "one turn on every instance" in looks.texts[0]
    outcomes[3] = made.outcome(3, -0.2, 0.3, success=True)
    campaign.write(
        SALES, 0, outcomes, interactions=turns, execution={"total_interactions": 4}, status="completed"
    )
    assert looks() == []


def test_a_budget_that_does_not_last_is_told_before_it_cuts(campaign, made, looks):
    campaign.task(POKER, expected=100)
    campaign.write(POKER, 0, [made.outcome(k) for k in range(5)], cost=5.0)
    assert looks(Limits(budget=101.0)) == []
    assert looks(Limits(budget=60.0)) == [(KINDS.TRUNCATION, 0, False)]
    assert (
        "$100.00, above the budget of $60.00 a rollout: it would be cut at about instance 60"
        in looks.texts[0]
    )
    campaign.write(POKER, 0, [made.outcome(k) for k in range(55)], cost=55.0)
    assert looks(Limits(budget=60.0)) == [(KINDS.TRUNCATION, 0, True)]
    campaign.write(POKER, None, [made.outcome(0)], cost=55.0, execution={"instances_total": 100})
    assert [one for one in looks(Limits(budget=60.0)) if one[1] is None] == [], (
        "a baseline has a budget an instance"
    )


def test_alarms_end_with_their_task_but_poison_stays(campaign, made, looks):
    campaign.task(POKER, expected=12)
    campaign.write(POKER, 0, poisoned(made, POKER, -0.5), open_turns=[made.turn(9)] * 200)
    assert {kind for kind, *_ in looks(Limits(budget=0.01))} == {
        KINDS.LIVELOCK,
        KINDS.POISONED,
        KINDS.TRUNCATION,
    }
    campaign.task(POKER, status="failed", expected=12)
    assert looks(Limits(budget=0.01)) == [(KINDS.POISONED, 0, False)]


def test_a_pass_that_was_begun_anew_is_watched_anew(campaign, made, looks):
    campaign.task(SALES)
    campaign.write(SALES, 0, [made.outcome(0)])
    looks()
    campaign.clock.forward(2600.0)
    campaign.write(SALES, 0, [made.outcome(0)], start="12:00")
    looks()
    campaign.clock.forward(200.0)
    assert looks() == []


def test_a_look_changes_neither_the_one_before_nor_its_snapshot(campaign, made):
    campaign.task(SALES)
    campaign.write(SALES, 0, [made.outcome(0)])
    snapshot = campaign.reader().read()
    first = watch(snapshot)
    seen = dict(first.seen)
    later = replace(snapshot, taken=snapshot.taken + 3000.0)
    assert watch(later, first) == watch(later, first)
    assert first.seen == seen


def test_hostile_names_reach_no_text(campaign, made, looks):
    evil = "i\x1b[2J\n::error::x"
    campaign.task(SALES)
    campaign.write(SALES, 0, [], open_turns=[{"query": {"instance_id": evil}}] * 150)
    looks()
    assert not any(sign in looks.texts[0] for sign in "\x1b\n")
