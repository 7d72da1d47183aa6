import json
from collections import Counter

import pytest

from pytest_evalharness.stats import enumeration
from pytest_evalharness.verdict.chances import outcome_chances
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.words import Decision, Verdict


@pytest.mark.parametrize(
    ("claim", "rule", "margin", "n_c", "n_b"),
    [
        ("better", "score", None, 3, 9),
        ("better", "score", 0.3, 7, 12),
        ("noninferior", "score", 0.2, 14, 11),
        ("equivalent", "overlap", 0.25, 20, 20),
        ("separated", "score", None, 15, 12),
        ("not_worse", "overlap", 0.4, 10, 10),
        ("better", "newcombe", None, 15, 12),
        ("better", "newcombe", 0.3, 9, 8),
        ("better", "exact", None, 15, 12),
        ("not_worse", "exact", 0.4, 6, 9),
        ("separated", "exact", None, 12, 12),
        ("noninferior", "bayes", 0.3, 12, 10),
        ("not_worse", "bayes", None, 4, 9),
    ],
)
def test_the_chances_are_the_judge_over_all_tables(claim, rule, margin, n_c, n_b):
    declared = Declaration(claim, rule, margin=margin)
    chances = outcome_chances(declared, 0.6, 0.35, n_c, n_b)
    mass_c, mass_b = enumeration.binomial(n_c, 0.6), enumeration.binomial(n_b, 0.35)
    brute = Counter()
    for x_c in range(n_c + 1):
        for x_b in range(n_b + 1):
            found = judge(declared, ArmEvidence("c", x_c, n_c), ArmEvidence("b", x_b, n_b))
            brute[found.verdict] += mass_c[x_c] * mass_b[x_b]
            brute[found.decision] += mass_c[x_c] * mass_b[x_b]
            brute["apart", found.separated.value] += mass_c[x_c] * mass_b[x_b]
    assert chances.verdicts == pytest.approx({v: brute[v] for v in chances.verdicts}, abs=1e-13)
    assert chances.decisions == pytest.approx({d: brute[d] for d in chances.decisions}, abs=1e-13)
    assert chances.separated == pytest.approx(
        (brute["apart", "candidate"], brute["apart", "baseline"]), abs=1e-13
    )


# n, lift, better, separated better, worse, equivalent at .10 and .20, non-inferior at .10 and .20, from one half
CHARACTERISTICS = [
    (30, 0.0, 0.026, 0.003, 0.026, (0.000, 0.002), (0.184, 0.451)),
    (30, -0.1, 0.003, 0.000, 0.120, (0.000, 0.005), (0.046, 0.185)),
    (30, -0.2, 0.000, 0.000, 0.351, (0.000, 0.007), (0.007, 0.048)),
    (30, 0.2, 0.351, 0.116, 0.000, (0.000, 0.007), (0.763, 0.937)),
    (30, 0.3, 0.692, 0.370, 0.000, (0.000, 0.003), (0.954, 0.994)),
    (100, 0.0, 0.028, 0.003, 0.028, (0.000, 0.771), (0.416, 0.885)),
    (100, -0.1, 0.000, 0.000, 0.309, (0.000, 0.410), (0.051, 0.415)),
    (100, -0.2, 0.000, 0.000, 0.832, (0.000, 0.048), (0.001, 0.048)),
    (100, 0.2, 0.832, 0.548, 0.000, (0.000, 0.048), (0.997, 1.000)),
]


@pytest.mark.parametrize("row", CHARACTERISTICS, ids=str)
def test_operating_characteristics_as_tabulated(row):
    n, lift, better, apart, worse, equivalent, noninferior = row
    for margin, equal, harmless in zip((0.10, 0.20), equivalent, noninferior, strict=True):
        found = outcome_chances(Declaration("noninferior", margin=margin), 0.5 + lift, 0.5, n)
        assert found.verdicts[Verdict.BETTER] == pytest.approx(better, abs=6e-4)
        assert found.verdicts[Verdict.WORSE] == pytest.approx(worse, abs=6e-4)
        assert found.separated[0] == pytest.approx(apart, abs=6e-4)
        assert found.verdicts[Verdict.EQUIVALENT] == pytest.approx(equal, abs=6e-4)
        assert found.decisions[Decision.MET] == pytest.approx(harmless, abs=6e-4)
        assert sum(found.verdicts.values()) == pytest.approx(1, abs=1e-12)
        assert sum(found.decisions.values()) == pytest.approx(1, abs=1e-12)


def test_chances_are_plain_data():
    plain = outcome_chances(Declaration("better"), 0.7, 0.5, 30).to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert list(plain["verdicts"]) == ["better", "equivalent", "inconclusive", "worse"]
    assert list(plain["decisions"]) == ["cannot_tell", "met", "not_met"]


def test_impossible_rates_are_refused():
    with pytest.raises(ValueError, match="p must"):
        outcome_chances(Declaration("better"), 1.2, 0.5, 30)


def test_a_rule_that_is_report_only_always_leaves_the_claim_open():
    found = outcome_chances(Declaration("not_worse", "bayes", margin=0.2), 0.9, 0.1, 30)
    assert found.verdicts[Verdict.INCONCLUSIVE] == pytest.approx(1)
    assert found.decisions[Decision.CANNOT_TELL] == pytest.approx(1)


def test_the_exact_rule_of_a_hundred_games_asks_its_test_for_few_tables_only(monkeypatch):
    asked = []
    barnard = enumeration.barnard
    monkeypatch.setattr(enumeration, "barnard", lambda *table: asked.append(table) or barnard(*table))
    enumeration.winning_counts.cache_clear()
    found = outcome_chances(Declaration("better", "exact"), 0.7, 0.5, 100)
    assert found.verdicts[Verdict.BETTER] == pytest.approx(0.828, abs=6e-4)
    assert len(asked) < 60  # of the 10,201 there are
