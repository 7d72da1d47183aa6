"""What was declared before the first game: the claim, and everything that decides it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import pairwise
from typing import Any, TypeVar

from pytest_evalharness.stats import inputs
from pytest_evalharness.verdict import wins
from pytest_evalharness.verdict.metrics import metric_of, words_of
from pytest_evalharness.verdict.words import Claim, Effects, Metric, MissingPolicy, Pairing, Rule, Spending

_Word = TypeVar("_Word", bound=StrEnum)

_HIGHEST_ALPHA = 0.5  # margins are judged on the 1 - 2 alpha interval


@dataclass(frozen=True, slots=True)
class Declaration:
    """A claim and the rule that judges it, stored before anything is posted.

    Args:
        claim: What the case says; a `Claim` or its word.
        rule: What decides a direction; a `Rule` or its word.
        alpha: Two-sided error level, inside (0, 0.5). Directions use the 1 - alpha interval (95 %), margins
            the 1 - 2 alpha interval (90 %).
        margin: The difference that would not matter, inside (0, 1), or above 0 in the units of a metric that is not the win
            rate. `noninferior` and `equivalent` need one; for the other claims it lets the verdict be "equivalent".
        target_lift: The true difference worth finding, likewise, for which games are planned.
        pairing: How games of the arms belong together; a `Pairing`, its word, or None for independent arms.
        looks: Games an arm (or pairs) after which the results are read, increasing; the last is all of them. Empty for
            the single look at the end. Only a rule that stands looks takes them, and `group_sequential` needs them.
        spending: How `group_sequential` spends alpha over its looks; a `Spending` or its word.
        metric: The primary metric, which decides: a `Metric`, its words ("win rate", "seat score"), or the name of a function
            that reads a number off a game, `package.module:function`. More is better. What is not the win rate is judged by
            Student's t, under the rule `score` only, at a single look, and never in a pool.
        secondary: Metrics that make the verdict inconclusive if they decide in the opposite direction. By default the seat
            score beside wins, and wins beside the seat score.
        missing: What missing episodes may do; a `MissingPolicy` or its word.
        effects: What pooled configurations are to each other; an `Effects` or its word. A single comparison has none.
        min_fire_rate: How often the tested policy's adviser must have decided in each arm, inside (0, 1]; what falls short, or
            tells nothing of it, cannot be believed. None where nobody asks.
        win: When a game counts as won; as of `wins.win_of`.

    Raises:
        ValueError: A value is invalid; the message names it.
    """

    claim: Claim
    rule: Rule = Rule.SCORE
    alpha: float = 0.05
    margin: float | None = None
    target_lift: float = 0.10
    pairing: Pairing | None = None
    looks: tuple[int, ...] = ()
    spending: Spending = Spending.OBRIEN_FLEMING
    metric: str = Metric.WINS
    secondary: tuple[Metric, ...] = (Metric.SCORE,)
    missing: MissingPolicy = MissingPolicy.EXCLUDE
    effects: Effects = Effects.FIXED
    min_fire_rate: float | None = None
    win: str = wins.LISTED

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "claim", word(Claim, self.claim, "claim"))
        put(self, "rule", word(Rule, self.rule, "rule"))
        put(self, "alpha", inputs.level(self.alpha))
        if self.alpha >= _HIGHEST_ALPHA:
            raise ValueError(f"alpha must be below {_HIGHEST_ALPHA}, got {self.alpha!r}")
        if self.pairing is not None:
            put(self, "pairing", word(Pairing, self.pairing, "pairing"))
        put(self, "spending", word(Spending, self.spending, "spending"))
        put(self, "missing", word(MissingPolicy, self.missing, "missing"))
        put(self, "effects", word(Effects, self.effects, "effects"))
        put(self, "metric", metric_of(self.metric))
        put(self, "win", wins.win_of(self.win))
        within = inputs.level if self.metric == Metric.WINS else _amount
        put(self, "target_lift", within(self.target_lift, "target_lift"))
        if self.margin is not None:
            put(self, "margin", within(self.margin, "margin"))
        elif self.claim.needs_margin:
            raise ValueError(
                f"claim {self.claim.value!r} needs a margin: the difference that would not matter"
            )
        put(self, "looks", _increasing(self.looks))
        if self.min_fire_rate is not None:
            put(self, "min_fire_rate", inputs.proportion(self.min_fire_rate, "min_fire_rate"))
            if self.min_fire_rate == 0.0:
                raise ValueError(
                    "min_fire_rate must be above 0: leave it out where no adviser has to decide anything"
                )
        self._check_metrics()
        self._check_rule()

    def _check_metrics(self) -> None:
        put = object.__setattr__
        named = _listed(self.secondary, "secondary must be a list of metrics")
        if self.metric == Metric.SCORE and named == (Metric.SCORE,):
            named = (Metric.WINS,)  # the default: whichever of the two does not decide may object
        put(self, "secondary", tuple(word(Metric, one, "secondary") for one in named))
        if self.metric in self.secondary:
            raise ValueError(f"secondary must not name the primary metric, {words_of(self.metric)!r}")

    @property
    def measured(self) -> bool:
        """Whether something else than wins decides."""
        return self.metric != Metric.WINS

    def _check_rule(self) -> None:
        rule = self.rule
        if self.measured and rule is not Rule.SCORE:
            raise ValueError(
                f"rule {rule.value!r} is for win rates: metric {words_of(self.metric)!r} is judged by Student's t, under the "
                "rule 'score'"
            )
        if self.measured and self.claim is Claim.SEPARATED:
            raise ValueError(
                "claim 'separated' is read off the Wilson intervals of win rates: with metric "
                f"{words_of(self.metric)!r} claim better, not_worse, noninferior or equivalent"
            )
        if self.looks and not rule.stands_looks:
            able = ", ".join(one.value for one in Rule if one.stands_looks)
            raise ValueError(f"looks need a rule that stands them ({able}), got rule {rule.value!r}")
        if rule is Rule.GROUP_SEQUENTIAL and not self.looks:
            raise ValueError(
                "rule 'group_sequential' needs looks: games an arm at which the results are read"
            )
        if rule.sequential and self.claim not in (Claim.BETTER, Claim.NOT_WORSE):
            raise ValueError(
                f"rule {rule.value!r} tells directions only: claim must be better or not_worse, got {self.claim.value!r}"
            )
        if rule.sequential and self.margin is not None:
            raise ValueError(
                f"rule {rule.value!r} tells directions only and takes no margin, got {self.margin!r}"
            )

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration, 64 hexadecimal digits; equal only if everything declared is equal."""
        import hashlib
        import json

        # What was not declared is left out, so that a later release with more to declare changes no digest.
        said = {key: value for key, value in self.to_json().items() if value is not None}
        return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Strings, numbers, lists and None under sorted keys."""
        plain: dict[str, Any] = {
            "alpha": self.alpha,
            "claim": self.claim.value,
            "margin": self.margin,
            "pairing": None if self.pairing is None else self.pairing.value,
            "rule": self.rule.value,
            "target_lift": self.target_lift,
        }
        # What stayed at its default is left out: a later release with more to declare changes no key of a plan.
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in plain and value != field.default:
                plain[field.name] = _plain(value)
        return dict(sorted(plain.items()))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Declaration:
        """The declaration that `to_json` gave.

        Raises:
            ValueError: A key is unknown, the claim is missing, or a value is invalid.
        """
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(data) - known)
        if unknown:
            raise ValueError(f"unknown keys in a declaration: {', '.join(unknown)}")
        if "claim" not in data:
            raise ValueError("a declaration needs a claim")
        return cls(**data)


def word(kind: type[_Word], value: str, name: str) -> _Word:
    """The member of `kind` with this value.

    Raises:
        ValueError: There is none; the message lists those there are.
    """
    try:
        return kind(value)
    except ValueError:
        choices = ", ".join(member.value for member in kind)
        raise ValueError(f"{name} must be one of {choices}, got {value!r}") from None


def usual_looks(episodes: int) -> tuple[int, ...]:
    """Three looks, at 30 %, 60 % and all of the games; fewer where they fall together."""
    return tuple(sorted({max(1, round(share * episodes)) for share in (0.3, 0.6, 1.0)}))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.value if isinstance(value, StrEnum) else value


def _listed(value: Any, what: str) -> tuple[Any, ...]:
    """A list or tuple as a tuple.

    Raises:
        ValueError: It is something else.
    """
    if not isinstance(value, list | tuple):
        raise ValueError(f"{what}, got {value!r}")  # noqa: TRY004 - one error for all
    return tuple(value)


def _amount(value: Any, name: str) -> float:
    """A finite number above 0, in the units of a metric.

    Raises:
        ValueError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < math.inf:
        raise ValueError(f"{name} must be a number above 0, in the metric's units, got {value!r}")
    return float(value)


def _increasing(looks: Any) -> tuple[int, ...]:
    """Looks as increasing counts of at least 1.

    Raises:
        ValueError: They are none.
    """
    counts = tuple(
        inputs.count(one, "looks") for one in _listed(looks, "looks must be a list of games an arm")
    )
    if any(before >= after for before, after in pairwise((0, *counts))):
        raise ValueError(f"looks must increase from at least 1, got {list(counts)!r}")
    return counts
