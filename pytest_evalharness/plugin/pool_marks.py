"""The mark of a pool: several configurations of a comparison, and one claim about all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.errors import UsageError
from pytest_evalharness.plugin.marks import (
    CONFIGS,
    DECLARED_BY_CASE,
    KEYWORDS,
    LEAGUE_AB,
    LEAGUE_POOL,
    declaration_of,
    plan_of,
    suggestion,
    validate,
    wrong,
)
from pytest_evalharness.settings import Settings

if TYPE_CHECKING:
    from pytest_evalharness.league.games import GameOf
    from pytest_evalharness.league.pool_plan import PoolPlan
    from pytest_evalharness.verdict.claim import Declaration

_OF_THE_POOL = frozenset(
    {"claim", "rule", "margin", "target_lift", "min_fire_rate", "win", "effects", *DECLARED_BY_CASE}
)
"""What is declared once, about all configurations together."""
_PER_CONFIG = tuple(word for word in KEYWORDS[LEAGUE_AB] if word not in _OF_THE_POOL)
_LONGEST_NAME = 60


def validate_pool(mark: pytest.Mark, nodeid: str) -> None:
    """Check the words of the mark and of each configuration, with suggestions for typos.

    Raises:
        UsageError: a word that does not exist or belongs to the pool, or no list of mappings.
    """
    validate(mark, nodeid)
    configs = mark.kwargs.get(CONFIGS)
    if not isinstance(configs, list | tuple) or not all(isinstance(one, Mapping) for one in configs):
        raise wrong(
            nodeid,
            f"{LEAGUE_POOL} needs {CONFIGS}=[{{…}}, {{…}}], a list of mappings of what differs, not {configs!r} "
            "(config= is the game's own)",
        )
    if mark.kwargs.get("secondary"):
        raise wrong(nodeid, "secondary metrics have no say in a pool: leave secondary out")
    for i, one in enumerate(configs):
        for word in one:
            if word in _OF_THE_POOL:
                raise wrong(
                    nodeid,
                    f"{CONFIGS}[{i}] names {word}, which is declared once for the whole pool: "
                    f"move it out of {CONFIGS}, to {LEAGUE_POOL}({word}=…)",
                )
            if word not in _PER_CONFIG:
                raise wrong(
                    nodeid, f"{CONFIGS}[{i}] has no keyword {word!r}{suggestion(str(word), _PER_CONFIG)}"
                )


def pool_plan_of(
    nodeid: str,
    words: Mapping[str, Any],
    settings: Settings,
    server: str,
    game_of: GameOf | None = None,
) -> tuple[PoolPlan, list[str]]:
    """The plan of a pool, and a line for each word of its mark that the command line overrode.

    Args:
        nodeid: the case, for messages.
        words: the mark's keywords; those of a configuration win over them.
        settings: the run's settings.
        server: the server's identity.
        game_of: tells the game of a league; every league plays Crewrift if left out.

    Raises:
        UsageError: a value is wrong, a name is missing, or two configurations have an arm in common.
    """
    from pytest_evalharness.league.pool_plan import PoolPlan

    shared = _shared(words)
    plans, overridden = [], []
    for i, config in enumerate(words[CONFIGS]):
        try:
            plan, lines = plan_of(nodeid, {**shared, **config}, settings, server, game_of)
        except UsageError as problem:
            what = problem.what.removeprefix(f"{nodeid}: ")
            raise wrong(nodeid, f"{CONFIGS}[{i}]: {what}", next_step=problem.next_step) from None
        plans.append(plan)
        overridden += [line for line in lines if line not in overridden]
    try:
        return PoolPlan(_names(words[CONFIGS]), tuple(plans)), overridden
    except UsageError as problem:
        told = f" ({'; '.join(overridden)})" if overridden else ""
        raise wrong(nodeid, problem.what + told) from None


def pool_declaration_of(nodeid: str, words: Mapping[str, Any], settings: Settings) -> Declaration:
    """What a pool declares, whoever is to play; arguments as for `pool_plan_of`.

    Raises:
        UsageError: a value is wrong.
    """
    return declaration_of(nodeid, _shared(words), settings)


def _shared(words: Mapping[str, Any]) -> dict[str, Any]:
    """What all configurations have in common. Only the score rule pools, and seat scores have no say."""
    shared = {word: value for word, value in words.items() if word != CONFIGS}
    return {"rule": "score", **shared, "secondary": []}


def _names(configs: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What to call each configuration: what it says of itself."""
    names: list[str] = []
    for config in configs:
        parts = [str(config["role"])] if config.get("role") is not None else []
        parts += [f"{word} {_shown(value)}" for word, value in config.items() if word != "role"]
        name = ", ".join(parts)[:_LONGEST_NAME] or "as declared"
        names.append(f"{name} ({len(names) + 1})" if name in names else name)
    return tuple(names)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key}={_shown(one)}" for key, one in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
