"""A comparison in whole sentences, for a reader who was not there. Pure; all text from outside is made harmless."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.report import units

NAME = 60
"""How much of a label or a name is shown."""
_MARGINAL = ("noninferior", "equivalent")


def verdict_sentence(judged: Mapping[str, Any]) -> str:
    """What the evidence says, without a number.

    Args:
        judged: a judgement's plain data.
    """
    if judged["verdict"] == "untrustworthy":
        return "This comparison cannot be believed, so nothing is said about its effect."
    if judged.get("aa"):
        return "One build met itself, and no difference was told, as it should be."
    candidate, baseline = (printable(judged[side]["label"], NAME) for side in ("candidate", "baseline"))
    margin, metric = judged["declaration"]["margin"], units.metric(judged["declaration"])
    if metric:
        return _by(metric, judged["verdict"], candidate, baseline, margin)
    within = f" to within {100 * margin:g} percentage points" if margin is not None else ""
    return {
        "better": f"{candidate} won more often than {baseline}.",
        "worse": f"{candidate} won less often than {baseline}.",
        "equivalent": f"{candidate} and {baseline} win equally often{within}.",
        "inconclusive": f"These games cannot tell whether {candidate} wins more or less often than {baseline}.",
    }.get(judged["verdict"], printable(judged["verdict"]))


def _by(metric: str, verdict: str, candidate: str, baseline: str, margin: float | None) -> str:
    """What the evidence says of another metric than the win rate."""
    within = f" to within {margin:g} {metric}" if margin is not None else ""
    return {
        "better": f"{candidate} has more {metric} than {baseline}.",
        "worse": f"{candidate} has less {metric} than {baseline}.",
        "equivalent": f"{candidate} and {baseline} have equally much {metric}{within}.",
        "inconclusive": f"These games cannot tell whether {candidate} has more or less {metric} than {baseline}.",
    }.get(verdict, printable(verdict))


def numbers_sentence(judged: Mapping[str, Any]) -> str:
    """The counts and the difference; empty where none may be told."""
    if judged["verdict"] == "untrustworthy" or judged["diff"] is None:
        return ""
    low, high = (units.points(limit) for limit in judged["ci"])
    if pooled(judged):
        games = " against ".join(str(judged[side]["finished"]) for side in ("candidate", "baseline"))
        return (
            f"{len(judged['strata'])} configurations, {games} games: {units.points(judged['diff'])} percentage points, "
            f"{level_words(judged)} {low} to {high}."
        )
    metric, measure = units.metric(judged["declaration"]), judged.get("measure")
    if metric and measure:
        means = " against ".join(units.mean(measure[side]) for side in ("candidate", "baseline"))
        games = " and ".join(str(judged[side]["finished"]) for side in ("candidate", "baseline"))
        low, high, found = (
            units.difference(value, judged["declaration"]) for value in (*judged["ci"], judged["diff"])
        )
        return f"Mean {metric} {means} in {games} games: {found}, {level_words(judged)} {low} to {high}."
    won = " against ".join(
        f"{judged[side]['wins']} of {judged[side]['finished']}" for side in ("candidate", "baseline")
    )
    return f"Won {won} games: {units.points(judged['diff'])} percentage points, {level_words(judged)} {low} to {high}."


def pooled(judged: Mapping[str, Any]) -> bool:
    """Whether a judgement is about several configurations, whose arms have no one rate."""
    return "strata" in judged


def claim_sentence(judged: Mapping[str, Any]) -> str:
    """What becomes of what was claimed."""
    claim = claim_words(judged["declaration"])
    if judged.get("aa"):
        return f"The declared claim, {claim}, is not judged in an A/A run."
    became = {
        "met": "is met",
        "not_met": "is not met",
        "cannot_tell": "stays open",
        "untrustworthy": "is not judged",
    }.get(judged["decision"], printable(judged["decision"]))
    return f"The claim, {claim}, {became}."


def claim_words(declared: Mapping[str, Any]) -> str:
    """A claim as it was declared: `“noninferior” within 0.20`."""
    word = printable(declared["claim"]).replace("_", " ")
    margin = declared["margin"]
    return (
        f"“{word}” within {units.margin(declared)}"
        if declared["claim"] in _MARGINAL and margin
        else f"“{word}”"
    )


def level_words(judged: Mapping[str, Any]) -> str:
    """What kind of interval stands beside a difference."""
    if judged.get("bound") is not None:
        return "interval at this look's bound"
    if pooled(judged) and judged["rule"] == "overlap":
        return "interval at the overlap rule's level"
    return f"{100 * (1 - judged['declaration']['alpha']):.4g}\N{NO-BREAK SPACE}% interval"


def margin_level_words(declared: Mapping[str, Any]) -> str:
    """What kind of interval margins are judged on."""
    return f"{100 * (1 - 2 * declared['alpha']):.4g}\N{NO-BREAK SPACE}% interval"


def share(wins: int, games: int) -> str:
    """A win rate, `15/30 = 50.0 %`, with no break before the sign."""
    return f"{wins}/{games} = {100 * wins / games:.1f}\N{NO-BREAK SPACE}%" if games else f"{wins}/{games}"
