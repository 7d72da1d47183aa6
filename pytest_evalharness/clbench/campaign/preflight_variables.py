"""Whether anybody reads the variables that are set: a misspelt one changes nothing, and nobody says so."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.plan import Campaign
from pytest_evalharness.clbench.campaign.recipe import BUDGET, PLACES, PREFIXES, RUNBOOK, SKIP_BASELINE
from pytest_evalharness.clbench.checking import Check, State, judged

KNOWN = frozenset(
    {
        *RUNBOOK.environment,
        *PLACES,
        BUDGET,
        SKIP_BASELINE,
        "CLBENCH_MINIATURE_FAULTS",
        "CLBENCH_MINIATURE_PACE",
        "CLBENCH_PER_TASK_COST_USD",
        "CLBENCH_SCOPE_CREDENTIALS",
        "CLBENCH_SOLVE_DISABLED_TOOLS",
        "OUROBOROS_CONTEXT_MODE",
        "OUROBOROS_CONTEXT_MODE_AUTO_LOW",
        "OUROBOROS_FORMAT_REPAIR",
        "OUROBOROS_MAX_ROUNDS",
        "OUROBOROS_MAX_SUBAGENT_DEPTH",
        "OUROBOROS_MAX_WORKERS",
        "OUROBOROS_OR_PROVIDER",
        "OUROBOROS_RUNTIME_MODE",
        "OUROBOROS_SAFETY_MODE",
        "OUROBOROS_TASK_ABS_CEILING_SEC",
    }
)
"""Variables of the published adapter and its engine."""
_LARGEST = 4 * 1024 * 1024


def variable_check(campaign: Campaign) -> Check:
    """Whether each variable that the user set is one that the adapter is known to read, or is named in its source."""
    mine = [name for name in campaign.environment if name.startswith(PREFIXES) and name not in KNOWN]
    unread = _unread(mine, campaign.checkout.root / "src" / "systems" / campaign.system)
    return judged(
        "variables",
        "variables that somebody reads",
        [f"{printable(name)} is read by nobody that is known{_near(name)}" for name in unread],
        f"{sum(name.startswith(PREFIXES) for name in campaign.environment)} variables",
        "unset what is misspelt: a variable that nobody reads changes nothing",
        bad=State.INCOMPLETE,
    )


def _near(name: str) -> str:
    near = difflib.get_close_matches(name, KNOWN, 1, cutoff=0.8)
    return f": did you mean {near[0]}?" if near else ""


def _unread(names: list[str], folder: Path) -> list[str]:
    if not names:
        return []
    sources = list(_sources(folder))
    return [name for name in names if not any(name in source for source in sources)]


def _sources(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        try:
            if path.stat().st_size <= _LARGEST:
                yield path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
