"""What was declared before the first game: the claim, and everything that decides it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, TypeVar

from pytest_evalharness.stats import inputs
from pytest_evalharness.verdict.words import Claim, Pairing, Rule

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
        margin: The difference that would not matter, inside (0, 1). `noninferior` and `equivalent` need one;
            for the other claims it lets the verdict be "equivalent".
        target_lift: The true difference worth finding, inside (0, 1), for which games are planned.
        pairing: How games of the arms belong together; a `Pairing`, its word, or None for independent arms.

    Raises:
        ValueError: A value is invalid; the message names it.
    """

    claim: Claim
    rule: Rule = Rule.SCORE
    alpha: float = 0.05
    margin: float | None = None
    target_lift: float = 0.10
    pairing: Pairing | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "claim", word(Claim, self.claim, "claim"))
        put(self, "rule", word(Rule, self.rule, "rule"))
        put(self, "alpha", inputs.level(self.alpha))
        if self.alpha >= _HIGHEST_ALPHA:
            raise ValueError(f"alpha must be below {_HIGHEST_ALPHA}, got {self.alpha!r}")
        if self.pairing is not None:
            put(self, "pairing", word(Pairing, self.pairing, "pairing"))
        put(self, "target_lift", inputs.level(self.target_lift, "target_lift"))
        if self.margin is not None:
            put(self, "margin", inputs.level(self.margin, "margin"))
        elif self.claim.needs_margin:
            raise ValueError(
                f"claim {self.claim.value!r} needs a margin: the difference that would not matter"
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
        """Strings, numbers and None under sorted keys."""
        return {
            "alpha": self.alpha,
            "claim": self.claim.value,
            "margin": self.margin,
            "pairing": None if self.pairing is None else self.pairing.value,
            "rule": self.rule.value,
            "target_lift": self.target_lift,
        }

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
