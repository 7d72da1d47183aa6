from pytest_evalharness.arena.game.cast import CAST, Tier
from pytest_evalharness.arena.game.policies import CATALOGUE


def test_every_build_of_the_cast_has_skills_and_every_skill_a_player():
    assert sorted(build for player in CAST for build in player.builds) == sorted(CATALOGUE)


def test_the_league_is_large_enough():
    assert len({player.name for player in CAST}) == len(CAST) >= 22
    assert sum(player.tier is Tier.STRONG for player in CAST) == 7
    assert all(player.versions >= 3 for player in CAST)


def test_versions_of_a_player_differ():
    for player in CAST:
        assert len({CATALOGUE[build] for build in player.builds}) == player.versions, player.name


def test_no_two_builds_are_the_same_policy():
    assert len(set(CATALOGUE.values())) == len(CATALOGUE)


def test_the_first_edit_touches_only_crew_play():
    before, after = CATALOGUE["keeper-1"], CATALOGUE["keeper-2"]
    changed = {name for name in before.__slots__ if getattr(before, name) != getattr(after, name)}
    assert changed == {"hesitation"}
