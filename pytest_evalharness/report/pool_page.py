"""A pool as a page shows it: one verdict, its configurations in a table, and each configuration's seats and episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.report import sentences as say
from pytest_evalharness.report import units
from pytest_evalharness.report.page_view import ComparisonView, StratumView

PART = "configuration"
"""The sign of a configuration: the pool has the verdict, and it has none of its own."""


def pooled(view: ComparisonView, result: Mapping[str, Any]) -> ComparisonView:
    """A pool's own view: no win rate of unlike configurations together, but each of them in a row.

    Args:
        view: the view of its judgement.
        result: the pool's plain data (`PoolResult.to_json`).
    """
    judged = result["judgement"]
    trusted = judged["verdict"] != "untrustworthy"
    strata = tuple(_stratum(one) for one in judged["strata"]) if trusted else ()
    return replace(
        view,
        arms=tuple(replace(arm, share="") for arm in view.arms),
        strata=strata,
    )


def _stratum(stratum: Mapping[str, Any]) -> StratumView:
    arms = stratum["candidate"], stratum["baseline"]
    rates = [arm["wins"] / arm["finished"] if arm["finished"] else None for arm in arms]
    difference = "" if None in rates else units.points((rates[0] or 0.0) - (rates[1] or 0.0))
    won = [say.share(arm["wins"], arm["finished"]) for arm in arms]
    return StratumView(printable(stratum["name"], say.NAME), won[0], won[1], difference)


def part(view: ComparisonView, name: str) -> ComparisonView:
    """One configuration: its arms, seats and episodes, and no verdict of its own.

    Args:
        view: the view of what it would come to alone.
        name: the configuration.
    """
    return replace(
        view,
        name=printable(name, say.NAME),
        verdict=PART,
        symbol="·",
        sentence="One configuration of the pool, which is not judged alone.",
        numbers="",
        claim="",
        next_step="",
        remarks=(),
        difference="",
        lines=(),
    )
