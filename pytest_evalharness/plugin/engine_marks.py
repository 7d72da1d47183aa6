"""The mark of decision engines: what it accepts, and how a marked case becomes a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_evalharness.plugin.marks import wrong
from pytest_evalharness.settings import Settings

if TYPE_CHECKING:
    from pytest_evalharness.engines.plan import EnginePlan


def engine_plan_of(nodeid: str, words: Mapping[str, Any], settings: Settings) -> tuple[EnginePlan, list[str]]:
    """The plan of a case, and a line for each word of the mark that the command line overrode.

    Args:
        nodeid: the case, for messages.
        words: the mark's keywords.
        settings: the run's settings.

    Raises:
        UsageError: a value is wrong, or no evidence is named.
    """
    from pytest_evalharness.engines.plan import ALL, EnginePlan, engines_told

    told, overridden = words.get("evidence"), []
    named = settings["evidence"]
    evidence = named if told is None or settings.commanded("evidence") else told
    if told is not None and evidence != told:
        overridden.append(f"--eval-evidence {evidence} overrides evidence={told} of {nodeid}")
    if not evidence:
        raise wrong(
            nodeid,
            "no evidence was named",
            next_step="add --eval-evidence=SET to the command, or evidence= to the mark",
        )
    said = {
        key: value for key, value in words.items() if value is not None and key not in ("evidence", "engines")
    }
    try:
        return (
            EnginePlan(evidence=str(evidence), engines=engines_told(words.get("engines", ALL)), **said),
            overridden,
        )
    except (ValueError, TypeError) as problem:
        raise wrong(nodeid, str(problem)) from None
