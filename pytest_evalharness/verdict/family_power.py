"""What it costs a claim to be tested together with others, before anything is played."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pytest_evalharness.verdict.chances import outcome_chances
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.planning import PLANNING_RATE
from pytest_evalharness.verdict.truths import target
from pytest_evalharness.verdict.words import Claim, Decision


@dataclass(frozen=True, slots=True)
class FamilyPower:
    """The chance that a claim's own effect is seen.

    Attributes:
        claims: How many claims are tested together.
        effect: The true effect, in words.
        outcome: What seeing it does to the claim: `passes`, or `fails` where the claim denies the effect.
        alone: The chance if no other claim is tested.
        among: The chance among the others if none of them has an effect.
    """

    claims: int
    effect: str
    outcome: str
    alone: float
    among: float


def family_power(
    declaration: Declaration, claims: int, games: int, *, base: float = PLANNING_RATE
) -> FamilyPower:
    """What the family costs, by exact enumeration of independent arms.

    In words: Holm's procedure gives a claim alpha / m at its dear end, where no other of the m claims shows an effect
    (that is Bonferroni's), and alpha at its cheap end, where all others do. Planned looks and pairs are left aside.

    Args:
        declaration: The claim, its rule and its target lift.
        claims: Claims that are tested together, at least 1.
        games: Games an arm.
        base: The baseline's true win rate.

    Raises:
        ValueError: A value is invalid.

    Source: Holm (1979), Scand. J. Stat. 6, 65-70.
    """
    denies = declaration.claim is Claim.NOT_WORSE
    effect = target(declaration, base)
    seen = Decision.NOT_MET if denies else Decision.MET
    at = (declaration.alpha, declaration.alpha / claims)
    alone, among = (
        outcome_chances(replace(declaration, alpha=alpha), effect.rate, base, games).decisions[seen]
        for alpha in at
    )
    return FamilyPower(claims, f"a true {effect.words}", "fails" if denies else "passes", alone, among)
