"""What requests that somebody else created say of themselves, and what two arms made of them compare."""

import itertools

import pytest

from pytest_evalharness.errors import SameBuild, Untrustworthy, UsageError
from pytest_evalharness.league.requests_seen import (
    SeenRequest,
    arms_of,
    own_seats,
    pins_of,
    require_alike,
    roster_of,
    versions_of,
)
from pytest_evalharness.observatory.models import ExperienceRequestDetail

NAMES = itertools.count(1)
FIELD = tuple("abcdefg")
CREW = {
    "maxTicks": 3000,
    "slots": [{"role": "crew"}] * 4 + [{"role": "imposter"}] * 2 + [{"role": "crew"}] * 2,
}


def participant(position, who, **more):
    return {
        "position": position, "kind": "policy", "policy_version_id": f"id-{who}", "policy_name": who, "version": 1,
        "player_id": f"ply_{who}", "player_name": who.upper(), **more,
    }  # fmt: skip


def detail(*games, config=CREW, status="running", name=""):
    """A request whose games are seated as told: one list of names a game."""
    episodes = [
        {
            "id": f"ereq_{at}", "status": "pending", "game_config": config,
            "participants": [participant(seat, who) if isinstance(who, str) else who for seat, who in enumerate(game)],
        }
        for at, game in enumerate(games)
    ]  # fmt: skip
    name = name or f"xreq_{next(NAMES)}"
    return ExperienceRequestDetail.model_validate({"id": name, "status": status, "episodes": episodes})


def seen(*players, games=2, **words):
    return SeenRequest.of(detail(*[players] * games, **words), ended=False)


def sides(candidate, baseline):
    found = {"candidate": [candidate], "baseline": [baseline]}
    require_alike(found)
    return found


def test_a_request_tells_who_sits_where_in_which_role():
    told = seen("new", *FIELD)
    assert [who.label for who in told.seats] == ["new:v1", *[f"{name}:v1" for name in FIELD]]
    assert told.roles == ("crew",) * 4 + ("imposter",) * 2 + ("crew",) * 2
    assert (told.ticks, told.episodes, told.seed, told.ended) == (3000, 2, None, False)
    assert SeenRequest.from_json(told.to_json()) == told


@pytest.mark.parametrize(
    ("config", "roles"),
    [
        (None, ("natural",) * 8),
        ({"slots": []}, ("natural",) * 8),
        ({"slots": [{"role": "imposter"}, {"color": "red"}]}, ("imposter",) + ("natural",) * 7),
    ],
)
def test_a_role_that_is_not_forced_is_natural(config, roles):
    assert seen("new", *FIELD, config=config).roles == roles


@pytest.mark.parametrize(("seed", "fixed"), [(7, 7), (-1, None), (None, None), (True, None), ("7", None)])
def test_a_seed_that_all_games_share_was_fixed(seed, fixed):
    assert seen("new", *FIELD, config={**CREW, "seed": seed}).seed == fixed
    assert seen("new", *FIELD, games=1, config={**CREW, "seed": seed}).seed is None


@pytest.mark.parametrize(
    "other",
    ["someone", participant(3, "c", is_filler=True), {"position": 3, "kind": "human", "user_id": "usr_1"}],
    ids=["another policy", "a filler", "a human"],
)
def test_a_seat_that_is_not_one_policy_in_all_games_is_nobodys(other):
    second = ["new", *FIELD]
    second[3] = other
    told = SeenRequest.of(detail(["new", *FIELD], second), ended=False)
    assert [at for at, who in enumerate(told.seats) if who is None] == [3]
    with pytest.raises(
        Untrustworthy, match="seats 3 of the candidate's requests do not hold one policy in all games"
    ):
        require_alike({"candidate": [told], "baseline": [seen("old", *FIELD)]})


def test_a_request_that_was_never_seated_compares_nothing():
    with pytest.raises(Untrustworthy, match="no game of xreq_x was ever seated"):
        SeenRequest.of(detail([], name="xreq_x"), ended=True)


def test_the_one_seat_in_which_they_differ_is_tested():
    found = sides(seen("a", "new", *FIELD[1:]), seen("a", "old", *FIELD[1:]))
    tested, own = own_seats(found, None, aa=False)
    assert (tested, own) == (1, (1,))
    assert pins_of(found, own) == ({1: "new:v1"}, {1: "old:v1"})
    pins = dict(zip(("candidate", "baseline"), pins_of(found, own), strict=True))
    assert versions_of(found, pins) == {"new:v1": "id-new", "old:v1": "id-old"}
    arms = arms_of(found, tested)
    assert arms["candidate"].label == "new:v1"
    assert [one.id for one in arms["baseline"].adopted] == [found["baseline"][0].id]
    assert [who.label for who in roster_of(found, own, "now").opponents] == [
        f"{name}:v1" for name in "abcdefg"
    ]


def test_two_versions_of_one_label_go_by_their_ids():
    twin = participant(0, "new", policy_version_id="id-twin")
    found = sides(seen("new", *FIELD), seen(twin, *FIELD))
    assert pins_of(found, (0,)) == ({0: "id-new"}, {0: "id-twin"})


def test_several_seats_are_listed_and_one_must_be_named():
    found = sides(seen("new", "new", *FIELD[1:]), seen("old", "old", *FIELD[1:]))
    with pytest.raises(UsageError) as refused:
        own_seats(found, None, aa=False)
    assert "seat 0: new:v1 against old:v1" in str(refused.value)
    assert "seat 1: new:v1 against old:v1" in str(refused.value)
    assert "--seat N" in refused.value.next_step
    assert own_seats(found, 1, aa=False) == (1, (0, 1))
    with pytest.raises(UsageError, match="seat 2 holds b:v1 in both arms"):
        own_seats(found, 2, aa=False)
    with pytest.raises(UsageError, match="there is no seat 8; seats are 0 to 7"):
        own_seats(found, 8, aa=False)


def test_other_opponents_are_another_field():
    found = sides(seen("new", *FIELD), seen("old", "x", *FIELD[1:]))
    with pytest.raises(Untrustworthy, match="did not meet the same opponents: seat 1: a:v1 against x:v1"):
        own_seats(found, 0, aa=False)


def test_one_build_is_no_edit_unless_that_is_what_is_tested():
    found = sides(seen("new", *FIELD), seen("new", *FIELD))
    with pytest.raises(SameBuild):
        own_seats(found, None, aa=False)
    with pytest.raises(UsageError, match="none was named"):
        own_seats(found, None, aa=True)
    assert own_seats(found, 0, aa=True) == (0, (0,))


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({**CREW, "maxTicks": 5000}, "unlike tick limits"),
        ({**CREW, "slots": [{"role": "imposter"}]}, "unlike roles"),
        ({**CREW, "seed": 5}, "fix a seed that others do not"),
    ],
)
def test_unlike_settings_compare_nothing(config, told):
    with pytest.raises(Untrustworthy, match=told):
        sides(seen("new", *FIELD), seen("old", *FIELD, config=config))


def test_the_requests_of_one_arm_must_place_the_same_players():
    mixed = {"candidate": [seen("new", *FIELD), seen("new", *FIELD[::-1])], "baseline": [seen("old", *FIELD)]}
    with pytest.raises(
        Untrustworthy, match="the candidate's requests do not place the same players: seat 1 holds a:v1"
    ):
        require_alike(mixed)


def test_requests_of_another_game_are_not_judged():
    with pytest.raises(UsageError, match="these games have 2 seats, and crewrift's have 8"):
        sides(seen("new", "a", config=None), seen("old", "a", config=None))


def test_the_fillers_of_a_game_of_teams_are_not_taken_for_seats_that_were_drawn():
    clone = participant(2, "new", is_filler=True)
    team = SeenRequest.of(detail(*[["new", "a", clone, "a"]] * 2, config=None), ended=False)
    with pytest.raises(UsageError, match="these games have 4 seats, and crewrift's have 8"):
        require_alike({"candidate": [team], "baseline": [seen("old", *FIELD)]})
