"""`evalharness clbench score` and `check`: published runs of the continual-learning benchmark, scored and doubted."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from pytest_evalharness.cli import (
    INCOMPLETE,
    clbench_demo,
    clbench_losses,
    clbench_preflight,
    clbench_run,
    clbench_salvage,
    clbench_smoke,
    clbench_status,
    clbench_wishes,
)
from pytest_evalharness.errors import Untrustworthy

_SCALES = ("bits", "pr9", "prefix")


def add_to(commands: Any) -> None:
    """Add the subcommand and its own."""
    clbench = commands.add_parser(
        "clbench",
        help="CL-Bench: preflight, run, guard, salvage, score and check campaigns",
        description="Campaigns of the continual-learning benchmark, from the preflight to the score: what they would cost, a run "
        "that leaves nothing spending, how it stands, what a crash left whole, and whether a result may be believed.",
    )
    inner = clbench.add_subparsers(dest="clbench_command", metavar="COMMAND", required=True)
    score = inner.add_parser(
        "score",
        help="rewards, gains and normalised scores with intervals",
        description="Rewards, gains and normalised scores of run directories, with z and t intervals, by seed, and with cohort "
        "studies in three scales. 0 if everything is complete and nothing is doubted, else 1; 11 if there is nothing to say.",
    )
    score.add_argument("runs", nargs="+", type=Path, metavar="RUNDIR", help="final_results/runs/NAME")
    score.add_argument(
        "--scale",
        choices=_SCALES,
        default="bits",
        help="of cohort studies: bits, or what the leaderboard's scripts make of it after and before their fix (%(default)s)",
    )
    score.add_argument(
        "--reference",
        type=Path,
        metavar="RUNDIR",
        help="the run whose baselines normalise (icl-gpt-5.4, if it is among the runs or beside the first)",
    )
    score.add_argument("--json", action="store_true", help="print JSON")
    score.set_defaults(run=run_score)
    check = inner.add_parser(
        "check",
        help="a trust report on a run: what was seen, what is needed, how to mend it",
        description="A trust report on a run directory, and what a submission has and lacks. 0 if every check is ok, 1 if "
        "something is missing or cannot be told, 11 if something is not to be believed.",
    )
    check.add_argument("rundir", type=Path, metavar="RUNDIR", help="final_results/runs/NAME")
    check.add_argument("--json", action="store_true", help="print JSON")
    check.set_defaults(run=run_check)
    clbench_preflight.add_to(inner)
    clbench_smoke.add_to(inner)
    clbench_run.add_to(inner)
    clbench_wishes.add_to(inner)
    clbench_status.add_to(inner)
    clbench_salvage.add_to(inner)
    clbench_losses.add_to(inner)
    clbench_demo.add_to(inner)


def run_score(parsed: argparse.Namespace) -> int:
    """Print the scores.

    Raises:
        EvalHarnessError: a run cannot be read, normalised, or brought to one scale.
    """
    from pytest_evalharness.clbench import rendering
    from pytest_evalharness.clbench.leaderboard import reference_of, standings
    from pytest_evalharness.clbench.run_folder import read_run
    from pytest_evalharness.clbench.scales import Scale

    runs = [read_run(folder) for folder in dict.fromkeys(parsed.runs)]
    reference = reference_of(runs, parsed.reference)
    found = standings(runs, reference, Scale(parsed.scale))
    if parsed.json:
        _print_json({"scale": parsed.scale, "reference": reference.name, "runs": found})
    else:
        for line in rendering.scores(found, reference.name):
            print(line)
    return 0 if all(one.score.clean for one in found) else INCOMPLETE


def run_check(parsed: argparse.Namespace) -> int:
    """Print the trust report.

    Raises:
        EvalHarnessError: the folder is no run.
    """
    from pytest_evalharness.clbench import rendering, submission, trust
    from pytest_evalharness.clbench.campaign.hygiene import secrets_check
    from pytest_evalharness.clbench.checking import State
    from pytest_evalharness.clbench.run_folder import read_run

    run = read_run(parsed.rundir)
    checks, items = [*trust.checks(run), secrets_check(run.folder, os.environ)], submission.items(run)
    if parsed.json:
        _print_json({"run": run.name, "family": run.family, "checks": checks, "submission": items})
    else:
        for line in rendering.report(run.name, checks, items, run.family):
            print(line)
    states = {one.state for one in checks}
    if State.FAILED in states:
        return Untrustworthy.exit_code
    return 0 if states == {State.OK} else INCOMPLETE


def _print_json(told: Any) -> None:
    import msgspec

    from pytest_evalharness.base.files import readable_json

    print(readable_json(msgspec.to_builtins(told)), end="")
