import json

import pytest
from scipy.stats import binom

from pytest_evalharness.verdict.calibration import BEYOND_CHANCE, calibration, promised
from pytest_evalharness.verdict.claim import Declaration, usual_looks
from pytest_evalharness.verdict.words import Rule


def spread(won, games):
    """So many wins, evenly spread over the games."""
    return [(turn + 1) * won // games - turn * won // games for turn in range(games)]


def measured(wins, games=30):
    arms = [(spread(c, games), spread(b, games)) for c, b in wins]
    return {one.rule.value: one for one in calibration(arms)}


def test_every_rule_is_counted():
    found = measured([(15, 15), (23, 15), (15, 23), (26, 15), (25, 18)])
    assert set(found) == {rule.value for rule in Rule}
    assert {rule: one.errors for rule, one in found.items()} == {
        "score": 4,
        "overlap": 1,
        "newcombe": 4,
        "exact": 3,
        "group_sequential": 4,
        "always_valid": 1,
        "bayes": 0,
    }
    assert found["score"].rate == 0.8


@pytest.mark.parametrize(
    ("rule", "games", "largest"),
    [
        ("score", 30, 0.0554),
        ("overlap", 30, 0.0062),
        ("newcombe", 30, 0.0519),
        ("exact", 30, 0.0469),
        ("exact", 100, 0.0496),
        ("score", 8, 0.0279),  # Barnard's test has to agree
        ("newcombe", 8, 0.0279),
        ("score", 4, 0.0),
        ("bayes", 30, 0.0),
        ("always_valid", 30, 0.05),
        ("group_sequential", 100, 0.0534),
    ],
)
def test_what_a_rule_promises_is_its_largest_error(rule, games, largest):
    looks = usual_looks(games) if rule == "group_sequential" else ()
    assert promised(Declaration("better", rule, looks=looks), games) == pytest.approx(largest, abs=2e-4)


def test_a_rule_is_outside_when_chance_hardly_explains_its_errors():
    """As a count: the fewest errors that a promise kept exactly would exceed in one of a thousand calibrations."""
    runs = 200
    promise = promised(Declaration("better"), 30)
    most = int(binom.ppf(1 - BEYOND_CHANCE, runs, promise))
    for errors, inside in ((most, True), (most + 1, False)):
        found = measured([(26, 15)] * errors + [(15, 15)] * (runs - errors))["score"]
        assert (found.errors, found.inside) == (errors, inside)
        assert found.bound[0] < errors / runs < found.bound[1]


def test_no_error_at_all_is_inside():
    found = measured([(15, 15)] * 50)
    assert all(one.inside and one.bound[0] == 0.0 for one in found.values())


def test_plain_data():
    plain = measured([(23, 15)])["score"].to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert list(plain) == sorted(plain)
