"""The marks of CL-Bench: what they accept, and how a marked case becomes a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.plugin.marks import CLBENCH_AB, validate, wrong
from pytest_evalharness.settings import BY_KEY, Settings

if TYPE_CHECKING:
    from pytest_evalharness.clbench.case_plan import ComparePlan, RunPlan

_SETTINGS = {
    word: f"clbench_{word}" for word in ("run", "checkout", "system", "name", "reference", "runroots")
}
"""Word of the mark → its setting. The command line wins over the mark, and each override is printed."""
_OF_THE_CASE = ("candidate", "baseline", "claim", "margin", "target_lift")
"""Words of a comparison that an option only fills."""
_SMOKE = "smoke"


def validate_clbench(mark: pytest.Mark, nodeid: str) -> None:
    """Check the words of either mark and their values, with suggestions for typos. What options add is checked later.

    Raises:
        UsageError: a word that does not exist, or a value that cannot be.
    """
    validate(mark, nodeid)
    from pytest_evalharness.clbench.case_plan import compare_plan, run_plan

    words = dict(mark.kwargs)
    try:
        if mark.name == CLBENCH_AB:
            named = {side: words.get(side) or "named by an option" for side in ("candidate", "baseline")}
            compare_plan(words | named)
        elif words.get("plan") is not None or words.get("run") is not None:
            run_plan(words)
        else:
            run_plan({**words, "run": "named by an option"})
    except ValueError as problem:
        raise wrong(nodeid, str(problem)) from None


def run_plan_of(nodeid: str, words: Mapping[str, Any], settings: Settings) -> tuple[RunPlan, list[str]]:
    """The plan of a case on one run, and a line for each word of the mark that the command line overrode.

    Args:
        nodeid: the case, for messages.
        words: the mark's keywords.
        settings: the run's settings.

    Raises:
        UsageError: a value is wrong, or what is to be run, or where, is not named.
    """
    plan, overridden = as_told(nodeid, words, settings)
    for word in ("checkout", "system") if plan.makes else ():
        if getattr(plan, word) is None:
            raise wrong(
                nodeid,
                f"plan={plan.plan} runs the benchmark, and no {word} was named",
                next_step=f"add {BY_KEY[_SETTINGS[word]].option}={BY_KEY[_SETTINGS[word]].metavar} to the command",
            )
    return plan, overridden


def as_told(nodeid: str, words: Mapping[str, Any], settings: Settings) -> tuple[RunPlan, list[str]]:
    """The same, before it is known that what it takes to run is named: which cases there are does not depend on that.

    Raises:
        UsageError: a value is wrong.
    """
    from pytest_evalharness.clbench.case_plan import run_plan

    told, overridden = _with_settings(nodeid, words, settings)
    try:
        return run_plan(told), overridden
    except ValueError as problem:
        raise wrong(nodeid, str(problem)) from None


def compare_plan_of(
    nodeid: str, words: Mapping[str, Any], settings: Settings
) -> tuple[ComparePlan, list[str]]:
    """The plan of a case on two runs; arguments and errors as of `run_plan_of`."""
    from pytest_evalharness.clbench.case_plan import compare_plan

    told = dict(words)
    for word in _OF_THE_CASE:
        if told.get(word) is None and settings[word] is not None:
            told[word] = settings[word]
    reference, overridden = _settled("reference", told, settings, nodeid)
    try:
        return compare_plan(
            told | {"reference": reference, "checkout": settings["clbench_checkout"], "aa": settings["aa"]}
        ), overridden
    except ValueError as problem:
        raise wrong(nodeid, str(problem)) from None


def _with_settings(
    nodeid: str, words: Mapping[str, Any], settings: Settings
) -> tuple[dict[str, Any], list[str]]:
    told, overridden = dict(words), []
    for word in _SETTINGS:
        if word == "run" and words.get("plan") == _SMOKE:
            continue  # a smoke is run, whatever else is judged in this session
        told[word], lines = _settled(word, words, settings, nodeid)
        overridden += lines
    return told, overridden


def _settled(word: str, words: Mapping[str, Any], settings: Settings, nodeid: str) -> tuple[Any, list[str]]:
    said, key = words.get(word), _SETTINGS[word]
    if said is None:
        return settings[key], []
    if not settings.commanded(key) or settings[key] == said:
        return said, []
    return settings[key], [
        f"{BY_KEY[key].option} {settings[key]} overrides {word}={said} of {nodeid.partition('[')[0]}"
    ]
