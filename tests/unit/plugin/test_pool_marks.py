"""The mark of a pool: what it refuses, how configurations are named, what the command line does to them."""

import pytest

from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.pool_plan import PoolPlan
from pytest_evalharness.plugin.pool_marks import pool_plan_of, validate_pool
from pytest_evalharness.settings import resolve

NODEID = "evals/test_a.py::test_b"
NAMES = {"candidate": "bot:v2", "baseline": "bot:v1"}
ROLES = [{"role": "crew"}, {"role": "imposter"}]


def planned(configs=ROLES, options=None, **words):
    mark = pytest.mark.league_pool.with_args(configs=configs, **words).mark
    validate_pool(mark, NODEID)
    settings = resolve({**NAMES, **(options or {})}.get, {}, {}.get)
    return pool_plan_of(NODEID, mark.kwargs, settings, "embedded:2026")


def refusal(*args, **words):
    with pytest.raises(UsageError) as caught:
        planned(*args, **words)
    assert caught.value.what.startswith(f"{NODEID}: ")
    assert "nothing was submitted" in caught.value.not_done
    return caught.value.what


@pytest.mark.parametrize(
    "configs", [None, {"role": "crew"}, "crew", [("role", "crew")], ["crew", "imposter"]]
)
def test_configurations_are_a_list_of_mappings(configs):
    assert "league_pool needs configs=[{…}, {…}]" in refusal(configs)


@pytest.mark.parametrize("configs", [[], [{"role": "crew"}]])
def test_one_configuration_is_no_pool(configs):
    assert f"a pool takes at least 2 configurations, got {len(configs)}" in refusal(configs)


def test_a_typo_gets_a_suggestion():
    assert "league_pool has no keyword 'effect'; did you mean 'effects'?" in refusal(effect="random")
    typo = refusal([{"role": "crew"}, {"rol": "imposter"}])
    assert "configs[1] has no keyword 'rol'; did you mean 'role'?" in typo
    assert "it knows role, episodes, ticks" in refusal([{"xyzzy": 1}, {}])


@pytest.mark.parametrize(
    "word",
    ["claim", "rule", "margin", "alpha", "target_lift", "looks", "pairing", "spending", "missing", "effects"],
)
def test_what_is_declared_once_stays_out_of_the_configurations(word):
    told = refusal([{"role": "crew", word: 1}, {"role": "imposter"}])
    assert f"configs[0] names {word}, which is declared once for the whole pool" in told
    assert f"league_pool({word}=…)" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"rule": "overlap"}, "rule 'overlap' has no way to pool"),
        ({"claim": "separated"}, "claim 'separated'"),
        ({"claim": "equivalent"}, "needs a margin"),
        ({"pairing": "seed"}, "pairing 'seed' cannot be pooled"),
        ({"looks": [10, 30]}, "looks need a rule that stands them"),
        ({"effects": "random"}, "at least 4 configurations"),
        ({"effects": "mixed"}, "effects must be one of fixed, random"),
        ({"secondary": ["score"]}, "secondary metrics have no say in a pool"),
    ],
)
def test_what_cannot_be_pooled_is_refused_at_collection(words, told):
    assert told in refusal(**words)


@pytest.mark.parametrize(
    ("configs", "told"),
    [
        ([{"role": "crew"}, {}], "'crew' and 'as declared' are the same"),
        ([{"candidate_seats": {0: "a:v1"}}, {"candidate_seats": {0: "b:v1"}}], "share an arm"),
        (
            [
                {"candidate_seats": {0: "a:v1"}},
                {"candidate_seats": {0: "b:v1"}, "baseline_seats": {0: "a:v1"}},
            ],
            "share an arm",
        ),
    ],
)
def test_games_are_counted_once(configs, told):
    assert told in refusal(configs)
    assert "their games would be counted twice" in refusal(configs)


def test_a_wrong_value_names_its_configuration():
    assert "configs[1]: episodes must be 1 to 100, got 0" in refusal(
        [{}, {"role": "imposter", "episodes": 0}]
    )


def test_an_override_that_makes_configurations_alike_is_named():
    told = refusal([{"ticks": 1000}, {"ticks": 2000}], options={"ticks": "3000"})
    assert "are the same" in told
    assert "--eval-ticks 3000 overrides ticks=1000" in told


def test_configurations_win_over_what_is_common_to_them():
    plan, overridden = planned(
        [{"role": "crew"}, {"role": "imposter", "episodes": 50}, {"opponents": ["basilisk", "ember"]}],
        episodes=20,
        claim="noninferior",
        margin=0.2,
        division="div_1",
    )
    assert plan.names == ("crew", "imposter, episodes 50", "opponents basilisk ember")
    assert [part.episodes for part in plan.plans] == [20, 50, 20]
    assert [str(part.role) for part in plan.plans] == ["crew", "imposter", "crew"]
    assert {part.division for part in plan.plans} == {"div_1"}
    assert {part.declaration for part in plan.plans} == {plan.declaration}
    assert (plan.declaration.claim, plan.declaration.margin) == ("noninferior", 0.2)
    assert plan.declaration.secondary == ()
    assert overridden == []


def test_the_command_line_wins_in_every_configuration_and_says_so_once():
    plan, overridden = planned(options={"num": "40", "rule": "overlap"}, episodes=30)
    assert [part.episodes for part in plan.plans] == [40, 40]
    assert overridden == [f"--eval-num 40 overrides episodes=30 of {NODEID}"]
    assert plan.declaration.rule == "score"


def test_four_configurations_may_be_a_sample():
    plan, _ = planned([{"ticks": n} for n in (1000, 2000, 3000, 4000)], effects="random")
    assert plan.declaration.effects == "random"
    assert plan.names == ("ticks 1000", "ticks 2000", "ticks 3000", "ticks 4000")


def test_equal_names_are_told_apart():
    plan, _ = planned([{"opponents": ("a",)}, {"opponents": ["a"], "role": None, "ticks": 5}, {}])
    assert plan.names == ("opponents a", "opponents a, ticks 5", "as declared")
    long = "x" * 80
    alike, _ = planned([{"opponents": [long]}, {"opponents": [long, "b"]}])
    assert alike.names[1] == f"{alike.names[0]} (2)"


def test_a_plan_comes_back_from_the_ledger():
    plan, _ = planned(effects="fixed", config={"votingTicks": 5})
    data = {**plan.to_json(), "versions": {"bot:v2": "id"}}
    assert PoolPlan.from_json(data) == plan
    assert data["server"] == "embedded:2026"
