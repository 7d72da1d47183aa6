"""A game as its manifest tells it, and what is asked of the user where it does not."""

from types import SimpleNamespace

import pytest

from pytest_evalharness.errors import ServerUnreachable, UsageError
from pytest_evalharness.league.game import CREWRIFT, Roles
from pytest_evalharness.league.games import Games
from pytest_evalharness.league.manifest import Manifest
from pytest_evalharness.settings import PAGE_LEAGUE


def answer(config, results=None, variants=()):
    schemas = {"config_schema": {"properties": config}, "results_schema": {"properties": results or {}}}
    return {
        "manifest": {"game": schemas, "variants": [{"id": "v", "game_config": dict(one)} for one in variants]}
    }


def seats(low, high=None):
    return {"type": "array", "minItems": low, "maxItems": low if high is None else high}


def game(config, results=None, variants=(), *, settings=None, said=None, **words):
    manifest = Manifest.read("thing", answer(config, results, variants), settings)
    return manifest.game(**{"seats": None, "teams": None, "config": said or {}, **words})


def ladder(**scheduler):
    return {"ladder": {"scheduler": scheduler}}


def test_seats_are_those_of_tokens_or_players():
    assert game({"tokens": seats(5)}).seats == 5
    assert game({"players": seats(9), "seed": {}}).keys == ("players", "seed")
    assert game({"tokens": seats(2, 16), "players": seats(4)}).seats == 4
    assert game({"tokens": seats(2, 16)}, variants=[{"players": [{}] * 6}]).seats == 6
    assert game({"tokens": seats(2, 16)}, seats=16).seats == 16


@pytest.mark.parametrize("config", [{}, {"tokens": {}}, {"tokens": seats(2, 16)}, {"tokens": "what"}])
def test_seats_that_nobody_tells_are_asked_for(config):
    with pytest.raises(UsageError, match="does not tell how many seats a game has") as caught:
        game(config)
    assert "--eval-seats N" in caught.value.next_step


def test_more_seats_than_there_are_cannot_be_said():
    with pytest.raises(UsageError, match="thing has 2 to 4 seats, and 5 were asked for"):
        game({"tokens": seats(2, 4)}, seats=5)


@pytest.mark.parametrize(
    "odd", [None, {}, {"manifest": []}, {"manifest": {"game": "no", "variants": {"a": 1}}}]
)
def test_a_manifest_that_is_none_needs_the_user(odd):
    manifest = Manifest.read("thing", odd, None)
    found = manifest.game(seats=3, teams=None, config={"anything": 1})
    assert (found.seats, found.keys, found.ticks, found.win) == (3, None, False, "highest")


def test_wins_roles_and_lengths_are_read_off_the_schemas():
    plain = game({"tokens": seats(2)})
    assert (plain.win, plain.roles, plain.ticks) == ("highest", Roles.NONE, False)
    rich = game({"tokens": seats(2), "maxTicks": {}}, {"win": {}, "roles": {}, "scores": {}})
    assert (rich.win, rich.roles, rich.ticks) == ("win", Roles.DEALT, True)


TEAMS = {"tokens": seats(4), "teamCount": {"default": 2}, "teamLayout": {"default": "interleaved"}}


def test_sides_follow_from_the_games_own_settings_which_are_sent():
    found = game(TEAMS)
    assert found.sides == (0, 1, 0, 1)
    assert found.pinned == {"teamCount": 2, "teamLayout": "interleaved"}
    by_variant = game(TEAMS, variants=[{"teamLayout": "blocks"}, {"teamLayout": "interleaved"}])
    assert by_variant.sides == (0, 0, 1, 1), "what is sent holds, whichever variant the league plays"
    assert by_variant.pinned == {"teamCount": 2, "teamLayout": "blocks"}
    said = game(TEAMS, said={"teamLayout": "blocks"})
    assert said.sides == (0, 0, 1, 1)
    assert said.pinned == {"teamCount": 2}, "what the user sets himself is not sent twice"


def test_sides_that_contradict_the_settings_are_refused():
    with pytest.raises(
        UsageError, match="teams='blocks', and the settings of thing say 'parity/2'"
    ) as caught:
        game(TEAMS, teams="blocks")
    assert "teamCount and teamLayout" in caught.value.next_step
    assert game(TEAMS, teams="parity").sides == (0, 1, 0, 1)
    spiral = {**TEAMS, "teamLayout": {"default": "spiral"}}
    with pytest.raises(UsageError, match="in a way that is not known"):
        game(spiral)
    assert game(spiral, teams="blocks").sides == (0, 0, 1, 1), "whoever knows the game may say it"


def test_a_setting_without_a_default_is_not_sent():
    found = game({"tokens": seats(4), "teamCount": {"default": 2}, "teamLayout": {}})
    assert (found.sides, found.pinned) == ((0, 1, 0, 1), {"teamCount": 2})


@pytest.mark.parametrize(
    ("scheduler", "sides"),
    [
        ({"strategy": "team_pair"}, (0, 1, 0, 1)),
        ({"strategy": "team_pair", "team_layout": "blocks"}, (0, 0, 1, 1)),
        ({"strategy": "team_n", "team_count": 4}, (0, 1, 2, 3)),
        ({"strategy": "team_n", "team_count": 2, "team_layout": "blocks"}, (0, 0, 1, 1)),
        ({"strategy": "team_n", "team_count": 2, "distinct_teammates": True}, (0, 1, 2, 3)),
        ({"strategy": "round_robin"}, (0, 1, 2, 3)),
        ({}, (0, 1, 2, 3)),
    ],
)
def test_sides_by_the_leagues_scheduler(scheduler, sides):
    found = game({"tokens": seats(4)}, settings=ladder(**scheduler))
    assert found.sides == sides
    assert found.pinned == {}
    assert game({"tokens": seats(4)}, settings=ladder(**scheduler), teams="blocks").sides == (0, 0, 1, 1)


# ------------------------------------------------------------------ leagues


class Server:
    """Counts what is asked."""

    def __init__(self, name="thing", told=None, coworld_id="cow_1"):
        self.name, self.told, self.coworld_id, self.asked = name, told, coworld_id, []

    def league(self, league_id):
        self.asked.append(league_id)
        known = None if self.coworld_id is None else SimpleNamespace(
            coworld_name=self.name, coworld_id=self.coworld_id, name=self.name
        )  # fmt: skip
        return SimpleNamespace(game=known, settings=None)

    def coworld(self, coworld_id):
        self.asked.append(coworld_id)
        return self.told


def nobody():
    raise ServerUnreachable("nobody answers")


def test_the_usual_league_is_known_without_asking():
    assert Games(nobody).of(PAGE_LEAGUE, config={"killRange": 9}) is CREWRIFT
    assert Games(nobody).known(PAGE_LEAGUE) is CREWRIFT


def test_another_league_is_read_once():
    server = Server(told=answer({"tokens": seats(2), "brushSize": {}}))
    games = Games(lambda: server)
    with pytest.raises(UsageError, match="nobody has asked yet"):
        games.known("league_2")
    assert games.of("league_2").seats == 2
    assert games.of("league_2", config={"brushSize": 3}).name == "thing"
    assert games.known("league_2") == games.of("league_2")
    assert server.asked == ["league_2", "cow_1"]
    with pytest.raises(UsageError, match="did you mean 'brushSize'"):
        games.of("league_2", config={"brushsize": 3})


@pytest.mark.parametrize("server", [Server("crewrift"), Server("Crewrift"), Server(coworld_id=None)])
def test_another_league_of_crewrift_is_crewrift(server):
    assert Games(lambda: server).of("league_2") is CREWRIFT


def test_a_setting_that_only_a_later_release_of_crewrift_has_is_looked_up():
    later = Server("crewrift", answer({"killRange": {}, "fogOfWar": {}}))
    assert Games(lambda: later).of(PAGE_LEAGUE, config={"fogOfWar": True}) is CREWRIFT
    with pytest.raises(UsageError, match="did you mean 'fogOfWar'"):
        Games(lambda: later).of(PAGE_LEAGUE, config={"fogofwar": True})
    silent = Server("crewrift", None)
    assert Games(lambda: silent).of(PAGE_LEAGUE, config={"fogOfWar": True}) is CREWRIFT, "the service decides"


@pytest.mark.parametrize("words", [{"seats": 4}, {"teams": "parity"}])
def test_crewrifts_seats_are_not_up_for_choice(words):
    with pytest.raises(UsageError, match="Crewrift has 8 seats, each for itself"):
        Games(nobody).of(PAGE_LEAGUE, **words)
    assert Games(nobody).of(PAGE_LEAGUE, seats=8, teams="none") is CREWRIFT
