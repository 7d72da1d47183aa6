"""What the command asks is what a mark asks, so that both share one question of the ledger."""

import itertools

import pytest

from pytest_evalharness.errors import (
    ArmStalled,
    ConditionNotMet,
    ForkWithoutSecrets,
    Inconclusive,
    UsageError,
)
from pytest_evalharness.league.game import Game
from pytest_evalharness.league.manifest import Manifest
from pytest_evalharness.league.single import _outcome, case_name, family_of, plan_of
from pytest_evalharness.plugin import marks
from pytest_evalharness.settings import resolve

SERVER = "embedded:2026"
NAMES = {"candidate": "bot:v2", "baseline": "bot:v1"}
OPTIONS = (
    {},
    {"num": "50", "ticks": "500"},
    {"role": "imposter", "claim": "noninferior", "margin": "0.2"},
    {"opponent": ["ember", "basilisk"], "top_n": "5", "division": "div_1"},
    {"rule": "group_sequential", "claim": "not_worse", "target_lift": "0.2"},
    {"aa": True, "backend": "antfarm", "league": "league_1", "layout_seed": "7"},
    {"claim": "separated", "rule": "overlap"},
)


def settings(options):
    return resolve({**NAMES, **options}.get, {}, lambda _: None)


@pytest.mark.parametrize("options", OPTIONS)
def test_it_asks_what_an_empty_mark_asks_under_the_same_settings(options):
    ours = plan_of(settings(options), SERVER)
    theirs, overridden = marks.plan_of("t.py::a", {}, settings(options), SERVER)
    assert ours == theirs
    assert ours.to_json() == theirs.to_json()
    assert overridden == []


def test_its_defaults_ask_what_the_shipped_case_asks():
    words = {"role": "crew", "episodes": 30, "claim": "better"}
    shipped, _ = marks.plan_of("t.py::a", words, settings({}), SERVER)
    assert plan_of(settings({"num": "30", "ticks": "10000", "role": "crew"}), SERVER) == shipped


def test_its_family_is_itself_alone():
    plan = plan_of(settings({}), SERVER)
    family = family_of(case_name(plan), plan, "holm")
    assert [member.cases for member in family.members] == [("ab: bot:v2 against bot:v1 as crew",)]
    aa = plan_of(settings({"aa": True}), SERVER)
    assert family_of(case_name(aa), aa, "holm") is None


@pytest.mark.parametrize(
    ("error", "policy", "outcome", "code"),
    [
        *((None, policy, "passed", 0) for policy in ("exit", "fail", "pass")),
        *((kind("x"), policy, outcome, code) for (kind, outcome, code), policy in itertools.product(
            [(ConditionNotMet, "failed", 1), (ArmStalled, "untrustworthy", 11), (ForkWithoutSecrets, "not_run", 11)],
            ("exit", "fail", "pass"),
        )),
        (Inconclusive("x"), "exit", "inconclusive", 10),
        (Inconclusive("x"), "fail", "failed", 1),
        (Inconclusive("x"), "pass", "inconclusive", 0),
    ],
)  # fmt: skip
def test_outcomes_and_exit_codes_are_the_plugins(error, policy, outcome, code):
    assert _outcome(error, policy) == (outcome, code)


def test_what_has_no_effect_in_the_game_is_told_and_a_role_that_is_typed_is_refused():
    free, told = Game("free", (0, 1)), []
    typed = {**NAMES, "ticks": "300"}
    written = resolve(typed.get, {}, {"role": "imposter"}.get)
    plan = plan_of(written, SERVER, lambda _, **__: free, notice=told.append)
    assert plan.game_config() == {}
    assert told == [
        "free has no roles: ini key evalharness_role is imposter, which has no effect there",
        "free has no setting maxTicks: the tick limit is not sent, and bounds the waiting only",
    ]
    with pytest.raises(UsageError, match="role='crew' was said, and free has no roles"):
        plan_of(settings({"role": "crew"}), SERVER, lambda _, **__: free)


def test_a_refusal_keeps_the_next_step_that_it_names_and_a_mark_is_none_of_the_commands():
    untold = Manifest.read("quiet", None, None)
    with pytest.raises(UsageError, match="does not tell how many seats") as refused:
        plan_of(settings({}), SERVER, game_of=lambda _, **said: untold.game(**said, config={}))
    assert "--eval-seats N" in refused.value.next_step
    with pytest.raises(UsageError, match="needs a margin") as refused:
        plan_of(settings({"claim": "noninferior"}), SERVER)
    assert refused.value.next_step == "correct the option and run the same command again"
