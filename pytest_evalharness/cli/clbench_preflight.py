"""`evalharness clbench preflight`: everything that can be known before a campaign costs anything."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pytest_evalharness.cli import INCOMPLETE
from pytest_evalharness.cli.clbench_plan import add_plan, campaign_from
from pytest_evalharness.errors import NotReady

_PLANS = ("smoke", "seed", "submission")


def add_to(commands: Any) -> None:
    """Add the subcommand."""
    command = commands.add_parser(
        "preflight",
        help="before a campaign: every check, what it would cost, go or no go",
        description="Looks at the checkout, the system's parameters, the orders of seeds, the key, the machine and its containers, and "
        "starts nothing that costs anything. Each check says what it saw, what it needs and how to mend it. 0 go, 1 go with doubts "
        "(something is incomplete or cannot be told), 11 no go.",
    )
    add_plan(command)
    command.add_argument("--plan", choices=_PLANS, required=True, help="how much is to be run")
    command.add_argument("--name", metavar="NAME", help="of the run (SYSTEM-PLAN)")
    command.add_argument(
        "--like",
        type=Path,
        metavar="RUNDIR",
        help="a finished run of the same configuration: what its tasks cost",
    )
    command.add_argument(
        "--key-url", metavar="URL", help="the provider's API that tells what a key may spend (OpenRouter's)"
    )
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=run_preflight)


def run_preflight(parsed: argparse.Namespace) -> int:
    """Look, and print.

    Raises:
        EvalHarnessError: there is no such checkout, an option names what is not there, or `--like` is no run.
    """
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.base.files import readable_json
    from pytest_evalharness.clbench.campaign.plan import PlanKind
    from pytest_evalharness.clbench.campaign.preflight import Answered, Surroundings, preflight, told
    from pytest_evalharness.clbench.campaign.preflight_keys import OPENROUTER
    from pytest_evalharness.clbench.campaign.preflight_words import lines
    from pytest_evalharness.clbench.run_folder import read_run
    from pytest_evalharness.cli.home import home_of

    kind = PlanKind(parsed.plan)
    campaign = campaign_from(parsed, kind, parsed.name or f"{parsed.system}-{kind}")
    around = Surroundings.here(
        home_of(parsed),
        SystemClock(),
        key_url=parsed.key_url or OPENROUTER,
        like=read_run(parsed.like) if parsed.like else None,
        on_step=lambda words: print(words, file=sys.stderr),
    )
    found = preflight(campaign, around)
    if parsed.json:
        print(readable_json(told(found)), end="")
    else:
        for line in lines(found):
            print(line)
    codes = {Answered.GO: 0, Answered.DOUBTS: INCOMPLETE, Answered.NO_GO: NotReady.exit_code}
    return codes[found.answer]
