import json

import pytest

from pytest_evalharness.stats import power
from pytest_evalharness.verdict.chances import outcome_chances
from pytest_evalharness.verdict.claim import Declaration, usual_looks
from pytest_evalharness.verdict.plan_wording import power_lines, verdict_lines
from pytest_evalharness.verdict.planning import outlook
from pytest_evalharness.verdict.words import Claim, Decision, Rule


def planned(claim="better", rule="score", *, games=30, **words):
    declared = {key: words.pop(key) for key in ("margin", "target_lift", "alpha", "looks") if key in words}
    return outlook(Declaration(claim, rule, **declared), games=games, **words)


@pytest.mark.parametrize(
    ("base", "lift", "score", "overlap"),
    [
        (0.125, 0.10, 223, 371),
        (0.25, 0.20, 89, 146),
        (0.5, 0.1, 392, 645),
        (0.5, 0.4, 19, 31),
        (0.75, 0.2, 45, 78),
    ],
)
def test_games_needed_as_tabulated(base, lift, score, overlap):
    found = planned(base=base, target_lift=lift)
    assert (found.needed.games, found.needed_other.games) == (score, overlap)
    assert found.needed.counted


def test_games_beyond_what_is_counted_come_from_the_formula_and_are_called_so():
    found = planned(base=0.5, target_lift=0.03)
    assert not found.needed.counted
    assert found.needed.games == pytest.approx(power.games_formula(0.5, 0.53), abs=1)
    assert "needs about 43" in "\n".join(power_lines(found))
    assert not planned(rule="exact").needed.counted
    assert planned(rule="exact", target_lift=0.2).needed.games == 95


def test_each_claim_is_planned_for_what_it_asks():
    assert planned("separated").needed.games == 645
    assert planned("separated").rule == "overlap"
    assert (
        planned("not_worse", base=0.25, target_lift=0.2).needed.games == 45
    )  # to see the loss: .75 + .2 mirrored
    assert planned("not_worse", base=0.75, target_lift=0.2).needed.games == 89
    margins = planned("equivalent", margin=0.2), planned("noninferior", margin=0.2)
    assert [found.needed.games for found in margins] == [103, 75]
    assert margins[0].needed_other is None
    assert planned(rule="bayes").needed.games is None


def test_few_games_are_counted_with_the_exact_test_that_must_agree():
    found = planned(base=0.1, target_lift=0.85)
    chance = outcome_chances(Declaration("better", target_lift=0.85), 0.95, 0.1, found.needed.games)
    assert found.needed.games < 10
    assert chance.decisions[Decision.MET] >= 0.8


def test_the_scenarios_are_the_chances_of_the_case():
    found = planned("noninferior", margin=0.2, games=100, target_lift=0.15)
    assert [(one.words, one.rate) for one in found.scenarios] == [
        ("no effect", 0.5),
        ("a true loss of 0.20", 0.3),
        ("a true lift of 0.15", 0.65),
    ]
    declared = Declaration("noninferior", margin=0.2, target_lift=0.15)
    assert found.scenarios[1].chances == outcome_chances(declared, 0.3, 0.5, 100)
    assert [one.words for one in planned("not_worse").scenarios] == [
        "no effect",
        "a true loss of 0.10",
        "a true lift of 0.10",
    ]


def test_pairs_need_fewer_games_the_more_alike_they_are():
    needed = [planned(correlation=phi, target_lift=0.2).needed.games for phi in (0.0, 0.3, 0.6)]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > planned(target_lift=0.2).needed.games - 5
    found = planned(correlation=0.3, target_lift=0.2)
    assert found.other is None
    assert found.scenarios[1].chances.decisions[Decision.MET] == pytest.approx(0.434, abs=6e-4)
    assert f"needs {found.needed.games} pairs" in "\n".join(power_lines(found))


def test_configurations_are_counted_together():
    found = planned(configs=4)
    assert found.scenarios == planned(games=120).scenarios
    assert found.detectable[30] == planned(games=120).detectable[120]
    text = "\n".join(power_lines(found))
    assert "30 games in each of 4 configurations find a lift of 0.18 (overlap rule 0.22)" in text
    assert "a lift of 0.10 needs 98 games an arm in each of 4 configurations (overlap rule 162)" in text


def test_the_lines_of_a_plan():
    assert [*power_lines(planned()), *verdict_lines(planned())] == [
        "power      from a rate of 0.5: 30 games find a lift of 0.33 (overlap rule 0.41) with 80 % power",
        "           a lift of 0.10 needs 392 games an arm (overlap rule 645), as 4 requests of 100",
        "           smallest lift found: none with 8, 0.33 with 30, 0.19 with 100 games (overlap rule none, 0.41, 0.24)",
        "chances    under no effect: passes 3%, fails 3%, cannot tell 95%",
        "chances    under a true lift of 0.10: passes 12%, fails 0%, cannot tell 88%",
        "verdicts   under no effect: better 2.6%, worse 2.6%, equivalent 0.0%, inconclusive 94.8% (separated 0.3%)",
        "verdicts   under a true lift of 0.10: better 12.0%, worse 0.3%, equivalent 0.0%, inconclusive 87.7% (separated 2.4%)",
    ]


def test_an_effect_that_there_is_no_room_for_is_told_as_the_most_there_can_be():
    found = planned(target_lift=0.6)
    assert found.scenarios[1].words == "a true lift of 0.50 (the most there can be from 0.5)"
    assert found.scenarios[1].rate == 1.0
    assert "a lift of 0.50 (the most there can be from 0.5) needs" in "\n".join(power_lines(found))
    lost = planned("noninferior", base=0.25, margin=0.4).scenarios[1]
    assert (lost.words, lost.rate) == ("a true loss of 0.25 (the most there can be from 0.25)", 0.0)


@pytest.mark.parametrize("rule", ["score", "always_valid"])
def test_no_number_is_told_that_nobody_can_play(rule):
    found = planned(rule=rule, target_lift=1e-6)
    assert found.needed.games is None
    assert "a lift of 1e-06 needs more games than there can be" in "\n".join(power_lines(found))
    assert planned(rule=rule, target_lift=1e-20).needed.games is None


def test_a_correlation_that_the_rates_cannot_have_is_lowered_aloud():
    found = planned(correlation=0.9, target_lift=0.3)
    assert [one.correlation for one in found.scenarios] == [0.9, pytest.approx(0.5)]
    told = [line for line in power_lines(found) if line.startswith("pairs")]
    assert told == [
        "pairs      under a true lift of 0.30 the two rates cannot correlate by 0.9: counted with 0.50, the most they can"
    ]
    possible = planned(correlation=found.scenarios[1].correlation, target_lift=0.3)
    assert possible.scenarios[1].chances == found.scenarios[1].chances
    certain = planned(correlation=0.3, target_lift=0.5)
    assert certain.scenarios[1].correlation == 0.0
    assert not [line for line in power_lines(planned(correlation=0.3)) if line.startswith("pairs")]


@pytest.mark.parametrize(
    ("base", "lift", "games", "says"),
    [
        (0.5, 0.2, 30, "(simulated, standard error 0.2"),
        (0.5, 0.2, 8, "(simulated: not once in 20,000; the order of games decides"),
        (0.01, 0.98, 30, "(simulated: every time in 20,000; the order of games decides"),
    ],
)
def test_a_simulated_chance_says_how_exact_it_is(base, lift, games, says):
    lines = list(power_lines(planned(rule="always_valid", base=base, target_lift=lift, games=games)))
    assert says in lines[-1]


def test_a_rule_that_is_report_only_is_not_planned_for():
    text = "\n".join(power_lines(planned(rule="bayes")))
    assert "no number of games meets a claim under the bayes rule" in text
    assert "passes 0%, fails 0%, cannot tell 100%" in text


DECLARATIONS = [
    (claim, rule)
    for rule in Rule
    for claim in (
        (Claim.BETTER, Claim.NOT_WORSE) if rule.sequential else Claim
    )  # such a rule tells directions only
]


@pytest.mark.parametrize(("claim", "rule"), DECLARATIONS)
@pytest.mark.parametrize("games", [1, 7, 30])
def test_every_declaration_has_an_outlook_in_plain_data(claim, rule, games):
    looks = usual_looks(games) if rule is Rule.GROUP_SEQUENTIAL else ()
    margin = None if rule.sequential else 0.2
    found = planned(claim, rule, games=games, margin=margin, target_lift=0.4, looks=looks)
    plain = found.to_json()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert list(plain) == sorted(plain)
    assert all(line.isprintable() for line in (*power_lines(found), *verdict_lines(found)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"base": 0.0}, "base"),
        ({"base": 1.5}, "base"),
        ({"correlation": 1.0}, "correlation"),
        ({"correlation": 0.3, "rule": "overlap"}, "rule 'overlap' has no plan for pairs"),
    ],
)
def test_what_cannot_be_planned_is_refused(words, message):
    with pytest.raises(ValueError, match=message):
        planned(**words)
