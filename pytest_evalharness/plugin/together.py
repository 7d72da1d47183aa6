"""Which claims a session tests together: every marked case that was collected, before anything was deselected."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.base.text import counted
from pytest_evalharness.errors import UsageError
from pytest_evalharness.plugin.kinds import KINDS
from pytest_evalharness.plugin.marks import CLBENCH_AB, mark_of

if TYPE_CHECKING:
    from pytest_evalharness.clbench.case_plan import ComparePlan
    from pytest_evalharness.league.family import FamilyPlan
    from pytest_evalharness.ledger.families import Member
    from pytest_evalharness.plugin.session import EvalSession
    from pytest_evalharness.verdict.claim import Declaration

Asked = tuple[Mapping[str, Any], "Declaration | None"]
"""What a case asks, as JSON, and what it declares; None where that cannot be read."""


def _asked(run: EvalSession, nodeid: str, mark: pytest.Mark) -> Asked:
    """What a case asks. One that is deselected may lack names, or be wrong, and nobody minds.

    Cases that ask exactly the same make one claim: their evidence is one and the same.
    """
    plan, kind = run.plans.get(nodeid), KINDS[mark.name]
    try:
        if plan is None:
            plan, _ = kind.plan(nodeid, mark.kwargs, run.settings, run.identity, run.games.known)
        return plan.to_json(), plan.declaration
    except UsageError:
        pass
    try:
        return {"case": nodeid}, kind.declaration(nodeid, mark.kwargs, run.settings)
    except UsageError:
        return {"case": nodeid}, None


_COMPARED = pytest.StashKey["list[tuple[str, pytest.Mark]]"]()
_COLLECTED = pytest.StashKey["list[tuple[str, pytest.Mark]]"]()


def gather(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Remember what was collected, before anything is deselected."""
    found = config.stash[_COLLECTED] = []
    compared = config.stash[_COMPARED] = []
    for item in items:
        mark = mark_of(item)
        if mark is not None and mark.name in KINDS:  # each engine's verdict has its own caveat for the others
            found.append((item.nodeid, mark))
        elif mark is not None and mark.name == CLBENCH_AB:
            compared.append((item.nodeid, mark))


def family_plan(run: EvalSession, config: pytest.Config, selected: Collection[str]) -> FamilyPlan | None:
    """The claims that this run collected; None for an A/A run, whose every alarm must be heard.

    Nothing is resolved for a deselected case: that would ask the server about names which the command may not even give.
    So its declaration is written down with the family, and not among those made about its question.

    Args:
        run: its settings, and the plans of the selected cases.
        config: tells how cases were collected.
        selected: the cases that are to run.
    """
    if run.settings["aa"]:
        return None
    from pytest_evalharness.league.family import FamilyPlan
    from pytest_evalharness.ledger.families import Method
    from pytest_evalharness.ledger.keys import digest

    claims: dict[str, list[tuple[str, Declaration | None]]] = {}
    for nodeid, mark in config.stash.get(_COLLECTED, []):
        asks, declared = _asked(run, nodeid, mark)
        claims.setdefault(digest({"mark": mark.name, "asks": asks}), []).append((nodeid, declared))
    return FamilyPlan(
        tuple(_member(cases, selected) for cases in claims.values()),
        Method(run.settings["multiplicity"]),
        incomplete=bool(config.getoption("lf", default=False)),
        collected_under=_narrowed(config),
    )


def compared_together(
    run: EvalSession, config: pytest.Config, selected: Collection[str]
) -> list[ComparePlan | None] | None:
    """The comparisons of CL-Bench runs that this run collected, one for each question; None where nothing is adjusted.

    One that is deselected is not judged, and has None in its place: the others count it as p = 1. Cases that ask exactly
    the same make one. Claims about a margin are guards; what they find by the way stands among all.
    """
    from pytest_evalharness.clbench.case_plan import ComparePlan
    from pytest_evalharness.plugin.clbench_marks import compare_plan_of

    asked: dict[Any, bool] = {}
    for nodeid, mark in config.stash.get(_COMPARED, []):
        chosen, key = nodeid in selected, run.clbench_plans.get(nodeid)
        try:
            key = key or compare_plan_of(nodeid, mark.kwargs, run.settings)[0]
        except UsageError:
            key = None  # nobody runs it, and nobody minds
        asked[key or nodeid] = asked.get(key or nodeid, False) or chosen
    guards = sum(isinstance(one, ComparePlan) and one.declaration.claim.needs_margin for one in asked)
    if len(asked) > 1 and not run.settings["aa"]:
        run.notices.append(_compared_words(len(asked) - guards, guards, run.settings["multiplicity"]))
    if run.settings["aa"] or run.settings["multiplicity"] == "none":
        return None
    return [key if chosen and isinstance(key, ComparePlan) else None for key, chosen in asked.items()]


def _compared_words(members: int, guards: int, method: str) -> str:
    what = f"{counted(members, 'comparison')} of CL-Bench runs"
    if method == "none":
        return f"--eval-multiplicity none: {counted(members + guards, 'comparison')} of CL-Bench runs, each judged as if it were the only one; some may stand by chance"
    beside = (
        f"; {counted(guards, 'guard')} outside of it, whose margins stand by themselves" if guards else ""
    )
    return f"family: {what} tested together, p-values adjusted by Holm (--eval-multiplicity){beside}"


def _member(made: Sequence[tuple[str, Declaration | None]], selected: Collection[str]) -> Member:
    from pytest_evalharness.league.family import standing_of
    from pytest_evalharness.ledger.families import Member

    cases, declared = tuple(nodeid for nodeid, _ in made), made[0][1]
    chosen = any(case in selected for case in cases)
    if declared is None:
        return Member(cases, None, None, None, selected=chosen)
    standing = standing_of(declared)
    return Member(cases, declared.claim.value, declared.rule.value, declared.alpha, standing, chosen)


def _narrowed(config: pytest.Config) -> str:
    """What the command collects less than everything by; empty where it leaves that to the configuration."""
    named = {(config.invocation_params.dir / arg).resolve() for arg in config.args if "::" not in arg}
    whole = len(named) == len(config.args) and named <= {config.rootpath.resolve()}
    words = [] if whole or config.args == config.getini("testpaths") else list(config.args)
    for option in ("ignore", "ignore_glob"):
        for path in config.getoption(option, default=None) or ():
            words.append(f"--{option.replace('_', '-')} {path}")
    if config.getoption("lf", default=False):
        words.append("--lf")
    return " ".join(words)
