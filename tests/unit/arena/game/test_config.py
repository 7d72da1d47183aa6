import pytest

from pytest_evalharness.arena.game.config import KEYS, ConfigError, GameConfig, check_players, parse_config


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ({"tickLimit": 5}, "tickLimit: unknown"),
        ({"max_ticks": 5}, "max_ticks: unknown"),
        ({"tokens": ["a"]}, "tokens: set by the runner"),
        ({"players": []}, "players: set by the runner"),
        ({"maxTicks": "5"}, "maxTicks: must be an integer"),
        ({"maxTicks": 5.0}, "maxTicks: must be an integer"),
        ({"maxTicks": True}, "maxTicks: must be an integer"),
        ({"maxTicks": -1}, "maxTicks: must be from 0"),
        ({"maxTicks": None}, "maxTicks: must be an integer"),
        ({"seed": -2}, "seed: must be from -1"),
        ({"voteTimerTicks": 0}, "voteTimerTicks: must be from 1"),
        ({"imposterCount": 17}, "imposterCount: must be from 0 to 16"),
        ({"fastMode": 1}, "fastMode: must be true or false"),
        ({"mapPath": 3}, "mapPath: must be a string"),
        ({"slots": "crew"}, "slots: must be a list"),
        ({"slots": {"0": "crew"}}, "slots: must be a list"),
        ({"slots": ["crew"] * 8}, r"slots\[0\]: must be an object"),
        ({"slots": [{}, {"team": "red"}]}, r"slots\[1\]\.team: unknown key"),
        ({"slots": [{"role": "impostor"}]}, r'slots\[0\]\.role: must be "crew" or "imposter"'),
        ({"slots": [{"role": 1}]}, r"slots\[0\]\.role: must be a string"),
        ({"slots": [{}] * 17}, "slots: at most 16"),
        ({"slots": [{"role": "imposter"}] * 3}, "slots: 3 forced imposters, but imposterCount is 2"),
    ],
)
def test_refuses_and_names_the_key(overrides, says):
    with pytest.raises(ConfigError, match=says):
        parse_config(overrides)


def test_a_config_error_is_a_value_error():
    assert issubclass(ConfigError, ValueError)


def test_every_default_survives_its_own_validation():
    defaults = GameConfig().as_overrides()
    assert set(defaults) == set(KEYS)
    assert parse_config(defaults) == GameConfig()


def test_whole_keys_are_replaced():
    config = parse_config({"slots": [{"role": "crew", "color": "red"}, {}], "maxTicks": 0})
    assert config.max_ticks == 0
    assert [slot.role for slot in config.slots] == ["crew", None]
    assert config.as_overrides()["slots"] == [{"role": "crew", "color": "red"}, {}]


@pytest.mark.parametrize(("players", "imposters"), [(4, 0), (5, 1), (6, 1), (7, 2), (8, 2), (9, 3), (16, 6)])
def test_auto_imposter_count_overrides_the_count(players, imposters):
    assert parse_config({"autoImposterCount": True, "imposterCount": 7}).imposters_for(players) == imposters


@pytest.mark.parametrize(
    ("overrides", "players", "says"),
    [
        ({}, 7, "minPlayers: 8 players needed, 7"),
        ({"minPlayers": 2, "slots": [{}] * 8}, 7, "slots: 8 entries for 7 seats"),
        ({}, 17, "players: at most 16"),
    ],
)
def test_refuses_a_number_of_seats_it_cannot_play(overrides, players, says):
    with pytest.raises(ConfigError, match=says):
        check_players(parse_config(overrides), players)
