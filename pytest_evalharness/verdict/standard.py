"""What the counts are held against: the declared rule and its level, as they stand at this look."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_evalharness.stats.normal import SQRT2, critical, two_sided
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Rule

if TYPE_CHECKING:
    from pytest_evalharness.stats.group_sequential import Spending as SpendingName

_HIGHEST = 37.0


@dataclass(frozen=True, slots=True)
class Standard:
    """A rule with its level, ready to be applied.

    Attributes:
        rule: What decides a direction: the declared rule, or `overlap` once results were looked at out of plan.
        alpha: Its two-sided level, over all planned looks together.
        margin: The declared margin, if any.
        looks: The planned looks, games an arm; empty for the single one.
        look: Which of them this is, from 0.
        spending: How alpha is spent over them.
        moved: Whether an unplanned look made `overlap` take the declared rule's place.
    """

    rule: Rule
    alpha: float
    margin: float | None = None
    looks: tuple[int, ...] = ()
    look: int = 0
    spending: SpendingName = "obrien_fleming"
    moved: bool = False

    @classmethod
    def of(cls, declared: Declaration, *, look: int | None = None, unplanned: bool = False) -> Standard:
        """The standard of a declaration.

        Args:
            declared: What was declared.
            look: Which planned look this is, from 0; the last when left out.
            unplanned: Whether results were looked at out of plan. A rule that does not survive that gives way to
                `overlap`, which keeps its error rate however often one looks.

        Raises:
            ValueError: There is no such look.
        """
        last = max(len(declared.looks) - 1, 0)
        at = last if look is None else look
        if not 0 <= at <= last:
            raise ValueError(f"look must be 0 to {last}, got {look!r}")
        moved = unplanned and not declared.rule.survives_any_look
        rule = Rule.OVERLAP if moved else declared.rule
        return cls(rule, declared.alpha, declared.margin, declared.looks, at, declared.spending.value, moved)

    @property
    def margin_alpha(self) -> float:
        """The one-sided level at which margins are judged: after an unplanned look as strict as `overlap` is."""
        if not self.moved:
            return self.alpha
        return two_sided(SQRT2 * critical(2.0 * self.alpha)) / 2.0

    @property
    def information(self) -> tuple[float, ...]:
        """The share of all games that each planned look has."""
        return tuple(games / self.looks[-1] for games in self.looks)

    @property
    def bar(self) -> float:
        """The z that the score statistic must exceed: of this look, if looks are planned by spending alpha."""
        if self.rule is Rule.GROUP_SEQUENTIAL:
            return _bounds(self.information, self.alpha, self.spending)[self.look]
        return critical(self.alpha)


@lru_cache(maxsize=512)
def _bounds(information: tuple[float, ...], alpha: float, spending: SpendingName) -> tuple[float, ...]:
    """The two-sided bounds of planned looks: half of alpha for each direction."""
    from pytest_evalharness.stats.group_sequential import group_sequential_bounds

    # A look so early that nothing can be spent has no finite bound; no table of games has such a z either.
    return tuple(
        min(bound, _HIGHEST) for bound in group_sequential_bounds(information, alpha / 2.0, spending)
    )
