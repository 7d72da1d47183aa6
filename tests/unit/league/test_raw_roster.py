import pytest

from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.arms import Arm, build_arm
from pytest_evalharness.league.frozen import Frozen
from pytest_evalharness.league.judging import Case
from pytest_evalharness.league.layouts import ArmRequest, arm_plan, comparison_plan
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.raw_roster import read
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.league.trust import seating_problem
from pytest_evalharness.league.unshared import by_role, drawn, unshared
from pytest_evalharness.settings import resolve
from pytest_evalharness.verdict.words import Reason

PAGE = [
    {"player": {"policy_ref": "bot:v2"}, "slot": 0},
    {"player": {"policy_ref": "rival:v3"}, "slot": 1},
    {"player": {"top_n": 7}},
    {"player": {"random": True}, "slot": -1},
]


def compare(*arms, settings=None, **words):
    found = resolve((settings or {}).get, {}, {}.get)
    return comparison_plan(*arms, seat=0, words=words, settings=found, server="embedded:2026")


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"player": {"policy_ref": "a:v1", "top_n": 7}}, "exactly one of policy_ref, top_n, random"),
        ({"player": {}}, "exactly one of"),
        ({"player": {"policy_ref": None, "random": False}}, "exactly one of"),
        ({"player": {"player_name": "Ann"}}, "one of policy_ref, top_n, random"),
        ({"player": {"policy_ref": 7}}, "policy_ref is NAME:vN"),
        ({"player": {"policy_ref": ""}}, "policy_ref is NAME:vN"),
        ({"player": {"top_n": 0}}, "from 1 to 100"),
        ({"player": {"top_n": 101}}, "from 1 to 100"),
        ({"player": {"top_n": True}}, "from 1 to 100"),
        ({"player": {"random": 1}}, "random is true"),
        ({"player": {"random": True}, "slot": 8}, "slot 8 does not exist"),
        ({"player": {"random": True}, "slot": -2}, "slot -2 does not exist"),
        ({"player": {"random": True}, "slot": "0"}, "slot '0' does not exist"),
        ({"player": {"random": True}, "slot": False}, "slot False does not exist"),
        ({"player": {"random": True}, "seat": 0}, "a roster entry is"),
        ({"policy_ref": "a:v1"}, "a roster entry is"),
        ("a:v1", "a roster entry is"),
        ({"player": "a:v1"}, "a player is one of"),
    ],
)
def test_an_entry_that_the_service_would_not_take(entry, told):
    with pytest.raises(UsageError, match="nothing was submitted") as caught:
        read([*PAGE, entry])
    assert told in caught.value.what


def test_seats_are_filled_once_and_there_are_eight():
    with pytest.raises(UsageError, match="fills seat 1 twice"):
        read([*PAGE, {"player": {"policy_ref": "a:v1"}, "slot": 1}])
    with pytest.raises(UsageError, match="has 9 entries; there are 8 seats"):
        read([{"player": {"random": True}}] * 9)
    assert len(read([{"player": {"random": True}}] * 8)[1]) == 8


def test_entries_without_a_slot_get_the_open_seats_in_order():
    entries = [{"player": {"policy_ref": f"p{i}:v1"}} for i in range(3)]
    pinned, draws = read(
        [*entries, {"player": {"top_n": 2}, "slot": 1}, {"player": {"random": True}, "slot": 0}]
    )
    assert pinned == {2: "p0:v1", 3: "p1:v1", 4: "p2:v1"}
    assert draws == {1: {"top_n": 2}, 0: {"random": True}}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"roster": PAGE, "requester": "me"}, "no 'requester'"),
        ({"roster": PAGE, "target": {"coworld_id": "cow_1"}}, "not by coworld_id"),
        ({"roster": PAGE, "game_config_overrides": {"imposterCount": 3}}, "sets imposterCount to 3"),
        ({"roster": "all"}, "a roster is a list of entries"),
        ({"roster": []}, "puts nobody into the tested seat 0"),
        ({"roster": PAGE, "game_config_overrides": {"slots": [{"color": "red"}]}}, "entry of slots"),
        ({"roster": PAGE, "game_config_overrides": {"slots": [{}] * 9}}, "at most 8 entries"),
        ({"roster": PAGE, "game_config_overrides": {"slots": [{"role": "cook"}]}}, "to be 'cook'"),
        ({"roster": PAGE, "game_config_overrides": {"tokens": ["x"]}}, "config sets tokens"),
        ({"roster": PAGE, "num_episodes": 0}, "episodes must be 1 to 100"),
        ({"roster": PAGE, "num_episodes": "many"}, "episodes"),
    ],
)
def test_a_body_that_says_what_cannot_be_kept(body, told):
    with pytest.raises(UsageError, match="nothing was submitted") as caught:
        compare(ArmRequest.of(body), {0: "bot:v1"}, drawn_field=True)
    assert told in caught.value.what


def test_a_body_says_what_the_words_of_compare_leave_out():
    body = {
        "roster": PAGE, "num_episodes": 12, "target": {"league_id": "league_9", "division_id": "div_9"},
        "game_config_overrides": {"maxTicks": 500, "seed": 7, "slots": [{"role": "crew"}, {}]},
    }  # fmt: skip
    plan = compare(ArmRequest.of(body), {0: "bot:v1"}, drawn_field=True)
    assert (plan.episodes, plan.ticks, plan.league, plan.division) == (12, 500, "league_9", "div_9")
    assert plan.config == {"seed": 7}
    assert compare(ArmRequest.of(body), {0: "bot:v1"}, drawn_field=True, episodes=3).episodes == 3
    with pytest.raises(UsageError, match="bodies of the two arms ask for different things"):
        compare(ArmRequest.of(body), ArmRequest.of({**body, "num_episodes": 13}), drawn_field=True)


@pytest.mark.parametrize("said", [{}, {"drawn_field": False}, {"drawn_field": "yes"}])
@pytest.mark.failure_mode(number=10)
def test_drawn_seats_are_refused_unless_they_are_asked_for(said):
    with pytest.raises(UsageError, match="the two arms would face different fields") as caught:
        compare(PAGE, {0: "bot:v1"}, **said)
    assert "drawn_field=True accepts an unpaired" in caught.value.next_step
    with pytest.raises(UsageError, match="single_arm has no 'claim'"):
        arm_plan(PAGE, seat=0, words={"claim": "better"}, settings=resolve({}.get, {}, {}.get), server="s")


def test_the_tested_seat_cannot_be_drawn():
    with pytest.raises(UsageError, match="puts nobody into the tested seat 0"):
        compare([{"player": {"random": True}, "slot": 0}], {0: "bot:v1"}, drawn_field=True)


def test_pinned_rosters_are_an_ordinary_comparison():
    roster = [
        {"player": {"policy_ref": "bot:v2"}, "slot": 0},
        {"player": {"policy_ref": "rival:v3"}, "slot": 4},
    ]
    assert compare(roster, {0: "bot:v1"}) == compare({0: "bot:v2", 4: "rival:v3"}, {0: "bot:v1"})
    assert "drawn" not in str(compare(roster, {0: "bot:v1"}).to_json())


@pytest.fixture
def drawing(make):
    return make.plan(
        candidate={0: "bot:v2", 1: "rival:v3"}, candidate_drawn={2: {"top_n": 7}, 3: {"random": True}}
    )


def test_a_plan_with_draws_comes_back_whole_and_has_its_own_key(drawing, make):
    assert ComparisonPlan.from_json(drawing.to_json()) == drawing
    assert drawing.to_json()["candidate_drawn"] == {"2": {"top_n": 7}, "3": {"random": True}}
    assert drawing.to_json() != make.plan().to_json()


@pytest.mark.failure_mode(number=10)
def test_a_drawn_arm_leaves_out_our_own_players(drawing, make):
    field = make.roster(own=("ply_me",))
    arm = build_arm(drawing, "candidate", field, make.policies())
    assert arm.body["excluded_players"] == ["ply_me"]
    assert [entry["player"] for entry in arm.body["roster"]][2:4] == [{"top_n": 7}, {"random": True}]
    assert Arm.from_json("candidate", arm.to_json()) == arm
    assert Roster.from_json(field.to_json()) == field
    other = build_arm(drawing, "baseline", field, make.policies())
    assert "excluded_players" not in other.body
    assert all("draw" not in seat for seat in other.to_json()["seats"])
    assert "own" not in make.roster().to_json()


def test_whoever_was_drawn_is_recorded_and_nobody_else_may_sit_there(drawing, make):
    arm = build_arm(drawing, "candidate", make.roster(own=("ply_me",)), make.policies())
    game = make.reseated(make.episode(arm), {2: "id-somebody", 3: "id-another"})
    assert seating_problem(arm, game) == ""
    assert drawn(arm, make.record(arm, [game, game])) == {"id-somebody": 2, "id-another": 2}
    for seats, told in [
        ({2: "id-bot:v2"}, "seat 2, drawn from the top 7, holds the tested version too"),
        ({3: {"is_filler": True}}, "seat 3 holds a filler"),
        ({3: {"kind": "human"}}, "seat 3 holds a human"),
        ({3: {"policy_version_id": None}}, "seat 3, drawn at random, holds nobody"),
        ({4: "id-somebody"}, "seat 4 holds id-somebody"),
    ]:
        assert told in seating_problem(arm, make.reseated(game, seats))


def test_what_arms_did_not_share_is_told(drawing, make):
    arms = {
        side: build_arm(drawing, side, make.roster(), make.policies()) for side in ("candidate", "baseline")
    }
    games = {side: make.record(arm) for side, arm in arms.items()}
    games["candidate"] = make.record(
        arms["candidate"],
        [make.reseated(make.episode(arms["candidate"], i), {2: f"id-{i % 2}", 3: "id-x"}) for i in range(4)],
    )
    [found] = unshared(arms, games)
    assert found.detail == "candidate met 3 versions in seats 2, 3; baseline met the frozen field only"
    assert list(unshared(make.arms(), games)) == []


@pytest.mark.failure_mode(number=36)
def test_wins_by_the_role_that_was_dealt(make):
    asked = make.plan(natural_roles=True)
    assert ComparisonPlan.from_json(asked.to_json()) == asked
    assert "slots" not in asked.game_config()
    assert asked.game_config()["imposterCount"] == 2
    arms = make.arms(asked)
    forced = make.arms()["candidate"]
    crew, imposter = (
        make.episode(forced, 0),
        make.episode(make.arms(make.plan(tested_seat=2))["candidate"], 1),
    )
    swapped = {**imposter.results}
    for key in ("imposter", "crew", "win", "scores"):
        told = list(swapped[key])
        told[0], told[2] = told[2], told[0]
        swapped[key] = told
    games = [crew, make.episode(forced, 2, win=False), make.episode(forced, 3, results=swapped)]
    record = make.record(arms["candidate"], games)
    assert by_role(record, 0) == {"crew": (1, 2), "imposter": (1, 1)}
    [found] = unshared(arms, {"candidate": record, "baseline": make.record(arms["baseline"], [])})
    assert (
        found.detail == "candidate won 1/2 as crew, 1/1 as imposter; baseline won no game that tells a role"
    )


def test_what_arms_did_not_share_is_told_of_every_field_of_a_pool(make):
    """Whatever judges the games, alone or as one of several fields, is told."""
    asked = make.plan(natural_roles=True)
    arms = make.arms(asked)
    case = Case(
        asked, Frozen(make.roster(), arms), {side: make.record(arms[side], []) for side in arms}, 0, 0
    )
    assert [one.reason for one in case.remarkable] == [Reason.NATURAL_ROLES]
