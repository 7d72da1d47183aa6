"""Which decision table would have done better on the calls that were made? Judged on calls that none of them saw.

The calls are invented (`evalharness engine demo --keep DIR` makes such a file), so this repository asks for synthetic ones.
With calls of your own: pytest evals/test_engines.py --eval-evidence=evidence.json
"""

import pytest

from pytest_evalharness import Verdict

EVIDENCE = "evals/evidence/acme-phone.json.gz"


@pytest.mark.engine_benchmark(evidence=EVIDENCE, engines=["dpo", "behaviour-clone"])
def test_dpo_is_ahead_of_today(engine_report):
    """The table that learned from preferences, on enough calls to say so."""
    assert engine_report["dpo"].ess > 100
    engine_report["dpo"].require(Verdict.BETTER)


@pytest.mark.engine_benchmark(evidence=EVIDENCE, engines=["dpo", "behaviour-clone"])
def test_doing_what_is_done_most_is_no_gain(engine_report):
    """The sanity row: always the most frequent move is worse than today's mix."""
    engine_report["behaviour-clone"].require(Verdict.WORSE)
