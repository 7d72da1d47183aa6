"""Checks of what would be run: the revision, the program, the name, the schedules, the system, its coverage and served secrets."""

from __future__ import annotations

from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.git import Git
from pytest_evalharness.clbench.campaign.checkout import DEFAULT, Checkout
from pytest_evalharness.clbench.campaign.command_lines import SMOKE_SCHEDULE
from pytest_evalharness.clbench.campaign.parameters import declares, suggestion
from pytest_evalharness.clbench.campaign.plan import Campaign, PlanKind
from pytest_evalharness.clbench.campaign.recipe import SKIP_BASELINE
from pytest_evalharness.clbench.checking import Check, State, judged
from pytest_evalharness.clbench.domains import BY_TASK, FULL_ROLLOUTS, Family
from pytest_evalharness.errors import NoCheckout

NAME_CHECK = "run name"
FIX = "5f8c50eb"
"""The commit with which the benchmark's own script stopped mixing a clipped ratio of cohort studies with bits."""
_SCRIPT = Path("scripts/analyze_final_results.py")
_RULE = "mean_reference_kl"
"""What only a script reads that computes cohort rewards again."""
_LARGEST = 4 * 1024 * 1024


def revision_check(campaign: Campaign, clock: Clock) -> Check:
    """Whether the checkout's own script is known to score cohort studies on one scale."""
    checkout = campaign.checkout
    name, needed = "revision", f"a checkout at or after {FIX}, with nothing changed in it"
    if checkout.embedded:
        return Check(
            name, State.OK, f"{checkout.words}: its scores say nothing about any other system", "a checkout"
        )
    seen = checkout.words
    behind = Git(checkout.root, clock).holds(FIX, checkout.revision) if checkout.revision else None
    fixed = behind is True or _recomputes(checkout.root)
    if not fixed:
        mend = f"update the checkout (git fetch; git merge {FIX}); results are scored on one scale by evalharness clbench score either way"
        state = State.INCOMPLETE if campaign.kind is PlanKind.SMOKE else State.FAILED
        return Check(name, state, f"{seen}: its script mixes scales of cohort rewards", needed, mend)
    how = (
        f"at or after {FIX}"
        if behind is True
        else "its script computes cohort rewards again, though git does not tell since when"
    )
    seen = f"{seen}: {how}; nats and bits are told apart by evalharness clbench score only"
    if not checkout.revision:
        return Check(
            name, State.UNKNOWN, seen, needed, "use a git clone, so that the run can name its revision"
        )
    if checkout.dirty:
        return Check(
            name, State.INCOMPLETE, seen, needed, "commit or drop the changes: the run cannot name them"
        )
    return Check(name, State.OK, seen, needed)


def _recomputes(root: Path) -> bool:
    try:
        with (root / _SCRIPT).open(encoding="utf-8", errors="replace") as file:
            return _RULE in file.read(_LARGEST)
    except OSError:
        return False


def program_check(checkout: Checkout) -> Check:
    """Whether children of `run-all` run this checkout's code: it takes whichever `clbench` stands on PATH first."""
    name, needed = "clbench on PATH", "the checkout's own, which run-all starts for every task"
    mine = checkout.program[0]
    started_by_script = checkout.program[-1].endswith("run_benchmark.py")
    if checkout.foreign and started_by_script:
        return Check(
            name,
            State.FAILED,
            f"{checkout.foreign} runs other code than {checkout.root}",
            needed,
            f"install the checkout (pip install -e {checkout.root}) and activate its environment, or take the other off PATH",
        )
    if checkout.foreign:
        return Check(name, State.OK, f"{mine}; the campaign puts it before {checkout.foreign}", needed)
    if started_by_script:
        return Check(name, State.OK, f"none: children are started by {' '.join(checkout.program)}", needed)
    return Check(name, State.OK, mine, needed)


def name_check(campaign: Campaign) -> Check:
    """Whether the run's folder is free: `run-all` starts nothing where it is not."""
    name, needed = NAME_CHECK, "a name under which nothing is published yet"
    folder = campaign.run_folder
    if campaign.kind is not PlanKind.SMOKE and folder.exists():
        mend = "another --name; or evalharness clbench run --missing-only, which goes on with it"
        return Check(name, State.FAILED, f"{folder} is there", needed, mend)
    return Check(name, State.OK, campaign.slug, needed)


def schedule_check(campaign: Campaign) -> Check:
    """Whether every task has the schedule, with the rollouts that a submission needs."""
    checkout, problems = campaign.checkout, []
    for task in campaign.tasks:
        try:
            found = checkout.schedule(task)
        except NoCheckout as problem:
            problems.append(problem.what)
            continue
        known = BY_TASK.get(task)
        if campaign.kind is PlanKind.SUBMISSION and found.rollouts != FULL_ROLLOUTS:
            problems.append(f"{task}: {found.rollouts} rollouts, not {FULL_ROLLOUTS}")
        if known is not None and known.permuted is (found.mode == "replicate"):
            problems.append(f"{task}: its mode is {found.mode}")
    shown = f"{DEFAULT} of {len(campaign.tasks)} tasks"
    if campaign.kind is PlanKind.SMOKE:
        shown += f"; {SMOKE_SCHEDULE} is laid down for the smoke and taken away again"
    return judged(
        "schedules",
        f"the {DEFAULT} schedule of every task, as the benchmark ships it",
        problems or ([] if campaign.tasks else ["none of the benchmark's tasks is there"]),
        shown,
        "restore the files (git checkout -- src/tasks), or name other tasks with --task",
    )


def system_check(campaign: Campaign) -> Check:
    """Whether the system is there: `run-all` does not ask before it starts a child for every task."""
    name, there = "system under test", campaign.checkout.systems()
    needed = "a system below src/systems"
    if campaign.system in there:
        return Check(name, State.OK, campaign.system, needed)
    mend = f"{suggestion(campaign.system, there)}" if there else "nothing is below src/systems"
    return Check(name, State.FAILED, f"there is no {campaign.system}", needed, mend)


def coverage_check(campaign: Campaign) -> Check:
    """Whether the run could have a rank: every task of its family, and with its own baseline."""
    name, needed = "coverage", "every task, each with its own stateless baseline"
    if campaign.kind is PlanKind.SMOKE:
        return Check(name, State.OK, "a smoke is in no score", needed)
    family = Family.EMBEDDED if campaign.checkout.embedded else Family.OFFICIAL
    missing = [BY_TASK[task].short for task in family.tasks if task not in campaign.tasks]
    problems = [f"without {', '.join(missing)}"] if missing else []
    if not campaign.has_baseline:
        problems.append(f"{SKIP_BASELINE} is set: there would be no gain")
    systems = campaign.checkout.root / "src" / "systems"
    if not campaign.checkout.embedded and declares(systems, campaign.system, "supports_baseline") is False:
        problems.append(f"{campaign.system} has no stateless baseline: there would be no gain")
    fine = f"{len(campaign.tasks)} of {len(family.tasks)} tasks, with baselines"
    mend = "leave out --task, and the variable; without them the run has no rank"
    return judged(name, needed, problems, fine, mend, bad=State.INCOMPLETE)


def secrets_check(campaign: Campaign) -> Check:
    """Whether a file with keys is served: the dashboard of `run-all` shows the whole checkout to every user of the machine."""
    name, needed = "secrets", "no file with keys in the checkout, which its dashboard serves"
    file = campaign.checkout.root / ".env"
    if file.exists() and campaign.kind is not PlanKind.SMOKE:
        mend = f"move {file} out of the checkout and export its variables, or run where nobody else has an account"
        seen = "the dashboard of run-all serves .env to every user of this machine"
        return Check(name, State.INCOMPLETE, seen, needed, mend)
    return Check(name, State.OK, "none", needed)
