from collections import Counter
from math import comb

import pytest

from pytest_evalharness.stats import paired_power
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Pairs
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.pair_chances import paired_chances


@pytest.mark.parametrize(
    ("claim", "rule", "margin", "n"),
    [
        ("better", "score", None, 12),
        ("better", "exact", None, 11),
        ("better", "score", 0.4, 7),
        ("not_worse", "exact", 0.5, 8),
        ("noninferior", "score", 0.4, 10),
        ("equivalent", "score", 0.5, 10),
        ("not_worse", "bayes", None, 10),
        ("not_worse", "score", None, 4),
    ],
)
def test_the_chances_are_the_judge_over_all_tables_of_pairs(claim, rule, margin, n):
    p_c, p_b, phi = 0.7, 0.45, 0.3
    only_c, only_b = paired_power.pair_rates(p_c, p_b, phi)
    both = p_c - only_c
    neither = 1 - both - only_c - only_b
    declared = Declaration(claim, rule, margin=margin, pairing="seed")
    brute = Counter()
    for a in range(n + 1):
        for b in range(n - a + 1):
            for c in range(n - a - b + 1):
                e = n - a - b - c
                ways = comb(n, a) * comb(n - a, b) * comb(n - a - b, c)
                mass = ways * both**a * only_c**b * only_b**c * neither**e
                arms = ArmEvidence("c", a + b, n), ArmEvidence("b", a + c, n)
                found = judge(declared, *arms, pairs=Pairs(a, b, c, e))
                brute[found.verdict] += mass
                brute[found.decision] += mass
                brute["apart", found.separated.value] += mass
    chances = paired_chances(declared, p_c, p_b, n, phi)
    assert chances.verdicts == pytest.approx({v: brute[v] for v in chances.verdicts}, abs=1e-12)
    assert chances.decisions == pytest.approx({d: brute[d] for d in chances.decisions}, abs=1e-12)
    apart = brute["apart", "candidate"], brute["apart", "baseline"]
    assert chances.separated == pytest.approx(apart, abs=1e-12)


@pytest.mark.parametrize("rule", ["overlap", "newcombe"])
def test_rules_that_have_no_plan_for_pairs_are_refused(rule):
    with pytest.raises(ValueError, match=f"rule '{rule}' has no plan for pairs"):
        paired_chances(Declaration("better", rule), 0.6, 0.5, 30, 0.3)


def test_a_claim_that_ignores_pairing_is_refused():
    with pytest.raises(ValueError, match="claim 'separated' ignores pairing"):
        paired_chances(Declaration("separated"), 0.6, 0.5, 30, 0.3)
