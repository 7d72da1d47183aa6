"""Does the chain work? Three questions through clone, image, container and bridge to a typed answer, about $3 to $5.

pytest evals/test_cl_bench_smoke.py --eval-clbench-checkout=../clb --eval-clbench-system=ouroboros

It gates nothing but the chain: three questions say nothing of how good a system is. This repository runs it on the embedded
miniature of the benchmark; `@pytest.mark.clbench_ab(candidate=RUN, baseline=RUN, claim="better")` judges an edit.
"""

import pytest


@pytest.mark.clbench(plan="smoke")
def test_cl_bench_smoke(clbench_run):
    """Every question came back as a typed answer of the system's own."""
    assert clbench_run.typed_answers == clbench_run.questions
    clbench_run.require()  # and every stage that the system has was seen
