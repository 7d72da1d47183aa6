import json

import pytest

from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.plan import Budgets, ComparisonPlan, names
from pytest_evalharness.league.seats import Role
from pytest_evalharness.verdict.claim import Declaration

ROLES = [*["crew"] * 2, *["imposter"] * 2, *["crew"] * 4]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"candidate": {1: "bot:v2"}}, "candidate arm puts nobody into the tested seat 0"),
        ({"baseline": {}}, "baseline arm puts nobody into the tested seat 0"),
        ({"candidate": {0: "bot:v2", 8: "bot:v2"}}, "candidate arm names seat 8; seats are 0 to 7"),
        ({"baseline": {0: "bot:v1", -1: "bot:v1"}}, "baseline arm names seat -1"),
        ({"tested_seat": 8}, "names seat 8"),
        ({"opponents": tuple("abcdefgh")}, "8 opponents were named; 7 seats are open"),
        ({"top_n": 3}, "--eval-top-n 3 leaves 4 seats empty"),
        ({"top_n": 4, "opponents": ("a", "b")}, "--eval-top-n 4 leaves 1 seats empty"),
    ],
)
def test_what_cannot_be_seated_is_refused(make, wrong, told):
    with pytest.raises(UsageError, match="nothing was submitted") as caught:
        make.plan(**wrong)
    assert told in caught.value.what
    assert caught.value.exit_code == 4


def test_named_opponents_leave_fewer_seats_to_the_ranking(make):
    assert make.plan().seats_from_ranking == 7
    assert make.plan(opponents=("a", "b")).seats_from_ranking == 5
    assert make.plan(opponents=tuple("abcdefg"), top_n=1).seats_from_ranking == 0


def test_seat_role_and_labels(make):
    plan = make.plan(tested_seat=2, baseline={2: "rival:v3", 5: "bot:v1"})
    assert plan.role is Role.IMPOSTER
    assert (plan.label("candidate"), plan.label("baseline")) == ("bot:v2", "rival:v3")
    assert plan.pins("baseline") == {2: "rival:v3", 5: "bot:v1"}


# ------------------------------------------------------------------ the key


def test_an_aa_run_is_another_question_and_an_ordinary_plan_keeps_its_key(make):
    ordinary, aa = make.plan().to_json(), make.plan(aa=True).to_json()
    assert "aa" not in ordinary  # ledgers already hold its key
    assert aa == {**ordinary, "aa": True}


def test_an_aa_run_needs_a_rule_that_could_raise_an_alarm(make):
    with pytest.raises(UsageError, match="could never raise an alarm"):
        make.plan(aa=True, declaration=Declaration("better", "bayes"))


def test_what_was_asked_is_plain_and_free_of_labels(make):
    data = make.plan(candidate={5: "bot:v2", 0: "bot:v3"}, config={"voteTimerTicks": 1200}).to_json()
    assert json.loads(canonical_json(data)) == data
    assert set(data) == {
        "server", "league", "division", "backend", "layout_seed", "tested_seat", "candidate", "baseline", "opponents",
        "top_n", "episodes", "ticks", "config", "declaration",
    }  # fmt: skip
    assert data["candidate"] == {"0": "bot:v3", "5": "bot:v2"}
    assert "notes" not in canonical_json(data)


def test_the_same_question_has_the_same_key_however_it_was_spelt(make):
    one = make.plan(candidate={0: "bot:v2", 5: "bot:v9"}, config={"a": 1, "b": 2})
    other = make.plan(candidate={5: "bot:v9", 0: "bot:v2"}, config={"b": 2, "a": 1})
    assert canonical_json(one.to_json()) == canonical_json(other.to_json())


@pytest.mark.parametrize(
    "change",
    [
        {"server": "https://host/api"}, {"league": "league_2"}, {"division": "div_2"}, {"backend": "antfarm"},
        {"layout_seed": 1}, {"tested_seat": 1}, {"candidate": {0: "bot:v3"}}, {"baseline": {0: "bot:v3"}},
        {"opponents": ("a",)}, {"episodes": 5}, {"ticks": 9_999}, {"config": {"killRange": 21}},
        {"declaration": Declaration("not_worse")}, {"declaration": Declaration("better", margin=0.1)},
        {"declaration": Declaration("better", rule="overlap")}, {"declaration": Declaration("better", alpha=0.01)},
        {"declaration": Declaration("better", target_lift=0.2)},
    ],
)  # fmt: skip
def test_every_part_of_the_question_is_part_of_the_key(make, change):
    assert canonical_json(make.plan(**change).to_json()) != canonical_json(make.plan().to_json())


# ----------------------------------------------------------------- overrides


def test_the_config_is_complete_and_cannot_undo_the_layout(make):
    config = make.plan(
        ticks=1000,
        config={"killRange": 9},
    ).game_config()
    assert config == {
        "killRange": 9,
        "maxTicks": 1000,
        "imposterCount": 2,
        "autoImposterCount": False,
        "slots": [{"role": role} for role in ROLES],
    }


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"maxTicks": 5}, "--eval-ticks"), ({"imposterCount": 2}, "two imposters"),
        ({"autoImposterCount": False}, "two imposters"), ({"slots": []}, "--eval-layout-seed"),
        ({"tokens": []}, "the service"), ({"players": []}, "opponents"),
        ({1: 2}, "text, not 1"), ({None: 2, "a": 1}, "text, not None"), ({"a": {1}}, "plain JSON"), (["ab"], "mapping"),
    ],
)  # fmt: skip
def test_a_config_key_that_belongs_elsewhere_is_refused(make, config, told):
    with pytest.raises(UsageError, match="nothing was submitted") as caught:
        make.plan(config=config)
    assert told in caught.value.what


@pytest.mark.parametrize("seat", [0.0, False, "0", None])
def test_the_tested_seat_is_a_whole_number(make, seat):
    with pytest.raises(UsageError, match="seat must be a whole number"):
        make.plan(tested_seat=seat, candidate={0: "bot:v2"}, baseline={0: "bot:v1"})


@pytest.mark.parametrize("value", [{"a", "b"}, frozenset("ab"), {"a": 1}, "ab", iter("ab"), 3])
def test_names_have_an_order(value):
    with pytest.raises(UsageError, match="opponents is a list of names"):
        names("opponents", value)
    assert names("opponents", ["b", "a"]) == names("opponents", ("b", "a")) == ("b", "a")


# ------------------------------------------------------------------- budgets


def test_the_runbooks_budgets(make):
    budgets = Budgets.for_plan(make.plan(episodes=30, ticks=10_000), queue=7200)
    assert budgets.total == pytest.approx(30 * 10_000 / 24 * 3 + 900)
    assert budgets.total == pytest.approx(38_400)
    assert budgets.stall == pytest.approx(10_000 / 24 * 3 + 600)
    assert budgets.stall == pytest.approx(1_850)
    assert budgets.queue == 7200


def test_what_a_user_overrides_is_taken_even_if_tiny(make):
    budgets = Budgets.for_plan(make.plan(), queue=0.1, stall=0.2, total=0.3)
    assert (budgets.queue, budgets.stall, budgets.total) == (0.1, 0.2, 0.3)
    assert Budgets.for_plan(make.plan(), queue=1, stall=0.0).stall == 0.0


def test_how_far_down_the_ranking_may_be_looked_is_no_other_question(make):
    """Or a search through it would find a lucky field of the very same players, each time as a first attempt."""
    assert make.plan(top_n=8).to_json() == make.plan(top_n=15).to_json()
    again = ComparisonPlan.from_json(make.plan(top_n=15).to_json())
    assert again.seats_from_ranking == 7
    assert ComparisonPlan.from_json(make.plan(opponents=tuple("abcdefg"), top_n=1).to_json()).top_n == 1


@pytest.mark.parametrize(("total", "seconds"), [(None, 38_400), ("parallel", 2_150), (77.0, 77)])
def test_the_total_is_the_pages_unless_the_user_says_otherwise(make, total, seconds):
    """`parallel` drops the factor num: a request's games are played at one time."""
    budgets = Budgets.for_plan(make.plan(episodes=30, ticks=10_000), queue=7200, total=total)
    assert budgets.total == pytest.approx(seconds)
