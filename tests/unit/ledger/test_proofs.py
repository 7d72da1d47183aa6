"""Findings about builds stand beside one another, whoever is faster."""

import pytest

from pytest_evalharness.ledger.proofs import BUILDS
from pytest_evalharness.ledger.records import ArmSpec

PLAN = {"server": "s", "declaration": {"claim": "better"}}


@pytest.fixture
def frozen(ledger):
    def make(content, plan=PLAN, run_id="r1"):
        comparison = ledger.open_comparison(plan, run_id=run_id, case_name="case")
        arms = {side: ArmSpec(f"arm-{side}-{comparison.id}", {}, [{}]) for side in ("candidate", "baseline")}
        return ledger.freeze(comparison.id, content, arms).id

    return make


def test_a_later_finding_stands_beside_the_first(ledger, frozen):
    name = frozen({"roster": 1, BUILDS: [{"n": 1}]})
    assert ledger.proofs.add(name, 0, {"n": 2}, known=1) == {"roster": 1, BUILDS: [{"n": 1}, {"n": 2}]}
    assert ledger.comparison(name).frozen[BUILDS] == [{"n": 1}, {"n": 2}]


def test_who_is_slower_adds_nothing_and_is_told_what_there_is(ledger, frozen):
    name = frozen({BUILDS: [{"n": 1}]})
    ledger.proofs.add(name, 0, {"n": 2}, known=1)
    assert ledger.proofs.add(name, 0, {"n": 3}, known=1)[BUILDS] == [{"n": 1}, {"n": 2}]


def test_what_an_older_release_froze_gets_its_first(ledger, frozen):
    name = frozen({"roster": 1})
    assert ledger.proofs.add(name, 0, {"n": 1}, known=0)[BUILDS] == [{"n": 1}]


def test_each_configuration_of_a_pool_has_its_own(ledger, frozen):
    name = frozen({"strata": [{BUILDS: [{"n": 1}]}, {}]})
    ledger.proofs.add(name, 1, {"n": 2}, known=0)
    assert ledger.comparison(name).frozen == {"strata": [{BUILDS: [{"n": 1}]}, {BUILDS: [{"n": 2}]}]}


def test_a_comparison_that_is_none(ledger):
    with pytest.raises(KeyError):
        ledger.proofs.add("plan-x.1", 0, {}, known=0)


def test_the_last_findings_of_other_runs(ledger, frozen):
    alone = frozen({BUILDS: [{"n": 1}, {"n": 2}]}, {**PLAN, "n": 1})
    pool = frozen({"strata": [{BUILDS: [{"n": 3}]}, {"roster": 1}, {BUILDS: [{"n": 4}]}]}, {**PLAN, "n": 2})
    frozen({"roster": 1}, {**PLAN, "n": 3})
    frozen({BUILDS: [{"n": 5}]}, {**PLAN, "n": 4}, run_id="r2")
    ledger.open_comparison({**PLAN, "n": 5}, run_id="r1", case_name="not frozen yet")
    found = ledger.proofs.of_other_runs("r2")
    assert sorted(found, key=lambda one: one[2]["n"]) == [
        (alone, "r1", {"n": 2}),
        (pool, "r1", {"n": 3}),
        (pool, "r1", {"n": 4}),
    ]
