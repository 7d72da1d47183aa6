"""The rules, played by puppets whose every decision the test makes."""

import pytest

from pytest_evalharness.arena.game import station
from pytest_evalharness.arena.game.actions import (
    BUTTON,
    KILL,
    MOVE,
    NOBODY,
    REPORT,
    STALK,
    TASK,
    VENT,
    WAIT,
)
from pytest_evalharness.arena.game.config import parse_config
from pytest_evalharness.arena.game.ending import Ending
from pytest_evalharness.arena.game.policies import Policy, Skill, Statement
from pytest_evalharness.arena.game.record import Recorder
from pytest_evalharness.arena.game.simulation import Simulation

START = 240
IDLE = (WAIT, 0, 100)
FOUNDRY, RELAY = station.ROOMS.index("foundry"), station.ROOMS.index("relay")


class Puppet(Policy):
    """Does what it is told, one action after the other, then idles."""

    def __init__(self, actions=(), vote=NOBODY, skill=None, speech=None):
        self.skill = skill or Skill(vote_delay=0.0)
        self.actions = list(actions)
        self.ballot = vote
        self.speech = speech
        self.decided_at = []
        self._chance = lambda: 0.5

    def decide(self, seen):
        self.decided_at.append(seen.tick)
        return self.actions.pop(0) if self.actions else IDLE

    def speak(self, seen):
        return self.speech or Statement(seen.seat, seen.room, NOBODY, 0)

    def vote(self, seen):
        return self.ballot

    def notices(self):
        return True


@pytest.fixture
def stage():
    def build(puppets, players=8, imposters=(2, 3), **overrides):
        slots = [{"role": "imposter" if seat in imposters else "crew"} for seat in range(players)]
        config = parse_config(
            {
                "minPlayers": 1,
                "slots": slots,
                "imposterCount": len(imposters),
                "maxTicks": 3000,
                "killRange": 100,  # within reach from anywhere in the room, so that puppets keep simple time
                "reportRange": 100,
                **overrides,
            }
        )
        match = Simulation(config, [Skill()] * players, 1, Recorder(wants_events=True))
        match.policies = [puppets.get(seat, Puppet()) for seat in range(players)]
        return match

    return build


def keys(match, key):
    return [event for event in match.recorder.events(match.tick, 0) if event.key == key]


def strike(victim, wait=0):
    return [(WAIT, 0, wait), (STALK, victim, 1), (KILL, victim, 0)]


def test_a_kill_needs_the_victim_in_reach(stage):
    match = stage({2: Puppet([(WAIT, 0, 900), (KILL, 0, 0)])})
    match.run()
    assert match.kills == [0] * 8


def test_a_kill_needs_a_role(stage):
    match = stage({0: Puppet(strike(1, 900))})
    match.run()
    assert match.kills == [0] * 8


def test_imposters_cannot_kill_each_other(stage):
    match = stage({2: Puppet(strike(3, 900))})
    match.run()
    assert match.kills == [0] * 8


@pytest.mark.parametrize(("wait", "kills"), [(797, 0), (800, 1)])
def test_a_kill_needs_the_cooldown_to_be_over(stage, wait, kills):
    match = stage({2: Puppet(strike(0, wait))})
    match.run()
    assert match.kills[2] == kills


def test_the_cooldown_starts_again_with_a_kill(stage):
    match = stage({2: Puppet(strike(0, 800) + strike(1, 700) + strike(4, 100))}, voteTimerTicks=1)
    match.run()
    first, second = keys(match, "kill")
    assert second.ts - first.ts >= 800
    assert second.value == {"victim_slot": 4}


def test_parity_wins_for_the_imposters(stage):
    match = stage({2: Puppet(strike(0, 800))}, players=4, imposters=(2,), tasksPerPlayer=1)
    match.policies[3] = Puppet([(WAIT, 0, 1500)])
    assert match.run() is Ending.TIME_LIMIT, "one imposter against two is not parity"
    match = stage({2: Puppet(strike(0, 800) + strike(1, 800))}, players=4, imposters=(2,))
    assert match.run() is Ending.PARITY
    assert match.tick == keys(match, "kill")[-1].ts


def test_a_body_is_reported_and_the_culprit_ejected(stage):
    voters = {seat: Puppet(vote=2) for seat in (1, 4, 5, 6)}
    voters[1].actions = [(WAIT, 0, 810), (REPORT, 0, 10)]
    match = stage({2: Puppet(strike(0, 800)), 3: Puppet(vote=1), **voters})
    match.run()
    assert [event.value for event in keys(match, "vote_called_body")] == [{"victim_slot": 0}]
    assert match.alive[2] is False
    assert sum(match.vote_players) == 5
    assert sum(match.vote_skip) == 2
    assert match.seen[1].body == (0, station.HUB)


def test_a_body_that_is_not_there_cannot_be_reported(stage):
    match = stage({1: Puppet([(REPORT, 0, 10)])})
    match.run()
    assert match.meetings == 0


@pytest.mark.parametrize(
    ("votes", "ejected"),
    [
        ([2, 2, 2, 2, 4, 4, 4, 5], 2),
        ([2, 2, 2, 2, 4, 4, 4, 4], None),  # a tie
        ([2, 2, 2, -1, -1, -1, 4, 5], None),  # a tie with the skips
        ([2, -1, -1, -1, 4, 5, 6, 7], None),
        ([-1] * 8, None),
    ],
)
def test_only_the_most_votes_eject(stage, votes, ejected):
    puppets = {seat: Puppet(vote=target) for seat, target in enumerate(votes)}
    puppets[0].actions = [(BUTTON, 0, 10)]
    match = stage(puppets, maxTicks=600)
    match.run()
    assert [seat for seat, lives in enumerate(match.alive) if not lives] == (
        [] if ejected is None else [ejected]
    )


def test_ejecting_the_last_imposter_wins_for_the_crew(stage):
    puppets = {seat: Puppet(vote=2) for seat in range(8)}
    puppets[0].actions = [(BUTTON, 0, 10)]
    match = stage(puppets, imposters=(2,))
    assert match.run() is Ending.EJECTED


def test_ejecting_crew_can_give_the_imposters_parity(stage):
    puppets = {seat: Puppet(vote=1) for seat in range(5)}
    puppets[0].actions = [(BUTTON, 0, 10)]
    match = stage(puppets, players=5)
    assert match.run() is Ending.PARITY


@pytest.mark.parametrize(("allowed", "held"), [(0, 0), (1, 1), (2, 2)])
def test_every_seat_has_its_button_calls(stage, allowed, held):
    presses = [(BUTTON, 0, 10), IDLE] * 3
    match = stage({0: Puppet(presses)}, buttonCalls=allowed)
    match.run()
    assert match.meetings == held
    assert len(keys(match, "vote_called_button")) == held


def test_the_button_is_in_the_hub(stage):
    way = [(MOVE, 1, 100), (BUTTON, 0, 10)]
    match = stage({0: Puppet(way)})
    match.run()
    assert match.meetings == 0


@pytest.mark.parametrize(("resets", "kills"), [(False, 1), (True, 0)])
def test_a_button_call_may_reset_kill_cooldowns(stage, resets, kills):
    caller = Puppet([(WAIT, 0, 700), (BUTTON, 0, 0)])
    killer = Puppet([(WAIT, 0, 900), *strike(4, 200)])
    match = stage({0: caller, 2: killer}, buttonResetsKillCooldowns=resets)
    match.run()
    assert match.kills[2] == kills


def test_the_cooldown_stands_still_during_a_meeting(stage):
    caller = Puppet([(BUTTON, 0, 10)])
    match = stage({0: caller}, voteTimerTicks=500, voteResultTicks=50, messageCooldownTicks=1000)
    before = START + 800
    match.run()
    assert match.seen[2].ready_at == before + 500 + 50


def test_voting_ends_as_soon_as_all_have_voted(stage):
    match = stage({0: Puppet([(BUTTON, 0, 10)])}, messageCooldownTicks=100, voteResultTicks=72)
    match.run()
    plays = [event.ts for event in keys(match, "phase") if event.value == {"phase": "play"}]
    assert plays == [START, START + 10 + 100 + 72]
    assert match.vote_timeout == [0] * 8


def test_an_inattentive_seat_burns_the_whole_timer(stage):
    asleep = Puppet(skill=Skill(attentiveness=0.0, vote_delay=0.0))
    match = stage({0: Puppet([(BUTTON, 0, 10)]), 5: asleep}, voteTimerTicks=1000, voteResultTicks=72)
    match.run()
    plays = [event.ts for event in keys(match, "phase") if event.value == {"phase": "play"}]
    assert plays == [START, START + 10 + 1000 + 72]
    assert match.vote_timeout == [0, 0, 0, 0, 0, 1, 0, 0]


def test_a_vote_after_the_timer_does_not_count(stage):
    match = stage({0: Puppet([(BUTTON, 0, 10)])}, messageCooldownTicks=100, voteTimerTicks=99)
    match.run()
    assert sum(match.vote_skip) == 0
    assert match.vote_timeout == [1] * 8


def test_a_meeting_cut_off_by_the_tick_limit_times_nobody_out(stage):
    asleep = Puppet(skill=Skill(attentiveness=0.0))
    match = stage({0: Puppet([(BUTTON, 0, 10)]), 5: asleep})
    assert match.run() is Ending.TIME_LIMIT
    assert match.tick == 3000
    assert match.vote_timeout == [0] * 8
    assert sum(match.vote_skip) == 7


def test_a_meeting_gathers_the_living_and_clears_the_bodies(stage):
    caller = Puppet([(WAIT, 0, 810), (REPORT, 0, 5)])
    away = Puppet([(MOVE, 1, 90)])
    match = stage({1: caller, 2: Puppet(strike(0, 800)), 4: away}, maxTicks=1300)
    match.run()
    assert sorted(match.occupants[station.HUB]) == [1, 2, 3, 4, 5, 6, 7]
    assert not any(match.bodies)


def test_a_task_needs_its_whole_time(stage):
    short = Puppet([(TASK, 0, 71)] * 5)
    match = stage({0: short}, tasksPerPlayer=27)  # one at every station, so some in the hub
    match.run()
    assert match.tasks_done[0] == 0
    match = stage({0: Puppet([(TASK, 30, 72)])}, tasksPerPlayer=27)
    match.run()
    assert match.tasks_done[0] == 1
    assert keys(match, "completed_task")[0].ts == START + 30 + 72


def test_all_tasks_done_wins_for_the_crew_ghosts_included(stage):
    def worker(match, seat):
        ways, here = [], station.HUB
        for room in match.seen[seat].tasks:
            while here != room:
                here = station.NEXT_ROOM[here][room]
                ways.append((MOVE, here, 1))
            ways.append((TASK, 0, 72))
        return Puppet(ways)

    match = stage({}, players=4, imposters=(3,), tasksPerPlayer=2, voteTimerTicks=1)
    for seat in range(3):
        match.policies[seat] = worker(match, seat)
    assert match.run() is Ending.TASKS
    assert match.tasks_done == [2, 2, 2, 0]


def test_the_dead_are_seen_by_nobody_and_see_nobody(stage):
    ghost = Puppet([IDLE] * 9)
    match = stage({0: ghost, 2: Puppet(strike(0, 800))})
    match.run()
    assert match.seen[0].present == ()
    assert all(0 not in company for company in match.occupants)


def test_witnesses_of_a_kill_know_the_culprit_and_decide_at_once(stage):
    witness, blind = Puppet(), Puppet()
    blind.notices = lambda: False
    match = stage({1: witness, 4: blind, 2: Puppet(strike(0, 800))}, maxTicks=1200)
    match.run()
    killed_at = keys(match, "kill")[0].ts
    assert match.seen[1].witnessed == {2: 3}
    assert match.seen[1].bodies == [0]
    assert killed_at + 1 in witness.decided_at
    assert match.seen[4].witnessed == {}
    assert match.seen[3].witnessed == {}, "imposters have nothing to witness"


def test_vents_are_for_imposters_only_and_are_seen(stage):
    climb = [(MOVE, 2, 99), (MOVE, FOUNDRY, 99), (VENT, RELAY, 30)]
    lurker = [(MOVE, 2, 99), (MOVE, FOUNDRY, 99), (MOVE, RELAY, 60)]
    match = stage({2: Puppet(list(climb)), 4: Puppet(list(climb)), 5: Puppet(lurker)}, maxTicks=700)
    match.run()
    assert match.seen[2].room == RELAY
    assert match.seen[4].room == FOUNDRY
    assert match.seen[4].witnessed == {2: 2}


def test_no_corridor_is_faster_than_it_is_long(stage):
    match = stage({0: Puppet([(MOVE, 1, 1)])})
    match.run()
    arrival = next(event for event in keys(match, "entered_room") if event.player == 0)
    assert arrival.ts == START + station.CORRIDORS[station.HUB][1]


@pytest.mark.parametrize(("kill_range", "ticks"), [(0, 36), (20, 26), (72, 0), (500, 0)])
def test_a_longer_reach_is_a_shorter_walk(kill_range, ticks):
    assert station.reach_ticks(station.HUB, kill_range) == ticks


@pytest.mark.parametrize(("kill_range", "tick"), [(20, START + 900 + 26), (100, START + 900 + 1)])
def test_nobody_strikes_sooner_than_the_walk_allows(stage, kill_range, tick):
    match = stage({2: Puppet(strike(0, 900))}, killRange=kill_range)
    match.run()
    assert keys(match, "kill")[0].ts == tick


def test_an_ejected_crew_member_goes_on_with_its_tasks_when_play_does(stage):
    ghost = Puppet([IDLE], vote=1)
    puppets = {seat: Puppet(vote=1) for seat in range(8)}
    puppets[0].actions = [(BUTTON, 0, 10)]
    match = stage({**puppets, 1: ghost}, messageCooldownTicks=100, voteResultTicks=72, maxTicks=900)
    match.run()
    assert ghost.decided_at[1] == START + 10 + 100 + 72


def test_a_seat_that_drops_out_in_a_meeting_does_not_vote(stage):
    match = stage({0: Puppet([(BUTTON, 0, 10)])}, messageCooldownTicks=100, disconnectTimeoutTicks=2000)
    match.drops = (*match.drops[:4], START + 60, *match.drops[5:])
    match.run()
    assert match.vote_skip == [1, 1, 1, 1, 0, 1, 1, 1]


def test_who_is_in_a_room_when_a_meeting_is_called_was_seen_there(stage):
    match = stage({0: Puppet([(WAIT, 0, 500), (BUTTON, 0, 10)])}, maxTicks=800)
    match.run()
    assert match.seen[5].seen_tick[6] == START + 510
