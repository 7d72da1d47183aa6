import pytest

from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.layouts import ArmRequest, comparison_plan
from pytest_evalharness.settings import resolve


def compare(seat=0, settings=None, **words):
    return comparison_plan(
        ArmRequest.of({0: "bot:v2", 4: "rival:v3"}),
        ArmRequest.of({0: "bot:v1"}),
        seat=seat,
        words=words,
        settings=resolve((settings or {}).get, {}, {}.get),
        server="embedded:2026",
    )


@pytest.mark.parametrize(
    "seats",
    [
        {}, {"0": "bot:v1"}, {True: "bot:v1"}, {0.0: "bot:v1"}, {None: "bot:v1"}, {0: None}, {0: ""}, None, "ab",
        ["bot:v1"], 3,
    ],
)  # fmt: skip
def test_an_arm_needs_a_seat(seats):
    with pytest.raises(UsageError, match="at least one seat"):
        ArmRequest.of(seats)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"seats": 3}, "compare has no 'seats'"),
        ({"claim": "best"}, "claim must be one of"),
        ({"claim": "equivalent"}, "needs a margin"),
        ({"margin": 2}, "margin"),
        ({"episodes": "many"}, "many"),
        ({"seat": 4}, "baseline arm puts nobody into the tested seat 4"),
        ({"seat": 9}, "tested seat 9"),
        ({"seat": 0.0}, "seat must be a whole number"),
        ({"seat": False}, "seat must be a whole number"),
        ({"config": ["ab"]}, "config is a mapping"),
        ({"opponents": {"a", "b"}}, "opponents is a list"),
    ],
)
def test_a_comparison_by_hand_that_is_wrong(words, told):
    with pytest.raises(UsageError, match="nothing was submitted") as caught:
        compare(**words)
    assert told in caught.value.what


def by_hand(candidate, baseline):
    settings = resolve({}.get, {}, {}.get)
    return comparison_plan(candidate, baseline, seat=0, words={}, settings=settings, server="embedded:2026")


def test_a_plain_mapping_is_an_arm_too():
    new, old = {0: "bot:v2", 4: "rival:v3"}, {0: "bot:v1"}
    assert by_hand(new, old) == by_hand(ArmRequest.of(new), ArmRequest.of(old))


@pytest.mark.parametrize("arm", [None, "bot:v1", {}, {"0": "bot:v1"}, [0]])
def test_what_is_no_arm_is_refused(arm):
    with pytest.raises(UsageError, match="at least one seat"):
        by_hand({0: "bot:v2"}, arm)


def test_a_comparison_by_hand():
    plan = compare(claim="noninferior", margin=0.2, rule="overlap", episodes=12, ticks=500, opponents=["a"])
    assert plan.candidate == {0: "bot:v2", 4: "rival:v3"}
    assert plan.baseline == {0: "bot:v1"}
    assert (plan.tested_seat, plan.episodes, plan.ticks, plan.opponents) == (0, 12, 500, ("a",))
    assert (plan.declaration.claim, plan.declaration.margin, plan.declaration.rule) == (
        "noninferior",
        0.2,
        "overlap",
    )


def test_the_command_line_wins_over_what_a_case_says_by_hand():
    plan = compare(settings={"num": "8", "ticks": "100"}, episodes=12, ticks=500)
    assert (plan.episodes, plan.ticks) == (8, 100)
    assert compare().episodes == 30
    assert compare().ticks == 10_000
    assert compare().declaration.claim == "better"
