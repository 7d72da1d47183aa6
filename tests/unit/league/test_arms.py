import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.league.arms import SIDES, Arm, build_arm, signed_body

ROLES = [*["crew"] * 2, *["imposter"] * 2, *["crew"] * 4]


def test_the_body_is_what_the_service_accepts(make):
    plan = make.plan(episodes=30, ticks=10_000)
    body = build_arm(plan, "candidate", make.roster(), make.policies()).body
    assert body == {
        "target": {"league_id": "league_1", "division_id": "div_1"},
        "roster": [
            {"player": {"policy_ref": "id-bot:v2"}, "slot": 0},
            *({"player": {"policy_ref": f"id-rival-{i}"}, "slot": i} for i in range(1, 8)),
        ],
        "num_episodes": 30,
        "execution_backend": "k8s",
        "game_config_overrides": {
            "maxTicks": 10_000,
            "imposterCount": 2,
            "autoImposterCount": False,
            "slots": [{"role": r} for r in ROLES],
        },
    }
    assert json.loads(canonical_json(body)) == body


@given(seed=st.integers(0, 2**40), seat=st.integers(0, 7))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_the_arms_differ_in_the_tested_seat_only(make, seed, seat):
    plan = make.plan(layout_seed=seed, tested_seat=seat)
    bodies = {side: build_arm(plan, side, make.roster(), make.policies()).body for side in SIDES}
    candidate, baseline = (dict(bodies[side]) for side in SIDES)
    seats = [candidate.pop("roster"), baseline.pop("roster")]
    assert candidate == baseline
    for one in seats:
        assert [entry["slot"] for entry in one] == list(range(8))
        assert all(list(entry["player"]) == ["policy_ref"] for entry in one)
    assert [entry["slot"] for entry, other in zip(*seats, strict=True) if entry != other] == [seat]
    slots = candidate["game_config_overrides"]["slots"]
    assert len(slots) == 8
    assert sum(slot["role"] == "imposter" for slot in slots) == 2
    assert candidate["game_config_overrides"]["imposterCount"] == 2
    assert candidate["game_config_overrides"]["autoImposterCount"] is False


def test_the_field_fills_the_other_seats_in_its_order(make):
    arm = build_arm(make.plan(tested_seat=3), "baseline", make.roster(), make.policies())
    assert [seat.label for seat in arm.seats] == [
        "rival-1:v1", "rival-2:v2", "rival-3:v3", "bot:v1", "rival-4:v4", "rival-5:v5", "rival-6:v6", "rival-7:v7",
    ]  # fmt: skip
    assert [seat.role for seat in arm.seats] == ROLES
    assert arm.label == "bot:v1"


def test_an_arms_own_pins_come_before_the_field(make):
    plan = make.plan(candidate={0: "bot:v2", 5: "rival:v3"})
    arms = {side: build_arm(plan, side, make.roster(), make.policies()) for side in SIDES}
    assert arms["candidate"].seats[5].policy_version_id == "id-rival:v3"
    assert arms["baseline"].seats[5].policy_version_id == "id-rival-5"
    different = [a.position for a, b in zip(*(arms[s].seats for s in SIDES), strict=True) if a != b]
    assert different == [0, 5]


def test_an_arm_comes_back_from_the_journal_as_it_was(make):
    arm = make.arms()["candidate"]
    assert Arm.from_json("candidate", json.loads(canonical_json(arm.to_json()))) == arm


@pytest.mark.parametrize("notes", ["", "short", "x" * 5000])
def test_a_request_can_be_found_again(make, notes):
    body = make.arms()["candidate"].body
    before = canonical_json(body)
    signed = signed_body(body, notes=notes, token="evh-token-1", idempotency_key="evh-key-1")
    assert signed["notes"].startswith("evh-token-1 ")
    assert len(signed["notes"]) <= 1000
    assert signed["idempotency_key"] == "evh-key-1"
    assert {key: value for key, value in signed.items() if key in body} == body
    assert canonical_json(body) == before
