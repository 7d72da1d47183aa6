import pytest

from pytest_evalharness.arena.faults.active import Faults
from pytest_evalharness.arena.faults.registry import FAULTS, FaultSpecError


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "nonsense",
        "nonsense=1",
        "wedged-seat",
        "wedged-seat=8",
        "wedged-seat=-1",
        "wedged-seat=1:rival",
        "wedged-seat=1:rival:3",
        "reset-after-post=0",
        "reset-after-post=x",
        "slow-queue",
        "slow-queue=-1",
        "slow-queue=nan",
        "slow-queue=inf",
        "reject-body=500",
        "reject-body",
        "shuffled-seats=1",
        "shuffled-seats=",
        "html=0",
        "fail-episodes=1.5",
        "fail-players=1:keeper:v1",
        "fail-players=0:keeper:v1:crash",
        "fail-players=1:keeper:v1:sulk",
        "silent-adviser",
        "silent-adviser=keeper",
        "rolled-version=0.7.0",
        "rolled-version=-1:0.7.0",
        "rolled-version=3:",
    ],
)
def test_a_wrong_spec_is_refused_and_changes_nothing(spec):
    faults = Faults(["slow-queue=1"])

    with pytest.raises(FaultSpecError):
        faults.add(spec)

    assert faults.active() == [{"name": "slow-queue", "value": 1.0}]


def test_a_fault_strikes_as_often_as_it_was_told_to():
    faults = Faults(["silent-get=2", "html"])

    assert [faults.take("silent-get") for _ in range(4)] == [True, True, False, False]
    assert all(faults.take("html") for _ in range(10))
    assert not faults.take("reset-after-post")
    assert [each["name"] for each in faults.active()] == ["html"]


def test_wedged_seats_add_up_and_others_are_replaced():
    faults = Faults(["wedged-seat=1", "wedged-seat=2:keeper:v2", "slow-queue=1", "slow-queue=2.5"])

    assert faults.all("wedged-seat") == [(1, None), (2, "keeper:v2")]
    assert faults.value("slow-queue") == 2.5


def test_every_fault_has_a_name_and_a_help():
    assert all(name == fault.name and fault.help for name, fault in FAULTS.items())


def test_players_fail_in_games_that_are_played_and_in_no_more_than_was_said():
    faults = Faults(["fail-players=2:keeper:v1:crash", "fail-players=1:keeper:v2:connect"])

    assert faults.mishaps({"keeper:v1"}, 1) == (("keeper:v1", "crash"),)
    assert faults.mishaps({"keeper:v1", "keeper:v2"}, 5) == (("keeper:v1", "crash"), ("keeper:v2", "connect"))
    assert faults.mishaps({"keeper:v1", "keeper:v2"}, 5) == ()
    assert faults.active() == []


def test_a_game_rolls_on_in_the_middle_of_a_request_and_stays_there():
    faults = Faults(["rolled-version=5:0.7.0"])

    assert faults.rolled(3) is None
    assert faults.rolled(4) == (2, "0.7.0")
    assert faults.rolled(4) == (0, "0.7.0")
    assert Faults([]).rolled(3) is None
    assert Faults(["rolled-version=0:0.7.0"]).rolled(3) == (0, "0.7.0")
