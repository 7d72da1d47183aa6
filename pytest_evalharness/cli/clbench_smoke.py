"""`evalharness clbench smoke`: three questions, to see the chain from the clone to a typed answer work once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import INCOMPLETE, INTERRUPTED, whole
from pytest_evalharness.cli.clbench_plan import add_plan, campaign_from
from pytest_evalharness.cli.home import home_of

if TYPE_CHECKING:
    from pytest_evalharness.clbench.campaign.smoke import SmokeResult

_MINUTES = 60
_NAME = "smoke"


def add_to(inner: Any) -> None:
    """Add the subcommand."""
    smoke = inner.add_parser(
        "smoke",
        help="three questions without baseline: clone, image, container, bridge, typed answer, each seen or not",
        description="Runs three questions of one task without baseline (about $3 to $5 with the real adapter) and tells five stages, "
        "each seen or not with what was seen. Lays down the schedule file that it needs, and removes it afterwards. It gates nothing "
        "but the chain. 0 if every stage was seen, 1 if one was not, 2 if it was interrupted, 11 if it could not begin.",
    )
    add_plan(smoke)
    smoke.add_argument(
        "--minutes",
        type=whole(1),
        default=_MINUTES,
        metavar="N",
        help="end it after so long: an instance may go on for ever (%(default)s)",
    )
    smoke.add_argument("--json", action="store_true", help="print JSON")
    smoke.set_defaults(run=run_clbench_smoke)


def run_clbench_smoke(parsed: argparse.Namespace) -> int:
    """Run it, and tell the stages.

    Raises:
        EvalHarnessError: it cannot begin.
    """
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.base.text import printable
    from pytest_evalharness.clbench.campaign.plan import PlanKind
    from pytest_evalharness.clbench.campaign.smoke import run_smoke

    def say(line: str) -> None:
        print(printable(line, 4000), file=sys.stderr if parsed.json else sys.stdout, flush=True)

    campaign = campaign_from(parsed, PlanKind.SMOKE, _NAME)
    try:
        found = run_smoke(
            campaign, home_of(parsed), clock=SystemClock(), on_progress=say, limit=60.0 * parsed.minutes
        )
    except KeyboardInterrupt:
        print("interrupted: nothing of this smoke goes on; the next begins anew", file=sys.stderr)
        return INTERRUPTED
    if parsed.json:
        from pytest_evalharness.base.files import readable_json

        print(readable_json(_data(found)), end="")
    else:
        for line in report(found):
            print(line)
    return 0 if found.whole else INCOMPLETE


def report(found: SmokeResult) -> Iterator[str]:
    """A smoke in words, the decision first."""
    from pytest_evalharness.base.text import printable
    from pytest_evalharness.clbench.campaign.last_words import last_words
    from pytest_evalharness.clbench.campaign.smoke import GATES

    campaign = found.campaign
    decision = "the chain works" if found.whole else "the chain does not work"
    cost = "unknown" if found.cost is None else f"${found.cost:,.2f}"
    of = " (embedded miniature)" if campaign.checkout.embedded else ""
    yield (
        f"smoke of {printable(campaign.system)}{of}: {decision}, "
        f"{found.typed_answers} of {found.questions} typed answers in {found.seconds:.0f} s at a cost of {cost}"
    )
    for stage in found.stages:
        yield f"  {stage.seen:<9} {stage.name:<13} {printable(stage.what, 400)}"
    if found.exit_code:
        yield f"  the benchmark ended with {found.exit_code}, and said last: {last_words(found.log, 2)}"
    for one in (*campaign.deviations, *found.notices):
        yield f"  note: {printable(one, 400)}"
    yield f"  log: {printable(found.log, 400)}"
    yield f"  {GATES}"


def _data(found: SmokeResult) -> dict[str, Any]:
    from pytest_evalharness.clbench.campaign.smoke import GATES

    return {
        "system": found.campaign.system,
        "task": found.campaign.tasks[0],
        "embedded": found.campaign.checkout.embedded,
        "whole": found.whole,
        "stages": [{"name": one.name, "seen": one.seen, "what": one.what} for one in found.stages],
        "questions": found.questions,
        "typed_answers": found.typed_answers,
        "exit_code": found.exit_code,
        "seconds": round(found.seconds, 3),
        "cost_usd": found.cost,
        "schedule": found.schedule,
        "notices": list(found.notices),
        "deviations": list(found.campaign.deviations),
        "log": str(found.log),
        "gates": GATES,
    }
