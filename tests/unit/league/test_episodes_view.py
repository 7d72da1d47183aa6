from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.blocks import BlockSpec
from pytest_evalharness.league.episodes_view import episodes_view, wrong_seats
from pytest_evalharness.league.records import RequestRecord, SeatedAs
from pytest_evalharness.league.trust import seating_problem

HOSTILE = "\x1b[31m</script>\u202e"


@pytest.fixture
def arms(make):
    return make.arms()


@pytest.fixture
def arm(arms):
    return arms["candidate"]


@pytest.fixture
def rows(make, arms):
    """The candidate's rows for some episodes."""

    def view(*episodes, **changes):
        records = {"candidate": make.record(arms["candidate"], list(episodes), **changes)}
        return episodes_view(arms, records)["candidate"]["rows"]

    return view


# ----------------------------------------------------------- what is missing


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        (
            {"status": "failed", "error_type": "platform_error", "results": None},
            "failed: platform_error (infrastructure)",
        ),
        ({"status": "cancelled", "results": None}, "cancelled (infrastructure)"),
        (
            {"status": "failed", "error_type": HOSTILE, "results": None},
            "failed: \ufffd[31m</script>\ufffd (unknown cause)",
        ),
        ({"results": None}, "no result for the tested seat (unknown cause)"),
        ({"results": {"scores": [1]}}, "no result for the tested seat (unknown cause)"),
        (
            {"results": {"win": [False] * 8, "connect_timeout": [0, 1]}},
            "a connection timed out (infrastructure)",
        ),
    ],
)
def test_an_episode_that_says_nothing_tells_why(make, arm, rows, changes, cause):
    row = rows(make.episode(arm, 0, **changes))[0]
    assert (row["outcome"], row["cause"], row["score"], row["kills"]) == ("missing", cause, None, None)


def test_what_the_tested_policy_failed_itself_is_a_loss_and_says_so(make, arm, rows):
    own = {"status": "failed", "error_type": "player_error", "failed_seat": 0, "results": None}
    row = rows(make.episode(arm, 0, **own))[0]
    assert (row["outcome"], row["cause"]) == (
        "loss",
        "failed: player_error (the tested policy's own failure)",
    )


def test_a_crash_in_a_game_that_was_played_is_a_loss_and_says_so(make, arm, rows):
    ended = [{"slot": i, "state": "exited", "exit_code": 0, "finished_at": 1000.0} for i in range(8)]
    ended[0] |= {"exit_code": 1, "finished_at": 500.0}
    row = rows(make.episode(arm, 0, players=ended))[0]
    assert (row["outcome"], row["cause"]) == (
        "loss",
        "its process broke while the game went on (the tested policy's own failure)",
    )


def test_an_episode_that_was_played_has_no_cause_and_its_numbers(make, arm, rows):
    won, lost = rows(make.episode(arm, 0), make.episode(arm, 1, win=False))
    assert [(r["outcome"], r["cause"], r["score"], r["kills"], r["seed"]) for r in (won, lost)] == [
        ("win", "", 1.0, 1, 0),
        ("loss", "", 0.0, 1, 1),
    ]


def test_who_never_sat_is_not_misplaced(make, arm, rows):
    row = rows(make.episode(arm, 0, status="failed", results=None, participants=()))[0]
    assert (row["seated"], row["wrong"]) == (False, {})


# --------------------------------------------------------------------- seats


def test_a_wrong_seat_names_who_sat_there(make, arm, rows):
    swapped = make.reseated(make.episode(arm, 0), {0: "id-rival-1", 1: "id-bot:v2", 5: "id-nobody-knows"})
    assert rows(swapped)[0]["wrong"] == {"0": "rival-1:v1", "1": "bot:v2", "5": "id-nobody-knows"}


def test_what_is_no_policy_is_named_by_what_it_is(make, arm):
    odd = make.reseated(
        make.episode(arm, 0),
        {1: {"is_filler": True}, 2: {"kind": HOSTILE}, 3: {"policy_version_id": None}},
    )
    assert wrong_seats(arm, odd) == {"1": "a filler", "2": "a \ufffd[31m</script>\ufffd", "3": "nobody"}


def test_empty_shared_and_unknown_positions_are_wrong(make, arm):
    episode = make.episode(arm, 0)
    crowd = (*episode.participants[1:], episode.participants[2], replace(episode.participants[0], position=9))
    assert wrong_seats(arm, replace(episode, participants=crowd)) == {
        "0": "nobody",
        "2": "rival-2:v2 and rival-2:v2",
        "9": "bot:v2",
    }


def test_a_forced_role_that_was_not_played_is_wrong(make, arm):
    episode = make.episode(arm, 0)
    results = {**episode.results, "crew": [0] + [1] * 7, "imposter": [1, 0, 0, 1, 0, 0, 0, 0]}
    assert wrong_seats(arm, replace(episode, results=results)) == {
        "0": "as imposter", "2": "as crew", "3": "as no role",
    }  # fmt: skip


@given(
    st.lists(
        st.builds(
            SeatedAs,
            st.integers(-1, 9),
            st.sampled_from(["id-bot:v2", "id-rival-1", "id-rival-2", "elsewhere", None]),
            st.sampled_from(["policy", "human"]),
            st.booleans(),
        ),
        min_size=1,
        max_size=10,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
def test_a_seat_is_marked_exactly_where_the_trust_check_objects(make, arm, participants):
    episode = replace(make.episode(arm, 0), participants=tuple(participants))
    assert bool(wrong_seats(arm, episode)) == bool(seating_problem(arm, episode))


@given(st.dictionaries(st.integers(0, 7), st.sampled_from(["id-rival-1", "id-bot:v2", "x"]), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_exactly_the_seats_that_changed_hands_are_marked(make, arm, seats):
    placed = {seat.position: seat.policy_version_id for seat in arm.seats}
    changed = {str(position) for position, who in seats.items() if placed[position] != who}
    assert set(wrong_seats(arm, make.reseated(make.episode(arm, 0), seats))) == changed


# ---------------------------------------------------------------- whole arms


def test_an_arm_says_who_was_placed_where(make, arms):
    view = episodes_view(arms, {side: make.record(arms[side]) for side in SIDES})
    assert list(view) == ["candidate", "baseline"]
    assert view["candidate"]["tested_seat"] == 0
    assert view["candidate"]["seats"][0] == {"position": 0, "label": "bot:v2", "role": "crew"}
    assert [seat["role"] for seat in view["baseline"]["seats"]].count("imposter") == 2
    assert [row["request"] for row in view["baseline"]["rows"]] == ["xreq_baseline"] * 4
    assert all(row["wrong"] == {} and row["seated"] for row in view["baseline"]["rows"])


def test_without_arms_or_records_there_are_no_episodes(make, arms):
    assert episodes_view({}, {}) == {}
    assert list(episodes_view(arms, {"baseline": make.record(arms["baseline"])})) == ["baseline"]


def test_episodes_are_told_to_their_requests_only_where_that_is_known(make, arm, rows):
    three = [make.episode(arm, i) for i in range(3)]
    ids = {"request_ids": ("xreq_1", "xreq_2"), "request_statuses": ("completed", "completed")}
    assert [row["request"] for row in rows(*three, **ids)] == ["", "", ""]


def test_an_episode_is_told_to_the_request_that_listed_it(make, arm, rows):
    more = [make.episode(arm, i) for i in range(4)]  # the first request listed one more than was asked for
    told = rows(
        *more,
        request_ids=("xreq_1", "xreq_2"),
        requests=(RequestRecord(BlockSpec(2), 3), RequestRecord(BlockSpec(1), 1)),
    )
    assert [row["request"] for row in told] == ["xreq_1", "xreq_1", "xreq_1", "xreq_2"]


def test_rows_are_plain_data_even_of_a_hostile_server(make, arm, rows):
    nasty = make.episode(arm, 0, id=HOSTILE * 100, status=HOSTILE, results=None)
    text = canonical_json(rows(nasty))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 400
