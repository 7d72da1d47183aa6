"""Findings about builds stand beside one another, whoever is faster."""

import pytest

from pytest_evalharness.ledger.proofs import BUILDS
from pytest_evalharness.ledger.records import ArmSpec

PLAN = {"server": "s", "declaration": {"claim": "better"}}


@pytest.fixture
def frozen(ledger):
    def make(content, plan=PLAN):
        comparison = ledger.open_comparison(plan, run_id="r1", case_name="case")
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


def test_all_of_them_newest_first(ledger, frozen):
    names = [frozen({BUILDS: [{"n": n}]}, {**PLAN, "n": n}) for n in range(3)]
    ledger.open_comparison({**PLAN, "n": 9}, run_id="r1", case_name="not frozen yet")
    found = ledger.proofs.all()
    assert {name for name, _ in found} == set(names)
    assert dict(found)[names[1]] == {BUILDS: [{"n": 1}]}
