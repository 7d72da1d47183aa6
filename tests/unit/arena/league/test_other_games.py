"""The leagues of the other games, founded on their real casts; their rounds are really played."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.hosted import Played
from pytest_evalharness.arena.game.scoring import Scoring
from pytest_evalharness.arena.league import referee, season
from pytest_evalharness.arena.league.changes import rescored
from pytest_evalharness.arena.league.desk import Desk
from pytest_evalharness.arena.league.founding import CREWRIFT, DAILY, PRIME, Founding
from pytest_evalharness.arena.league.records import Marks, filler_seats
from pytest_evalharness.arena.league.roster import UnresolvableError
from pytest_evalharness.arena.league.store import Store

OTHERS = ("paintarena", "capture-the-flag")


@pytest.fixture(scope="module")
def everything():
    """The world as it is served, but for the hidden-role game's rounds, whose outcome is made up."""
    founding = Founding(2026, referee.casts(), 1_800_000_000.0)
    plans = season.plan(founding)
    made_up = Played({"scores": [1] * 8, "win": [True] * 8}, 5000)
    played = [made_up if plan.order.game == CREWRIFT else referee.play(plan.order) for plan in plans]
    return season.world(founding, plans, played)


@pytest.fixture
def desk(tmp_path, everything, clock):
    store = Store(tmp_path / "arena.sqlite")
    yield Desk(2026, everything, store, clock)
    store.close()


def league_of(world, game):
    return next(each for each in world.leagues if each.coworld.name == game)


def body(world, game, refs, **fields):
    roster = [{"player": {"policy_ref": ref}, "slot": slot} for slot, ref in enumerate(refs)]
    return {"target": {"league_id": league_of(world, game).id}, "roster": roster, **fields}


def test_the_other_games_change_nothing_in_the_hidden_role_games_leagues(everything):
    casts = referee.casts()
    alone, together = (Founding(2026, each, 1_800_000_000.0) for each in ({CREWRIFT: casts[CREWRIFT]}, casts))
    ours = {DAILY, PRIME}

    def plans(founding):
        return [plan for plan in season.plan(founding) if plan.division.league.id in ours]

    assert plans(alone) == plans(together)
    assert len(plans(together)) == 348
    assert alone.memberships == together.memberships[: len(alone.memberships)]
    assert {each.division.league.id for each in alone.memberships} == ours
    assert {each.id for each in alone.leagues} == {each.id for each in together.leagues}
    [hostile] = [player for player in everything.players if "\x1b" in player.name]
    assert hostile.key in {name for name, _ in casts[CREWRIFT]}


def test_the_hidden_role_games_leagues_do_not_know_the_others(everything):
    cast = {name for name, _ in referee.casts()[CREWRIFT]} | {"keeper-alias"}
    for member in everything.memberships:
        if member.division.league.id in {DAILY, PRIME}:
            assert member.version.policy_name in cast
        else:
            assert member.version.policy_name not in cast


def test_every_game_has_own_versions_and_others_with_champions(everything):
    owned = {version.label for version in everything.versions if everything.owned(version)}
    for own in ("painter", "warden"):
        assert {f"{own}:v1", f"{own}:v2", f"{own}:v3"} <= owned
    for game in OTHERS:
        division = everything.competition(league_of(everything, game))
        champions = everything.ranked(division, champions=True)
        assert len(champions) == len({version.player.id for version in champions}) == 7
        assert sum(everything.owned(version) for version in champions) == 1


@pytest.mark.parametrize("game", OTHERS)
def test_rounds_seat_each_captain_on_one_side_and_count_it_once(everything, game):
    hosted, league = GAMES[game], league_of(everything, game)
    sides = hosted.sides(hosted.effective_config(hosted.variants[0].config))
    rounds = [each for each in everything.rounds if each.division.league.id == league.id]
    assert len(rounds) >= 2
    for round_ in rounds:
        games = Counter()
        for played in round_.games:
            captains = {side: version.id for side, version in zip(sides, played.seats, strict=True)}
            assert [captains[side] for side in sides] == [version.id for version in played.seats]
            assert len(set(captains.values())) == 2
            games.update(captains.values())
        assert {each.version.id: each.games for each in round_.standings} == dict(games)
        assert len(set(games.values())) == 1


def test_the_strong_stand_above_the_weak(everything):
    for game, strong, weak in (
        ("paintarena", "vermilion", "zaffre"),
        ("capture-the-flag", "bulwark", "flanker"),
    ):
        division = everything.competition(league_of(everything, game))
        best = {each.version.policy_name: each.score for each in everything.latest_round(division).standings}
        assert best[strong] > best[weak]


@pytest.mark.parametrize(
    ("game", "refs", "words"),
    [
        ("paintarena", ["painter:v1"], "roster has 1 entries, but default has 2 seats"),
        ("capture-the-flag", ["warden:v1"] * 8, "roster has 8 entries, but flags-parity has 4 seats"),
        ("capture-the-flag", ["warden:v1", "anvil:v2"], "roster has 2 entries, but flags-parity has 4 seats"),
    ],
)
def test_a_roster_has_the_seats_of_its_variant(desk, everything, game, refs, words):
    with pytest.raises(UnresolvableError, match=words):
        asyncio.run(desk.create(body(everything, game, refs), Marks()))


def test_seeds_are_the_servers_where_a_game_has_no_key_for_one(desk, everything):
    painters = body(everything, "paintarena", ["painter:v1", "umber:v2"], num_episodes=5)
    made, _ = asyncio.run(desk.create(painters, Marks()))
    assert len({episode.seed for episode in made.episodes}) == 5
    runners = body(everything, "capture-the-flag", ["warden:v1", "anvil:v2"] * 2, num_episodes=3)
    made, _ = asyncio.run(desk.create({**runners, "game_config_overrides": {"seed": 77}}, Marks()))
    assert [episode.seed for episode in made.episodes] == [77] * 3


def test_a_desk_opened_again_knows_the_requests_of_every_game(desk, everything, tmp_path, clock):
    made, _ = asyncio.run(
        desk.create(
            {
                **body(everything, "capture-the-flag", ["warden:v1"] * 2 + ["anvil:v2"] * 2),
                "game_config_overrides": {"teamLayout": "blocks"},
            },
            Marks(),
        )
    )
    store = Store(tmp_path / "arena.sqlite")
    again = Desk(2026, everything, store, clock).unfinished()
    store.close()
    assert [(each.id, each.coworld.name, each.config) for each in again] == [
        (made.id, "capture-the-flag", made.config)
    ]
    assert made.config["teamLayout"] == "blocks"


def test_only_an_entrants_first_seat_on_a_side_is_credited(everything):
    one, other = (everything.version_by_label[label] for label in ("warden:v1", "anvil:v2"))
    assert filler_seats((0, 1, 0, 1), (one, other, one, other)) == (False, False, True, True)
    assert filler_seats((0, 0, 1, 1), (one, one, other, other)) == (False, True, False, True)
    assert filler_seats((0, 0, 1, 1), (one, other, one, other)) == (False,) * 4
    assert filler_seats((0, 1, 0, 1), (one,) * 4) == (False, False, True, True)
    assert filler_seats(range(4), (one,) * 4) == (False,) * 4, "everybody plays for itself"


def test_another_way_of_scoring_leaves_games_that_know_only_one_as_they_are(everything):
    crewless = [each for each in everything.rounds if each.division.league.coworld.name != CREWRIFT]
    only = replace(everything, rounds=tuple(crewless))
    after = rescored(only, Scoring.REWARD, 1_900_000_000.0)
    assert [[game.results for game in each.games] for each in after.rounds] == [
        [game.results for game in each.games] for each in crewless
    ]


def test_a_game_lasts_as_long_as_its_ticks_do():
    crewrift, paint, flags = GAMES.values()
    assert crewrift.seconds(crewrift.effective_config({}), 2400) == 100
    assert flags.seconds(flags.effective_config({}), 240) == 10
    assert paint.seconds(paint.effective_config({}), 100) == 20
    assert paint.seconds(paint.effective_config({"tick_rate": 50}), 100) == 2
