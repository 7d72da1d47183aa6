"""Numbers in, numbers out: intervals, tests and planning for win rates, each with its source."""

from pytest_evalharness.stats.difference import miettinen_nurminen, newcombe, score_p, score_z
from pytest_evalharness.stats.equivalence import equivalence_p, noninferiority_p
from pytest_evalharness.stats.exact import barnard, fisher, fisher_midp
from pytest_evalharness.stats.power import detectable_lift, exact_power, required_n
from pytest_evalharness.stats.proportions import wilson

__all__ = [
    "barnard",
    "detectable_lift",
    "equivalence_p",
    "exact_power",
    "fisher",
    "fisher_midp",
    "miettinen_nurminen",
    "newcombe",
    "noninferiority_p",
    "required_n",
    "score_p",
    "score_z",
    "wilson",
]
