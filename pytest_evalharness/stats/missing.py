"""What could the episodes that never finished have changed?"""

from __future__ import annotations

from pytest_evalharness.stats.difference import score_p
from pytest_evalharness.stats.exact import fisher
from pytest_evalharness.stats.inputs import count, played

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import SupportsIndex as Count

    Table = tuple[int, int, int, int]


def asymmetry_p(missing_c: Count, requested_c: Count, missing_b: Count, requested_b: Count) -> float:
    """Fisher's p-value of "episodes go missing equally often in both arms".

    When to use it: below .05 leaving the missing ones out is not harmless; if a fifth of a candidate's would-be
    losses fail, 100 games call it better without cause 12 % of the time.

    Args:
        missing_c: Episodes of the candidate without a result.
        requested_c: Episodes asked for, at least 1.
        missing_b: Episodes of the baseline without a result.
        requested_b: Episodes asked for, at least 1.

    Returns:
        p in [0, 1].

    Raises:
        ValueError: A count is invalid.

    Source: Fisher (1935), J. R. Stat. Soc. 98, 39-82.
    """
    return fisher(missing_c, requested_c, missing_b, requested_b)


def extremes(
    candidate: tuple[Count, Count, Count], baseline: tuple[Count, Count, Count]
) -> tuple[Table, Table]:
    """The tables in which all missing episodes went against the candidate, and for it.

    When to use it: judge both, and see whether the verdict holds, weakens or turns round. No assumption is made
    about why episodes are missing.

    Args:
        candidate: (wins, finished, missing).
        baseline: (wins, finished, missing).

    Returns:
        (worst, best), each (x_c, n_c, x_b, n_b) over all episodes asked for.

    Raises:
        ValueError: A count is invalid.

    Source: Horowitz and Manski (2000), J. Am. Stat. Assoc. 95, 77-84.
    """
    (x_c, n_c, lost_c), (x_b, n_b, lost_b) = _arm(candidate, "candidate"), _arm(baseline, "baseline")
    worst = (x_c, n_c + lost_c, x_b + lost_b, n_b + lost_b)
    best = (x_c + lost_c, n_c + lost_c, x_b, n_b + lost_b)
    return worst, best


def fragility(x_c: Count, n_c: Count, x_b: Count, n_b: Count, alpha: float = 0.05) -> int:
    """How many results of the candidate would have to flip before the score test no longer rejects.

    When to use it: to say in games how thin a result is; 23 against 15 of 30 hangs on one game.

    Args:
        x_c: Wins of the candidate.
        n_c: Games of the candidate, at least 1.
        x_b: Wins of the baseline.
        n_b: Games of the baseline, at least 1.
        alpha: Two-sided level.

    Returns:
        A number of games, 0 where the test does not reject.

    Raises:
        ValueError: A count is invalid.

    Source: Walsh et al. (2014), J. Clin. Epidemiol. 67, 622-628.
    """
    x_c, n_c = played(x_c, n_c, "candidate")
    x_b, n_b = played(x_b, n_b, "baseline")
    step = -1 if x_c * n_b > x_b * n_c else 1
    flipped = 0
    while score_p(x_c + step * flipped, n_c, x_b, n_b) < alpha:
        flipped += 1
    return flipped


def _arm(arm: tuple[Count, Count, Count], name: str) -> tuple[int, int, int]:
    from pytest_evalharness.stats.inputs import wins_of

    wins, finished, missing = arm
    return *wins_of(wins, finished, name), count(missing, f"{name} missing")
