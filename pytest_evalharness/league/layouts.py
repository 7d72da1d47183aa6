"""Arms and comparisons that marks cannot express, described by hand. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.plan import DEFAULT_EPISODES, DEFAULT_TICKS, ComparisonPlan, declared, names
from pytest_evalharness.settings import Settings

_DECLARED = (
    "claim", "rule", "alpha", "margin", "target_lift", "pairing", "looks", "spending", "metric", "secondary",
    "missing", "min_fire_rate",
)  # fmt: skip
_FREE = (*_DECLARED, "episodes", "ticks", "opponents", "config")


@dataclass(frozen=True)
class ArmRequest:
    """An arm as a case describes it: who sits in which seat; the frozen field sits everywhere else."""

    seats: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, seats: Mapping[int, str]) -> ArmRequest:
        """An arm from seat → policy label.

        Raises:
            UsageError: no mapping, no seat, or something that is no seat number or no label.
        """
        if (
            not isinstance(seats, Mapping)
            or not seats
            or any(isinstance(seat, bool) or not isinstance(seat, int) for seat in seats)
            or not all(isinstance(label, str) and label for label in seats.values())
        ):
            raise _wrong(f"an arm is {{seat: 'NAME:vN'}} with at least one seat, not {seats!r}")
        return cls(tuple(sorted(seats.items())))


def comparison_plan(
    candidate: ArmRequest | Mapping[int, str],
    baseline: ArmRequest | Mapping[int, str],
    *,
    seat: int,
    words: Mapping[str, Any],
    settings: Settings,
    server: str,
) -> ComparisonPlan:
    """The plan of two described arms.

    Args:
        candidate: the edited arm, described by `arm` or as the plain mapping that `arm` takes.
        baseline: the arm it is compared with.
        seat: the seat whose wins are compared; its role is the layout's.
        words: what else was said, each optional: what a declaration has, episodes, ticks, opponents, config.
        settings: the run's settings.
        server: the server's identity.

    Raises:
        UsageError: a word that does not exist, or a value that is wrong.
    """
    unknown = sorted(set(words) - set(_FREE))
    if unknown:
        raise _wrong(f"compare has no {unknown[0]!r}; it knows {', '.join(_FREE)}")
    arms = [one if isinstance(one, ArmRequest) else ArmRequest.of(one) for one in (candidate, baseline)]
    said = {"min_fire_rate": settings["min_fire_rate"]} | {
        key: words[key] for key in _DECLARED if key in words
    }
    episodes = _or(DEFAULT_EPISODES, _said("episodes", "num", words, settings))
    try:
        return ComparisonPlan(
            server=server,
            league=settings["league"],
            division=settings["division"],
            backend=settings["backend"],
            layout_seed=settings["layout_seed"],
            tested_seat=seat,
            candidate=dict(arms[0].seats),
            baseline=dict(arms[1].seats),
            opponents=names("opponents", _said("opponents", "opponent", words, settings) or ()),
            top_n=settings["top_n"],
            episodes=episodes,
            ticks=_or(DEFAULT_TICKS, _said("ticks", "ticks", words, settings)),
            declaration=declared(said, episodes),
            config=_or({}, words.get("config")),
            aa=settings["aa"],
        )
    except (ValueError, TypeError) as problem:
        raise _wrong(str(problem)) from None


def _said(word: str, key: str, words: Mapping[str, Any], settings: Settings) -> Any:
    """The command line wins, then the case, then the environment and ini: as for marks."""
    return settings[key] if settings.commanded(key) or words.get(word) is None else words[word]


def _or(default: Any, value: Any) -> Any:
    return default if value is None else value


def _wrong(what: str) -> UsageError:
    return UsageError(
        what, not_done="nothing was submitted", next_step="correct the case and run the same command again"
    )
