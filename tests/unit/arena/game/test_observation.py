"""Honesty: a policy knows what its seat could perceive, and nothing else."""

import gc
import types

from pytest_evalharness.arena.game.config import parse_config
from pytest_evalharness.arena.game.policies import CATALOGUE, Observation
from pytest_evalharness.arena.game.record import Recorder
from pytest_evalharness.arena.game.simulation import Simulation

BUILDS = ("keeper-1", "aurora-5", "sable-3", "rook-4", "rival-3", "lantern-3", "gantry-4", "pylon-3")


def simulation(seed):
    return Simulation(
        parse_config({}), [CATALOGUE[build] for build in BUILDS], seed, Recorder(wants_events=False)
    )


class Watcher:
    """Stands before a policy and compares what it is shown with the truth."""

    def __init__(self, policy, match, check):
        self.policy, self.match, self.check = policy, match, check
        self.decisions = 0

    def __getattr__(self, name):
        return getattr(self.policy, name)

    def decide(self, seen):
        self.check(self.match, seen)
        self.decisions += 1
        return self.policy.decide(seen)


def decisions_checked(check):
    """Play matches with every decision checked; how many there were."""
    total = 0
    for seed in range(15):
        match = simulation(seed)
        match.policies = [Watcher(policy, match, check) for policy in match.policies]
        match.run()
        total += sum(watcher.decisions for watcher in match.policies)
    return total


def test_a_policy_sees_who_is_in_its_room_and_nobody_else():
    def check(match, seen):
        where = {seat: room for room, company in enumerate(match.occupants) for seat in company}
        assert all(where[seat] == seen.room for seat in seen.present)
        assert all(match.alive[seat] for seat in seen.present)
        if not seen.alive:
            assert seen.present == ()

    assert decisions_checked(check) > 1000


def test_a_sighting_is_where_the_seat_was_at_that_tick():
    def check(match, seen):
        assert all(tick <= match.tick for tick in seen.seen_tick)
        for seat in set(seen.present) - {seen.seat}:
            assert seen.seen_room[seat] == seen.room

    assert decisions_checked(check) > 1000


def test_bodies_are_noticed_only_where_they_lie():
    def check(match, seen):
        assert set(seen.bodies) <= set(match.bodies[seen.room])

    assert decisions_checked(check) > 1000


def test_imposters_are_known_to_imposters_only():
    def check(match, seen):
        expected = match.imposters - {seen.seat} if seen.seat in match.imposters else set()
        assert set(seen.fellows) == expected
        assert set(seen.witnessed) <= match.imposters, "nobody witnesses what did not happen"

    assert decisions_checked(check) > 1000


def test_a_death_is_unknown_until_it_is_noticed_or_announced():
    """Somewhere in these matches a crew member believes that a seat lives which is dead."""
    believed = 0
    for seed in range(30):
        match = simulation(seed)
        match.run()
        believed += sum(
            seen.living[victim] and not match.alive[victim]
            for seen in match.seen
            if seen.alive
            for victim in range(8)
        )
    assert believed > 10


def test_an_observation_leads_to_nothing_but_plain_data():
    """No path from an observation to the match, another seat's observation or a random stream."""
    match = simulation(1)
    match.run()
    for seen in match.seen:
        reached, queue = set(), [seen]
        while queue:
            thing = queue.pop()
            if id(thing) in reached or isinstance(thing, type | types.ModuleType | types.FunctionType):
                continue
            reached.add(id(thing))
            assert thing is seen or not isinstance(thing, Observation | Simulation), type(thing)
            assert type(thing).__module__ != "random", type(thing)
            queue.extend(gc.get_referents(thing))


def test_the_streams_of_the_seats_are_independent():
    first, second = simulation(1), simulation(1)
    for _ in range(1000):
        second.policies[0].notices()  # one seat draws a lot
    draws = [[policy.notices() for _ in range(50)] for policy in first.policies[1:]]
    assert draws == [[policy.notices() for _ in range(50)] for policy in second.policies[1:]]
    assert first.chance.random() == second.chance.random()
