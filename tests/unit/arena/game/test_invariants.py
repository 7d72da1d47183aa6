from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_evalharness.arena.game.config import parse_config
from pytest_evalharness.arena.game.match import SeatEntry, play
from pytest_evalharness.arena.game.policies import CATALOGUE

builds = st.sampled_from(sorted(CATALOGUE))
configs = st.fixed_dictionaries(
    {},
    optional={
        "imposterCount": st.integers(0, 3),
        "tasksPerPlayer": st.integers(0, 12),
        "buttonCalls": st.integers(0, 2),
        "killCooldownTicks": st.integers(0, 1500),
        "buttonResetsKillCooldowns": st.booleans(),
        "voteTimerTicks": st.integers(1, 2000),
        "messageCooldownTicks": st.integers(0, 300),
        "taskCompleteTicks": st.integers(1, 200),
        "maxTicks": st.integers(0, 12_000),
        "killRange": st.integers(0, 100),
        "ventRange": st.integers(0, 100),
        "reportRange": st.integers(0, 100),
    },
)
matches = st.builds(
    lambda overrides, names, seed: (
        parse_config(overrides),
        play(
            parse_config(overrides),
            [SeatEntry(f"p{slot}", name) for slot, name in enumerate(names)],
            seed,
            record=True,
        ),
    ),
    configs,
    st.lists(builds, min_size=8, max_size=10),
    st.integers(0, 2**63 - 1),
)

ACTING = ("kill", "chat", "vote_cast", "vote_called_body", "vote_called_button", "entered_room", "left_room")
slower = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@slower
@given(matches)
def test_the_books_balance(played):
    config, match = played
    results, keys = match.results, Counter(event.key for event in match.events)
    seats = len(results["names"])
    crew = sum(results["crew"])
    meetings = keys["vote_called_body"] + keys["vote_called_button"]
    votes = sum(results["vote_players"]) + sum(results["vote_skip"]) + sum(results["vote_timeout"])

    assert [a + b for a, b in zip(results["imposter"], results["crew"], strict=True)] == [1] * seats
    assert sum(results["kills"]) == keys["kill"] <= crew
    assert sum(results["tasks"]) == keys["completed_task"]
    assert all(done <= config.tasks_per_player for done in results["tasks"])
    assert votes <= meetings * seats
    assert keys["vote_called_button"] <= config.button_calls * seats
    for seat in range(seats):
        if results["imposter"][seat]:
            assert results["tasks"][seat] == 0
        else:
            assert results["kills"][seat] == 0


@slower
@given(matches)
def test_exactly_one_team_wins(played):
    _, match = played
    results = match.results
    winners = {bool(results["imposter"][seat]) for seat, won in enumerate(results["win"]) if won}
    losers = {bool(results["imposter"][seat]) for seat, won in enumerate(results["win"]) if not won}
    assert winners | losers == set(map(bool, results["imposter"]))
    assert not winners & losers
    assert results["scores"] == [
        (3 if imposter else 1) if won else 0
        for imposter, won in zip(results["imposter"], results["win"], strict=True)
    ]


@slower
@given(matches)
def test_the_dead_do_not_act(played):
    """A ghost only finishes its tasks: it is not seen, does not speak, vote, report, call or kill."""
    _, match = played
    died = {}
    for event in match.events:
        if event.key == "died":
            died[event.player] = event.ts
        elif event.key in ACTING:
            assert event.ts <= died.get(event.player, event.ts), event
        if event.key == "kill":
            assert event.value["victim_slot"] not in died
    for row in match.inputs:
        if row.tick > died.get(row.seat, row.tick):
            assert row.action in {"move", "task", "wait"}


@slower
@given(matches)
def test_the_logs_are_in_order_and_whole(played):
    config, match = played
    ticks = [event.ts for event in match.events]
    assert ticks == sorted(ticks)
    last = match.events[-1]
    assert (last.key, last.ts, last.value) == (
        "trace_complete",
        match.ticks + config.game_over_ticks,
        {"complete": True},
    )
    assert len(match.logs) == len(match.results["names"])
    assert all(log and log[0].endswith(f"slot {slot}") for slot, log in enumerate(match.logs))


@slower
@given(matches)
def test_nobody_walks_faster_than_the_corridors_allow(played):
    """Between two entries of a living seat lie at least the ticks of the shortest corridor or vent."""
    _, match = played
    arrived = {}
    for event in match.events:
        if event.key == "entered_room":
            assert event.ts - arrived.get(event.player, -1000) >= 24
            arrived[event.player] = event.ts
        elif event.key == "phase":
            arrived.clear()
