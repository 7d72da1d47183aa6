from collections import Counter

from pytest_evalharness.arena.league import season
from pytest_evalharness.arena.league.founding import DAILY, PRIME, Founding


def test_the_same_seed_founds_the_same_world(found, world):
    again = found()

    assert again.versions == world.versions
    assert again.memberships == world.memberships
    assert again.rounds == world.rounds


def test_another_seed_has_other_ids_but_the_leagues_of_the_page(found, world):
    other = found(seed=7)

    assert {each.id for each in other.versions}.isdisjoint(world.version_by_id)
    assert {DAILY, PRIME} <= {league.id for league in other.leagues}


def test_the_day_of_birth_only_moves_dates(found, world):
    later = found(born=1_900_000_000.0)

    assert [each.id for each in later.rounds] == [each.id for each in world.rounds]
    assert later.rounds[0].created_at - world.rounds[0].created_at == 100_000_000.0


def test_every_table_seats_eight_different_players_and_all_equally_often(world):
    for round_ in world.rounds:
        seats = Counter(version.id for game in round_.games for version in game.seats)
        assert all(len({version.player.id for version in game.seats}) == 8 for game in round_.games)
        if seats:
            assert max(seats.values()) - min(seats.values()) <= 1


def test_standings_are_means_of_what_was_played(world):
    round_ = world.rounds[0]
    standing = round_.standings[0]

    scores = [
        game.results["scores"][seat]
        for game in round_.games
        for seat, version in enumerate(game.seats)
        if version.id == standing.version.id
    ]

    assert standing.score == sum(scores) / len(scores)
    assert [each.rank for each in round_.standings] == list(range(1, len(round_.standings) + 1))
    assert [each.score for each in round_.standings] == sorted(
        (each.score for each in round_.standings), reverse=True
    )


def test_early_rounds_were_played_by_versions_that_have_left(world):
    daily = [round_ for round_ in world.rounds_of(world.competition(world.league(DAILY))) if round_.games]

    assert any(each.version.id not in world.live_versions for each in daily[-1].standings)
    assert all(each.version.id in world.live_versions for each in daily[0].standings)


def test_own_versions_and_the_rivals(world):
    owned = {version.label for version in world.versions if world.owned(version)}

    assert owned == {"keeper:v1", "keeper:v2", "keeper:v3", "keeper:v4", "keeper-alias:v1"}
    assert world.version_by_label["rival:v3"].id in world.live_versions
    assert world.version_by_label["rival:v1"].id not in world.live_versions
    digest = {label: world.version_by_label[label].image_digest for label in owned}
    assert digest["keeper:v1"] == digest["keeper-alias:v1"]
    assert len(set(digest.values())) == 4


def test_the_weakest_stranger_has_a_hostile_name(world):
    best = world.best_scores(world.competition(world.league(DAILY)))
    [hostile] = [player for player in world.players if "\x1b" in player.name]

    assert hostile.owner.id != world.me.id
    assert best[hostile.id] == min(
        best[player.id]
        for player in world.players
        if player.key != "rival" and player.id in best and player.owner.id != world.me.id
    )
    assert {each.version.player.name for each in world.memberships} == {
        player.name for player in world.players if player.key != "keeper-alias"
    }


def _orders(born, players):
    cast = [(f"p{n}", [f"p{n}-1", f"p{n}-2"]) for n in range(players)]
    founding = Founding(3, {"crewrift": cast}, born)
    return [(plan.id, plan.order) for plan in season.plan(founding)]


def test_plans_do_not_depend_on_the_day_of_birth():
    assert _orders(1.0, 15) == _orders(2.0, 15) != []


def test_a_division_with_fewer_players_than_seats_has_no_rounds():
    assert _orders(1.0, 5) == []
