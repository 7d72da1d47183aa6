"""The engine's own repository: each engine of a campaign runs a clone of it, which holds what is committed and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.git import Changes, Git, Unknown
from pytest_evalharness.clbench.campaign.plan import Campaign
from pytest_evalharness.clbench.checking import Check, State

VARIABLE = "OUROBOROS_BENCH_CLONE"
PARAMETER = "ouroboros_repo"
_NAME = "engine"
_NEEDED = "the engine's repository, with everything committed that is to be measured"


@dataclass(frozen=True)
class Repository:
    """What is known of the engine's repository.

    Attributes:
        path: where it is; None where neither the parameter nor the variable names it.
        revision: the commit that would be cloned; empty where git does not tell.
        changes: what is not committed, None where git does not tell.
    """

    path: Path | None
    revision: str = ""
    changes: Changes | None = None


def repository_of(campaign: Campaign, environment: Mapping[str, str], clock: Clock) -> Repository:
    """The repository that a campaign's engines would be cloned from."""
    told = campaign.params.get(PARAMETER) or environment.get(VARIABLE)
    if not told:
        return Repository(None)
    path = Path(str(told)).expanduser()
    path = path if path.is_absolute() else campaign.checkout.root / path
    git = Git(path, clock)
    head, changes = git.head(), git.changes()
    return Repository(
        path,
        "" if isinstance(head, Unknown) else head,
        None if isinstance(changes, Unknown) else changes,
    )


def engine_check(found: Repository) -> Check:
    """Whether what would be measured is what the user sees."""
    if found.path is None:
        seen = f"neither the parameter {PARAMETER} nor {VARIABLE} names it"
        return Check(_NAME, State.UNKNOWN, seen, _NEEDED, f"export {VARIABLE}=DIR")
    if not found.revision or found.changes is None:
        seen = f"{found.path} is no git repository with a commit"
        return Check(_NAME, State.FAILED, seen, _NEEDED, f"export {VARIABLE}=DIR of the engine's own clone")
    seen = f"{found.path} at {found.revision[:12]}"
    if found.changes.total:
        shown = ", ".join(found.changes.names[:3])
        return Check(
            _NAME,
            State.INCOMPLETE,
            f"{seen}; {found.changes.total} files differ from it ({shown}): clones will not have that",
            _NEEDED,
            "commit what is to be measured",
        )
    return Check(_NAME, State.OK, seen, _NEEDED)
