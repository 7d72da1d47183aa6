"""Many tables at once: the intervals and tests of single tables, for arrays of counts.

Counts may be arrays of any integer type, or numbers; they are broadcast against one another. Each function gives
what its namesake for a single table gives, element by element in the broadcast shape, and refuses what that refuses;
where the description, the arguments and the source are not here, they are there. Counts above 3,000,000,000 are
refused too: their products would not be whole numbers any more. Importing this package imports numpy.
"""

from pytest_evalharness.stats.arrays.difference import (
    agresti_caffo,
    mee,
    miettinen_nurminen,
    newcombe,
    newcombe_cc,
    pooled_z,
    score_p,
    score_z,
)
from pytest_evalharness.stats.arrays.equivalence import equivalence_p, noninferiority_p, nonsuperiority_p
from pytest_evalharness.stats.arrays.exact import fisher, fisher_midp
from pytest_evalharness.stats.arrays.paired import (
    bonett_price,
    mcnemar_exact,
    mcnemar_midp,
    mcnemar_p,
    mcnemar_z,
    newcombe_paired,
    tango,
)
from pytest_evalharness.stats.arrays.proportions import (
    agresti_coull,
    clopper_pearson,
    jeffreys,
    midp,
    wilson,
    wilson_cc,
)

__all__ = [
    "agresti_caffo",
    "agresti_coull",
    "bonett_price",
    "clopper_pearson",
    "equivalence_p",
    "fisher",
    "fisher_midp",
    "jeffreys",
    "mcnemar_exact",
    "mcnemar_midp",
    "mcnemar_p",
    "mcnemar_z",
    "mee",
    "midp",
    "miettinen_nurminen",
    "newcombe",
    "newcombe_cc",
    "newcombe_paired",
    "noninferiority_p",
    "nonsuperiority_p",
    "pooled_z",
    "score_p",
    "score_z",
    "tango",
    "wilson",
    "wilson_cc",
]
