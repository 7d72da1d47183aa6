import json
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.errors import FieldUnavailable
from pytest_evalharness.league.frozen import Frozen
from pytest_evalharness.league.roster import (
    Roster,
    best_scores,
    division_of,
    find_opponent,
    no_longer_live,
    rank,
    resolve_field,
)
from pytest_evalharness.observatory.models import Division, Leaderboard, RoundDetail
from pytest_evalharness.verdict.words import Reason

HOSTILE = "\x1b[31mEvil\n\u202eplayer"
NOBODY = frozenset()


@pytest.fixture
def clock():
    return SimpleNamespace(now=lambda: 1_788_264_000.0)


class Service:
    """As much of the client as a field is chosen from."""

    def __init__(self, live, mine=(), rounds=(), divisions=("div_1",), board=None):
        self.board = board
        self.live, self.mine, self.details, self.divisions = list(live), list(mine), list(rounds), divisions
        self.asked = []

    def memberships(self, *, league_id, division_id=None, active_only=True, mine=False):
        self.asked.append((league_id, division_id, active_only, mine))
        return self.mine if mine else self.live

    def competition_division(self, league):
        return Division(id=self.divisions[0]) if self.divisions else None

    def rounds(self, *, division_id, status, limit):
        assert (status, limit) == ("completed", 10)
        return self.details

    def leaderboard(self, division_id):
        assert division_id in self.divisions
        return Leaderboard.model_validate(self.board)

    def round(self, round_id):
        return next(detail for detail in self.details if detail.id == round_id)


def round_of(number, *results):
    rows = [
        {
            "id": f"rr_{i}", "rank": i, "score": score,
            "policy_version": {"id": f"id-{i}", "policy": {"id": "p", "name": "n"}, "version": 1, "player_id": player},
            "player": {"id": player, "name": "N"} if named else None,
        }
        for i, (player, score, named) in enumerate(results)
    ]  # fmt: skip
    return RoundDetail.model_validate({"id": f"round_{number}", "status": "completed", "results": rows})


# ------------------------------------------------------------------ ranking


def test_best_first_and_unscored_last(make):
    live = [make.membership(player=f"ply_{x}", policy=x) for x in "abcd"]
    ranked = rank(live, {"ply_a": -1.0, "ply_b": 0.7, "ply_d": 0.0}, exclude=NOBODY)
    assert [member.player_id for member in ranked] == ["ply_b", "ply_d", "ply_a", "ply_c"]
    assert [member.score for member in ranked] == [0.7, 0.0, -1.0, None]


def test_ties_are_ordered_by_id(make):
    live = [make.membership(player=f"ply_{x}", policy=x) for x in "cab"]
    assert [m.player_id for m in rank(live, dict.fromkeys(["ply_a", "ply_b", "ply_c"], 0.5), exclude=NOBODY)] == [
        "ply_a", "ply_b", "ply_c",
    ]  # fmt: skip
    assert [m.player_id for m in rank(live, {}, exclude=NOBODY)] == ["ply_a", "ply_b", "ply_c"]


def test_a_player_sits_once_with_the_latest_version(make):
    live = [make.membership(version=v) for v in (9, 10, 2)]
    (member,) = rank(live, {"ply_a": 0.4}, exclude=NOBODY)
    assert (member.label, member.policy_version_id, member.score) == ("rival-a:v10", "id-rival-a-10", 0.4)
    assert member.player_name == "Player of rival-a"


def test_own_players_and_rows_without_a_player_are_left_out(make):
    live = [
        make.membership(player="ply_me", policy="mine"),
        make.membership(player=None, policy="nobody"),
        make.membership(),
    ]
    assert [m.player_id for m in rank(live, {"ply_me": 99.0}, exclude=frozenset({"ply_me"}))] == ["ply_a"]


def test_a_player_that_only_the_version_names(make):
    live = [make.membership(player="ply_a").model_copy(update={"player": None})]
    (member,) = rank(live, {"ply_a": 1.0}, exclude=NOBODY)
    assert (member.player_id, member.player_name, member.score) == ("ply_a", "", 1.0)


@given(st.permutations(range(6)), st.dictionaries(st.integers(0, 5), st.sampled_from([0.0, 0.5, 1.0])))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_the_order_of_the_answer_makes_no_difference(make, order, scores):
    live = [make.membership(player=f"ply_{i % 4}", policy=f"p{i % 4}", version=i) for i in range(6)]
    known = {f"ply_{player}": score for player, score in scores.items()}
    assert rank([live[i] for i in order], known, exclude=NOBODY) == rank(live, known, exclude=NOBODY)


def test_an_empty_league(make):
    assert rank([], {}, exclude=NOBODY) == []


# ------------------------------------------------------------------- scores


def test_the_best_of_recent_rounds_counts():
    rounds = [
        round_of(1, ("a", 0.2, True), ("b", -3.0, True)),
        round_of(2, ("a", 0.9, True), ("b", -5.0, True)),
    ]
    assert best_scores(Service([], rounds=rounds), "div_1") == {"a": 0.9, "b": -3.0}


def test_results_without_score_or_player_are_no_scores():
    rounds = [round_of(1, ("a", None, True), (None, 5.0, False))]
    assert best_scores(Service([], rounds=rounds), "div_1") == {}


def test_a_result_whose_player_only_the_version_names():
    assert best_scores(Service([], rounds=[round_of(1, ("a", 0.5, False))]), "div_1") == {"a": 0.5}


# ---------------------------------------------------------------- opponents


@pytest.fixture
def live(make):
    return [
        make.membership("ply_a", "rival-a", 1, player_name="Ann"),
        make.membership("ply_b", "rival-b", 2, player_name="Bob"),
        make.membership("ply_b", "rival-b", 3, player_name="Bob"),
    ]


@pytest.mark.parametrize("name", ["Ann", "ply_a", "rival-a:v1", "id-rival-a-1"])
def test_an_opponent_by_any_of_its_names(live, name):
    assert find_opponent(name, live).label == "rival-a:v1"


@pytest.mark.parametrize("name", ["ann", "rival-a", "rival-a:v2", "", "Nobody", HOSTILE])
def test_who_is_not_live_cannot_be_seated(live, name):
    with pytest.raises(FieldUnavailable, match="is not live") as caught:
        find_opponent(name, live)
    assert caught.value.not_done == "nothing was submitted"
    assert caught.value.what.isprintable()


def test_several_live_versions_are_listed(make):
    live = [make.membership("ply_b", f"p{HOSTILE}", v, player_name=HOSTILE) for v in (3, 2)]
    with pytest.raises(FieldUnavailable, match="has 2 live versions") as caught:
        find_opponent(HOSTILE, live)
    assert caught.value.what.isprintable()
    assert caught.value.what.index(":v2") < caught.value.what.index(":v3")
    assert "--eval-opponent NAME:vN" in caught.value.next_step


def test_the_same_version_listed_twice_is_one(live):
    assert find_opponent("Ann", [*live, live[0]]).label == "rival-a:v1"


# --------------------------------------------------------------- the field


def players(make, count):
    return [make.membership(f"ply_{i}", f"rival-{i}", 1, player_name=f"P{i}") for i in range(count)]


def test_a_field_of_the_best_without_own_players(make, clock):
    live = players(make, 10)
    rounds = [round_of(1, *((f"ply_{i}", i / 10, True) for i in range(10)))]
    service = Service(live, mine=[live[9]], rounds=rounds)
    roster = resolve_field(service, make.plan(), clock)
    assert [member.player_id for member in roster.opponents] == [f"ply_{i}" for i in range(8, 1, -1)]
    assert (roster.league, roster.division, roster.live_players) == ("league_1", "div_1", 9)
    assert roster.resolved_at == "2026-09-01T12:00:00.000Z"
    assert roster.chosen == "best recent round score"
    assert Roster.from_json(json.loads(canonical_json(roster.to_json()))) == roster


@pytest.mark.failure_mode(number=10)
@pytest.mark.parametrize("named", ["rival-3:v1", "id-rival-3:v1"])
def test_no_draw_seats_whoever_is_tested_a_second_time(make, clock, named):
    live = players(make, 10)
    named = named if named.startswith("rival") else live[3].policy_version.id
    drawn = {2: {"random": True}}
    plan = make.plan(candidate={0: named}, candidate_drawn=drawn, baseline_drawn=drawn)
    roster = resolve_field(Service(live, mine=[live[9]]), plan, clock)
    assert roster.own == ("ply_3", "ply_9")
    assert resolve_field(Service(live, mine=[live[9]]), make.plan(candidate={0: named}), clock).own == ()


@pytest.mark.failure_mode(number=37)
def test_a_champion_flag_that_was_cleared_costs_nobody_its_seat(make, clock):
    """Whoever competes is in the field: the flag is a label of membership, and churn clears it."""
    rounds = [round_of(1, *((f"ply_{i}", i / 10, True) for i in range(10)))]
    cleared = [
        make.membership(f"ply_{i}", f"rival-{i}", 1, substatus="experiment", is_champion=i % 3 == 0)
        for i in range(10)
    ]
    flagged = resolve_field(Service(players(make, 10), rounds=rounds), make.plan(), clock)
    roster = resolve_field(Service(cleared, rounds=rounds), make.plan(), clock)
    assert [each.player_id for each in roster.opponents] == [each.player_id for each in flagged.opponents]
    assert roster.live_players == 10


BOARD = [{"rank": 1, "player_id": "ply_3", "player_name": "P3", "score": 2.5, "rounds_played": 4}]
OLD_BOARD = {"entries": [{"rank": 1, "player": {"id": "ply_3", "name": "P3"}, "mean_round_score": 2.5}]}


@pytest.mark.parametrize("board", [BOARD, OLD_BOARD], ids=["list", "object"])
@pytest.mark.failure_mode(number=5)
def test_a_league_without_recent_scores_is_ranked_by_its_leaderboard(make, clock, board):
    service = Service(players(make, 9), board=board)
    roster = resolve_field(service, make.plan(), clock)
    assert [member.player_id for member in roster.opponents[:2]] == ["ply_3", "ply_0"]
    assert [member.score for member in roster.opponents[:2]] == [2.5, None]
    assert roster.chosen == "leaderboard score: no recent round tells any"
    named = resolve_field(service, make.plan(opponents=("P5",)), clock)
    assert named.chosen == "1 named, the rest by leaderboard score: no recent round tells any"


def test_a_leaderboard_is_not_mixed_with_scores_of_rounds(make, clock):
    rounds = [round_of(1, ("ply_8", 0.5, True))]
    roster = resolve_field(Service(players(make, 9), rounds=rounds, board=BOARD), make.plan(), clock)
    assert [member.player_id for member in roster.opponents[:2]] == ["ply_8", "ply_0"]


def test_no_scores_anywhere_order_by_id(make, clock):
    roster = resolve_field(Service(players(make, 9)), make.plan(), clock)
    assert [member.player_id for member in roster.opponents] == [f"ply_{i}" for i in range(7)]
    assert roster.chosen == "best recent round score"


def test_named_opponents_come_first_and_sit_once(make, clock):
    rounds = [round_of(1, *((f"ply_{i}", i / 10, True) for i in range(9)))]
    roster = resolve_field(Service(players(make, 9), rounds=rounds), make.plan(opponents=("P0", "P8")), clock)
    assert [m.player_id for m in roster.opponents] == [
        "ply_0",
        "ply_8",
        "ply_7",
        "ply_6",
        "ply_5",
        "ply_4",
        "ply_3",
    ]
    assert roster.chosen.startswith("2 named")


def test_a_named_opponents_score_is_told_as_the_others_are(make, clock):
    rounds = [round_of(1, *((f"ply_{i}", i / 10, True) for i in range(9)))]
    roster = resolve_field(
        Service(players(make, 10), rounds=rounds), make.plan(opponents=("P5", "P9")), clock
    )
    assert [(one.label, one.score) for one in roster.opponents[:3]] == [
        ("rival-5:v1", 0.5), ("rival-9:v1", None), ("rival-8:v1", 0.8)
    ]  # fmt: skip


def test_an_own_policy_is_an_opponent_only_where_it_is_named_and_that_is_told(make, clock):
    live = players(make, 9)
    service = Service(live, mine=[live[3]])
    assert resolve_field(service, make.plan(), clock).mine == ()
    roster = resolve_field(service, make.plan(opponents=("P0", "P3")), clock)
    assert roster.mine == ("rival-3:v1",)
    assert Roster.from_json(roster.to_json()) == roster
    [told] = Frozen(roster, {}).caveats()
    assert (told.reason, told.detail) == (Reason.OWN_OPPONENT, "rival-3:v1")


@pytest.mark.parametrize("count", [0, 1, 6])
def test_too_few_live_players(make, clock, count):
    with pytest.raises(
        FieldUnavailable, match=f"has {count} live players besides your own; 7 are needed"
    ) as caught:
        resolve_field(Service(players(make, count)), make.plan(), clock)
    assert "--eval-opponent" in caught.value.next_step


def test_own_players_do_not_fill_the_field(make, clock):
    live = players(make, 7)
    with pytest.raises(FieldUnavailable, match="has 6 live players"):
        resolve_field(Service(live, mine=live[:1]), make.plan(), clock)


def test_a_named_division_is_taken_as_it_is(make):
    assert division_of(Service([], divisions=()), make.plan(division="div_9")) == "div_9"


# ---------------------------------------------------------------- still live


def test_who_has_gone_since(make):
    live = players(make, 8)
    roster = make.roster(opponents=tuple(rank(live[:7], {}, exclude=NOBODY)))
    assert no_longer_live(roster, live) == []
    newer = [*live[1:], make.membership("ply_0", "rival-0", 2)]
    assert [member.label for member in no_longer_live(roster, newer)] == ["rival-0:v1"]
    assert len(no_longer_live(roster, [])) == 7


@pytest.mark.parametrize("tested", range(8))
def test_everybody_in_the_field_has_one_seat(make, tested):
    roster = make.roster()
    seated = [roster.seat(position, tested) for position in range(8) if position != tested]
    assert seated == list(roster.opponents)
