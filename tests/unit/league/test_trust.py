from dataclasses import replace

import pytest

from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.trust import findings, seating_problem
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Reason


@pytest.fixture
def arms(make):
    return make.arms()


@pytest.fixture
def check(make, arms):
    """The findings when the candidate's record is spoilt: `check(episodes=[…], request_statuses=…)`."""

    def look(episodes=None, *, baseline=None, **changes):
        records = {"candidate": make.record(arms["candidate"], episodes, **changes)}
        records["baseline"] = baseline or make.record(arms["baseline"])
        return findings(arms, records)

    return look


@pytest.fixture
def games(make, arms):
    """Four clean games of the candidate."""
    return [make.episode(arms["candidate"], i) for i in range(4)]


def one(found, reason):
    assert [finding.reason for finding in found] == [reason]
    return found[0]


def test_nothing_speaks_against_clean_arms(check):
    assert check() == []


def test_every_finding_forbids_trust(check, games, make):
    games[0] = make.reseated(games[0], {1: "id-rival-2", 2: "id-rival-1"})
    found = check(games, request_statuses=("running",), coworlds=("crewrift 2.0.0",))
    assert len(found) >= 3
    assert all(finding.reason.forbids_trust for finding in found)


# ----------------------------------------------------------------- terminal


@pytest.mark.parametrize("status", ["running", "pending", "submitted", "unknown", "mixed", "success\x1b[2J"])
def test_a_request_that_goes_on(check, status):
    finding = one(check(request_statuses=(status,)), Reason.NOT_TERMINAL)
    assert finding.arm == "candidate"
    assert "the candidate request is" in finding.detail
    assert finding.detail.isprintable()


@pytest.mark.parametrize("status", ["pending", "submitted", "running", "unknown"])
def test_an_episode_that_goes_on_is_named(check, games, status):
    games[2] = replace(games[2], status=status, results=None, participants=())
    finding = one(check(games), Reason.NOT_TERMINAL)
    assert finding.episodes == ("ereq_candidate_2",)
    assert "ereq_candidate_2" in finding.detail


@pytest.mark.failure_mode(number=16)
def test_episodes_of_a_cancelled_request_stay_pending_for_ever(check, games):
    games[3] = replace(games[3], status="pending", results=None, participants=())
    assert check(games, request_statuses=("cancelled",)) == []


@pytest.mark.parametrize("count", [0, 3, 5])
def test_a_list_of_the_wrong_length(check, make, arms, count):
    finding = one(check([make.episode(arms["candidate"], i) for i in range(count)]), Reason.NOT_TERMINAL)
    assert f"4 episodes were asked for, the server lists {count}" in finding.detail


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_failed_episodes_that_never_sat_are_missing_not_wrong(check, games, status):
    games[1] = replace(games[1], status=status, results=None, participants=(), config=None)
    assert check(games) == []


# -------------------------------------------------------------------- seats


def test_shuffled_seats_are_named_by_episode_and_seat(check, games, make):
    games[1] = make.reseated(games[1], {0: "id-rival-3", 3: "id-bot:v2"})
    games[3] = make.reseated(games[3], {6: "id-stranger", 7: "id-rival-6"})
    finding = one(check(games), Reason.SEATS)
    assert finding.episodes == ("ereq_candidate_1", "ereq_candidate_3")
    assert finding.arm == "candidate"
    for told in (
        "2 of 4 episodes",
        "ereq_candidate_1: seat 0 (the tested seat) holds rival-3:v3, not bot:v2",
        "seat 3 holds bot:v2, not rival-3:v3",
        "ereq_candidate_3: seat 6 holds id-stranger, not rival-6:v6",
        "seat 7 holds rival-6:v6, not rival-7:v7",
    ):
        assert told in finding.detail


def test_both_arms_are_looked_at(check, make, arms):
    wrong = [make.reseated(make.episode(arms["baseline"], i), {4: "id-bot:v1"}) for i in range(4)]
    finding = one(check(baseline=make.record(arms["baseline"], wrong)), Reason.SEATS)
    assert (finding.arm, len(finding.episodes)) == ("baseline", 4)


def test_two_seats_of_one_version_are_told_apart_by_position(make):
    field = make.roster()
    twice = replace(field, opponents=(*field.opponents[:6], field.opponents[0]))  # seats 1 and 7
    arms = make.arms(field=twice)
    clean = make.episode(arms["candidate"])
    assert seating_problem(arms["candidate"], clean) == ""
    moved = make.reseated(clean, {2: "id-rival-1", 7: "id-rival-2"})
    problem = seating_problem(arms["candidate"], moved)
    assert "seat 2 holds rival-1:v1, not rival-2:v2" in problem
    assert "seat 7 holds rival-2:v2, not rival-1:v1" in problem


def test_the_tested_version_in_another_seat_too(make):
    arms = make.arms(make.plan(candidate={0: "bot:v2", 4: "bot:v2"}))
    clean = make.episode(arms["candidate"])
    assert seating_problem(arms["candidate"], clean) == ""
    assert "seat 4" in seating_problem(arms["candidate"], make.reseated(clean, {4: "id-rival-4"}))


def test_a_filler_and_a_human_are_no_players(check, games, make):
    games[0] = make.reseated(games[0], {0: {"is_filler": True}})
    games[1] = make.reseated(games[1], {5: {"kind": "human", "policy_version_id": None}})
    games[2] = make.reseated(games[2], {6: {"kind": "\x1b[31malien"}})
    detail = one(check(games), Reason.SEATS).detail
    assert "ereq_candidate_0: seat 0 (the tested seat) holds a filler" in detail
    assert "ereq_candidate_1: seat 5 holds a human" in detail
    assert detail.isprintable()


def test_a_seat_without_a_version(check, games, make):
    games[0] = make.reseated(games[0], {2: {"policy_version_id": None}})
    assert "seat 2 holds nobody, not rival-2:v2" in one(check(games), Reason.SEATS).detail


@pytest.mark.parametrize(
    "positions", [[], [0], list(range(7)), list(range(9)), [0, 0, 1, 2, 3, 4, 5, 6], list(range(1, 9))]
)
def test_positions_must_be_exactly_those_of_the_table(check, games, positions):
    seat = games[2].participants[0]
    games[2] = replace(games[2], participants=tuple(replace(seat, position=p) for p in positions))
    finding = one(check(games), Reason.SEATS)
    assert f"ereq_candidate_2: positions {positions} instead of 0 to 7" in finding.detail


def test_the_order_in_which_participants_are_listed_means_nothing(check, games):
    games[0] = replace(games[0], participants=tuple(reversed(games[0].participants)))
    assert check(games) == []


def test_many_wrong_episodes_are_counted_not_listed(make):
    arms = make.arms(make.plan(episodes=30))
    wrong = [
        make.reseated(make.episode(arms["candidate"], i), dict.fromkeys(range(8), "id-x")) for i in range(30)
    ]
    records = {"candidate": make.record(arms["candidate"], wrong), "baseline": make.record(arms["baseline"])}
    finding = one(findings(arms, records), Reason.SEATS)
    assert len(finding.episodes) == 30
    assert "and 25 more episodes" in finding.detail
    assert "and 3 more;" in finding.detail
    assert len(finding.detail) < 2500


def test_strangers_cannot_write_into_the_report(check, games, make):
    games[0] = make.reseated(games[0], {1: "evil\n\x1b[31m\u202e"})
    assert one(check(games), Reason.SEATS).detail.isprintable()


# -------------------------------------------------------------------- roles


def with_roles(episode, **lists):
    return replace(episode, results={**episode.results, **lists})


def test_swapped_roles(check, games):
    games[1] = with_roles(games[1], imposter=[1, 0, 0, 1, 0, 0, 0, 0], crew=[0, 1, 1, 0, 1, 1, 1, 1])
    finding = one(check(games), Reason.ROLES)
    assert finding.episodes == ("ereq_candidate_1",)
    assert "1 episode, ereq_candidate_1: seats 0, 2" in finding.detail


@pytest.mark.parametrize("lists", [{"crew": None, "imposter": None}, {"crew": [0] * 8, "imposter": [0] * 8}])
def test_results_without_roles_prove_none(check, games, lists):
    games[0] = with_roles(games[0], **lists)
    detail = one(check(games), Reason.ROLES).detail
    assert "seats 0, 1, 2, 3, 4 and 3 more" in detail


def test_one_list_too_short(check, games):
    games[0] = with_roles(games[0], crew=games[0].results["crew"][:7])
    assert "seats 7" in one(check(games), Reason.ROLES).detail


def test_without_results_there_are_no_roles_to_check(check, games):
    games[0] = replace(games[0], status="failed", results=None)
    assert check(games) == []


# ------------------------------------------------------- versions and config


def test_the_arms_must_play_one_game(check, make, arms):
    detail = one(check(coworlds=("crewrift 1.3.0",)), Reason.VERSIONS).detail
    assert "candidate crewrift 1.3.0" in detail
    assert "baseline crewrift 1.2.0" in detail


@pytest.mark.failure_mode(number=27)
def test_a_game_that_changed_inside_both_arms(check, make, arms):
    mixed = ("crewrift 1.2.0", "crewrift 1.3.0")
    found = check(coworlds=mixed, baseline=make.record(arms["baseline"], coworlds=mixed))
    one(found, Reason.VERSIONS)


def test_a_hostile_game_name_is_made_harmless(check):
    assert one(check(coworlds=("\x1b]0;x\x07",)), Reason.VERSIONS).detail.isprintable()


@pytest.mark.parametrize(
    ("key", "value"),
    [("maxTicks", 999), ("imposterCount", 3), ("autoImposterCount", True), ("slots", [{"role": "crew"}] * 8)],
)
def test_an_override_that_was_not_obeyed(check, games, key, value):
    games[2] = replace(games[2], config={**games[2].config, key: value})
    finding = one(check(games), Reason.CONFIG)
    assert finding.detail == f"candidate: ereq_candidate_2 differs in {key}"
    assert finding.episodes == ("ereq_candidate_2",)


def test_a_config_that_differs_between_the_arms(check, make, arms):
    other = [
        replace(game, config={**game.config, "minPlayers": 6})
        for game in (make.episode(arms["baseline"], i) for i in range(4))
    ]
    finding = one(check(baseline=make.record(arms["baseline"], other)), Reason.CONFIG)
    assert (finding.arm, finding.episodes) == ("baseline", ("ereq_baseline_0",))
    assert "minPlayers" in finding.detail


@pytest.mark.parametrize("lost", [True, False])
def test_a_key_that_only_some_episodes_have(check, games, lost):
    config = dict(games[3].config)
    if lost:
        del config["minPlayers"]
    else:
        config["\x1bextra"] = 1
    games[3] = replace(games[3], config=config)
    assert one(check(games), Reason.CONFIG).detail.isprintable()


def test_what_the_service_fills_in_for_each_episode_may_differ(check, games):
    games[0] = replace(games[0], config={**games[0].config, "seed": 99, "tokens": ["a"], "players": [1]})
    assert check(games) == []


def test_a_server_that_does_not_tell_the_config(check, make, arms):
    silent = {
        side: make.record(arms[side], [make.episode(arms[side], i, config=None) for i in range(4)])
        for side in SIDES
    }
    assert findings(arms, silent) == []


# ------------------------------------------------------------------- copies


def test_an_episode_that_is_listed_twice_is_one(check, arms, make):
    episode = make.episode(arms["candidate"], id="ereq_same")
    finding = one(check([episode, episode], requested=2), Reason.DUPLICATES)
    assert "1 distinct game of 2: copies of one game are one observation" in finding.detail
    assert finding.episodes == ("ereq_same",)


def test_one_seed_with_one_result_is_one_observation(check, arms, make):
    games = [make.episode(arms["candidate"], id=f"ereq_{i}", seed=7) for i in range(4)]
    finding = one(check(games), Reason.DUPLICATES)
    assert finding.detail.startswith("1 distinct game of 4: copies of one game are one observation")
    assert finding.episodes == ("ereq_1", "ereq_2", "ereq_3")


def test_what_was_never_played_is_no_distinct_game(check, arms, make):
    games = [make.episode(arms["candidate"], id=f"ereq_{i}", seed=7) for i in range(3)]
    lost = make.episode(arms["candidate"], 3, status="failed", results=None, seed=7)
    assert one(check([*games, lost]), Reason.DUPLICATES).detail.startswith("1 distinct game of 3")


def test_games_that_differ_in_seed_are_no_copies(check, arms, make):
    games = [make.episode(arms["candidate"], id=f"ereq_{i}", seed=i) for i in range(3)]
    assert Reason.DUPLICATES not in {finding.reason for finding in check(games)}


def test_an_aa_run_whose_arms_hold_the_same_games_shows_nothing(make, arms):
    def record(side, first):
        games = [make.episode(arms[side], first + i) for i in range(4)]
        return make.record(arms[side], games)

    shared = {"candidate": record("candidate", 0), "baseline": record("baseline", 3)}
    finding = one(findings(arms, shared, aa=True), Reason.DUPLICATES)
    assert "the same games (1 matches)" in finding.detail
    assert findings(arms, shared) == []  # an edit may make no difference to a game
    apart = {"candidate": record("candidate", 0), "baseline": record("baseline", 4)}
    assert findings(arms, apart, aa=True) == []


# -------------------------------------------------------------------- seeds


@pytest.fixture
def pairs(make):
    """Two arms of four pairs, played as they were asked for: `pairs(candidate=…)` spoils the games of one."""
    arms = make.arms(make.plan(declaration=Declaration("better", pairing="seed")))

    def look(**spoilt):
        records = {}
        for side in SIDES:
            games = make.paired_games(arms[side])
            records[side] = make.paired_record(arms[side], spoilt.get(side, lambda games: games)(games))
        return findings(arms, records, paired=True)

    look.arms = arms
    return look


def told_of(found, reason):
    """The one finding of a reason, whatever else was found."""
    (finding,) = [finding for finding in found if finding.reason is reason]
    return finding


def changed(place, **changes):
    def spoil(games):
        games[place] = [replace(game, **changes) for game in games[place]]
        return games

    return spoil


def test_pairs_that_played_their_seeds_are_clean(pairs):
    assert pairs() == []


def test_a_seed_that_was_ignored_is_named(pairs):
    wanted = pairs.arms["baseline"].blocks[2].seed
    finding = one(pairs(baseline=changed(2, seed=5)), Reason.SEEDS)
    assert (finding.arm, finding.episodes) == ("baseline", ("ereq_baseline_2",))
    assert finding.detail == f"1 of 4 episodes, ereq_baseline_2: seed 5 instead of {wanted}"


def test_a_server_that_tells_no_seed_proves_no_pair(pairs):
    finding = told_of(pairs(candidate=changed(0, seed=None)), Reason.SEEDS)
    assert "the server tells no seed" in finding.detail


def test_a_config_with_another_seed_than_the_episode(pairs):
    game = pairs.arms["candidate"].blocks[1]
    config = {**pairs.arms["candidate"].body["game_config_overrides"], "minPlayers": 8, "seed": -1}
    finding = told_of(pairs(candidate=changed(1, config=config)), Reason.SEEDS)
    assert f"seed -1 in its config instead of {game.seed}" in finding.detail


def test_what_was_never_played_needs_no_seed(pairs):
    lost = {"status": "failed", "results": None, "participants": (), "config": None, "seed": None}
    assert pairs(candidate=changed(3, **lost)) == []


@pytest.mark.parametrize("change", ["order", "one", "twice"])
def test_the_arms_must_have_asked_for_the_same_seeds_each_once(pairs, make, change):
    arms = dict(pairs.arms)
    blocks = list(arms["baseline"].blocks)
    if change == "order":
        blocks[0], blocks[1] = blocks[1], blocks[0]
    else:
        blocks[0] = replace(blocks[0], seed=blocks[1].seed if change == "twice" else 1)
    sides = SIDES if change == "twice" else ("baseline",)
    for side in sides:
        arms[side] = replace(arms[side], blocks=tuple(blocks))
    records = {side: make.paired_record(arms[side], make.paired_games(arms[side])) for side in SIDES}
    detail = told_of(findings(arms, records, paired=True), Reason.SEEDS).detail
    told = {
        "order": "unequal in pair 1, 2",
        "one": "unequal in pair 1",
        "twice": "4 pairs have only 3 different seeds",
    }
    assert told[change] in detail


def test_arms_that_were_frozen_without_seeds_are_no_pairs(make):
    arms = make.arms()
    records = {side: make.record(arms[side]) for side in SIDES}
    found = findings(arms, records, paired=True)
    assert {finding.reason for finding in found} == {Reason.SEEDS}
    assert "its request asked for no seed" in found[0].detail


def test_a_request_that_came_to_nothing_lists_no_episode(pairs, make):
    arms = pairs.arms
    games = make.paired_games(arms["candidate"])
    games[1] = []
    records = {
        "candidate": make.paired_record(arms["candidate"], games, {1: "failed"}),
        "baseline": make.paired_record(arms["baseline"], make.paired_games(arms["baseline"])),
    }
    assert findings(arms, records, paired=True) == []
    records["candidate"] = make.paired_record(
        arms["candidate"], games
    )  # a completed request lists its episode
    assert (
        "4 episodes were asked for, the server lists 3"
        in one(findings(arms, records, paired=True), Reason.NOT_TERMINAL).detail
    )


def test_a_failed_episode_beside_the_one_that_was_played_in_its_place_is_no_fault(pairs, make):
    def retried(games):
        lost = replace(games[0][0], id="ereq_first", status="failed", results=None)
        games[0] = [lost, *games[0]]
        return games

    assert pairs(candidate=retried) == []
