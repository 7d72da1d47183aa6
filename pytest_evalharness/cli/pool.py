"""`evalharness pool`: one verdict for the finished comparisons of several runs."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.cli import setting
from pytest_evalharness.cli.home import add_home, home_of, no_ledger, opened

if TYPE_CHECKING:
    from pytest_evalharness.league.pool_runs import RunsPool

_CLAIMS = ("better", "not_worse", "noninferior", "equivalent")


def add_to(commands: Any) -> None:
    """Add the subcommand."""
    pool = commands.add_parser(
        "pool",
        help="one verdict for the finished comparisons of several runs",
        description="Pool all finished comparisons of two builds over these runs: one configuration for each pair of arms, judged by "
        "the Cochran-Mantel-Haenszel test. All judged comparisons of the two builds are pooled, or none. Exit codes: 0 the "
        "claim is met, 1 it is not, 10 cannot tell, 11 untrustworthy. Posts nothing.",
    )
    pool.add_argument("runs", metavar="RUN", nargs="+", help="a run's id (evalharness runs ls)")
    add_home(pool)
    pool.add_argument(
        "--candidate", metavar="NAME:vN", help="the candidate, where the runs compare several builds"
    )
    pool.add_argument("--baseline", metavar="NAME:vN", help="the baseline, likewise")
    pool.add_argument("--claim", choices=_CLAIMS, help="the claim (the one that the comparisons declared)")
    pool.add_argument("--margin", type=setting("margin"), metavar="M", help="its margin, if it needs one")
    pool.add_argument(
        "--effects",
        choices=("fixed", "random"),
        default="fixed",
        help="fixed: one effect is expected everywhere; random: the configurations are a sample, four at least (%(default)s)",
    )
    pool.add_argument("--json", action="store_true", help="print JSON")
    pool.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Pool, and say what came out.

    Raises:
        UsageError: there is no such run, or nothing that can be pooled.
    """
    from pytest_evalharness.league.pool_runs import Question, pool_runs
    from pytest_evalharness.report.model import field_notice
    from pytest_evalharness.verdict.words import Effects

    home = home_of(parsed)
    with opened(home) as ledger:
        if ledger is None:
            raise no_ledger(home)
        asked = Question(parsed.claim, parsed.margin, Effects(parsed.effects))
        found = pool_runs(ledger, parsed.runs, asked, candidate=parsed.candidate, baseline=parsed.baseline)
    code = found.exit_code
    if parsed.json:
        print(json.dumps({**found.to_json(), "exit_code": code}, indent=2, sort_keys=True))
    else:
        print(printable(found.headline, 1000))
        for line in found.judgement.summary_lines():
            print(f"  {printable(line, 1000)}")
        for notice in filter(None, map(field_notice, found.servers)):
            print(f"note: {printable(notice)}")
    if found.left_out:
        print(f"  next:     {_complete(found, parsed)}", file=sys.stderr)
    return code


def _complete(found: RunsPool, parsed: argparse.Namespace) -> str:
    """The command that leaves nothing out."""
    words = ["evalharness", "pool", *map(printable, found.complete)]
    for name in ("home", "candidate", "baseline", "claim", "margin"):
        if getattr(parsed, name) is not None:
            words += [f"--{name}", str(getattr(parsed, name))]
    return " ".join(words + (["--effects", "random"] if parsed.effects == "random" else []))
