"""`evalharness ab`: one comparison from the command line, with the runbook's own flags; and its success check."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.cli import INCOMPLETE, INTERRUPTED, ab_bisect, ab_judge
from pytest_evalharness.cli.ab_flags import DEFAULTS, FLAGS, GROUPS, METRIC, add, again, metric_of, spelt
from pytest_evalharness.cli.home import found, resolved
from pytest_evalharness.errors import EvalHarnessError, UsageError
from pytest_evalharness.settings import unknown_variables

if TYPE_CHECKING:
    from pytest_evalharness.league.plan import ComparisonPlan
    from pytest_evalharness.league.session import LeagueSession
    from pytest_evalharness.league.single import Concluded
    from pytest_evalharness.report.model import Report

_WIDE = 2000


def add_to(commands: Any) -> None:
    """Add the subcommand."""
    ab = commands.add_parser(
        "ab",
        help="did this edit help? candidate against baseline on a league, judged",
        usage="evalharness ab --candidate NAME:vN --baseline NAME:vN [options]\n       evalharness ab --explain RUN\n"
        "       evalharness ab --judge-requests XREQ_CANDIDATE XREQ_BASELINE [--seat N] [--claim CLAIM]\n"
        "       evalharness ab --bisect-wedge RUN [--known-good NAME:vN] [--bisect-budget N] [--dry-run]",
        description="Candidate and baseline play the same live field, each in one seat of a forced role, at the same time; then it is judged "
        "whether the claim is met. It is the runner of `pytest evals/`, and the same question is played once: whoever asks it again, "
        "in whichever way, goes on with it or reads it again. Every flag is a setting: the environment (EVALHARNESS_NUM) and "
        "pytest's ini keys (evalharness_num) fill what the command line leaves out.",
        epilog="Exit codes: 0 the claim is met (or a dry run's plan resolves), 1 it is not, 2 interrupted: the same command goes on, 4 usage, "
        "10 these games cannot tell, 11 untrustworthy or refused: no evidence that anyone should believe.",
    )
    for title, flags in GROUPS:
        group = ab.add_argument_group(title)
        for flag in flags:
            add(group, flag)
        if any(flag.key == "claim" for flag in flags):
            group.add_argument("--metric", metavar="METRIC", help=METRIC)
    told = ab.add_argument_group("what is told")
    told.add_argument(
        "--json", action="store_true", help="print the run's results.json; progress goes to stderr"
    )
    told.add_argument(
        "-q",
        "--quiet",
        action="count",
        default=0,
        help="tell changes of state only; twice: no progress at all",
    )
    told.add_argument(
        "--explain",
        metavar="RUN",
        help="print the runbook's success check of a run, point by point; posts nothing",
    )
    ab_judge.add_to(ab)
    ab_bisect.add_to(ab)
    ab.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Ask, or explain what was asked."""
    try:
        if parsed.bisect_wedge is not None:
            return ab_bisect.bisect(parsed)
        ab_bisect.refuse_without_run(parsed)
        ab_judge.refuse_without_requests(parsed)
        return _ask(parsed) if parsed.explain is None else _explain(parsed)
    except EvalHarnessError as error:
        print(spelt(str(error)), file=sys.stderr)
        return error.exit_code


# ------------------------------------------------------------------------ ask


def _ask(parsed: argparse.Namespace) -> int:
    """Preview or play the comparison that the settings describe.

    Raises:
        EvalHarnessError: a value is wrong, a name is missing, or a dry run's plan cannot be resolved.
    """
    from pytest_evalharness.base.signals import OrderlyEnd
    from pytest_evalharness.league import single
    from pytest_evalharness.league.session import LeagueSession
    from pytest_evalharness.ledger.keys import new_run_id

    settings, home = resolved(lambda key: getattr(parsed, key, None), DEFAULTS)
    session = LeagueSession(settings, home=home, run_id=new_run_id())
    end = OrderlyEnd()
    end.install()
    try:
        if parsed.judge_requests is None:
            plan = single.plan_of(
                settings, session.identity, session.games.of, metric=metric_of(parsed), notice=session.notice
            )
        else:
            plan = ab_judge.plan_of(session, parsed)
        name = single.case_name(plan)
        session.plans[name] = plan
        session.family = single.family_of(name, plan, settings["multiplicity"])
        for line in unknown_variables(os.environ):
            session.notice(line)
        return (_preview if settings["dry_run"] else _play)(session, name, plan, parsed)
    finally:
        session.close()
        end.restore()


def _preview(session: LeagueSession, name: str, plan: ComparisonPlan, parsed: argparse.Namespace) -> int:
    """Print what would be posted, and post nothing.

    Raises:
        EvalHarnessError: it cannot be resolved.
    """
    from pytest_evalharness.base.files import readable_json
    from pytest_evalharness.league import preview

    league = session.league
    planned = league.preview(name)
    lines = list(preview.lines(plan, planned, league.budgets(plan), claims=league.family.size()))
    notices = [spelt(printable(text, _WIDE)) for text in session.notices_for(())]
    if parsed.json:
        told = {
            "dry_run": True, "embedded": session.embedded, "exit_code": 0, "lines": lines, "notices": notices,
            "plan": plan.to_json(), "requests": {side: arm.bodies() for side, arm in planned.arms.items()},
            "roster": planned.roster.to_json(), "server": session.identity,
        }  # fmt: skip
        print(readable_json(told), end="")
        return 0
    print(f"{printable(name)}:")
    for line in lines:
        print(f"  {spelt(line)}")
    for notice in notices:
        print(f"note: {notice}")
    print("dry run: the plan resolves; nothing was posted")
    return 0


def _play(session: LeagueSession, name: str, plan: ComparisonPlan, parsed: argparse.Namespace) -> int:
    """Play the comparison, write its files and say what came out.

    Raises:
        UsageError: something that only the server could tell is wrong with what was asked.
    """
    from pytest_evalharness.base.files import readable_json
    from pytest_evalharness.league import single
    from pytest_evalharness.report import step_files
    from pytest_evalharness.report.model import SETTLED

    shown = _Progress(session, parsed.quiet)
    session.on_wait = shown.show
    shown.say(
        f"run {session.run_id}: {printable(name)}, {plan.episodes} episodes an arm on {printable(plan.server)}"
    )
    concluded: Concluded | None = None
    with contextlib.suppress(KeyboardInterrupt):  # what was posted is in the ledger
        concluded = single.conclude(session, name)
    shown.show()
    code = INTERRUPTED if concluded is None else concluded.exit_code
    cases = () if concluded is None else (concluded.case,)
    report = session.report(code, cases, still_running=() if code in SETTLED else shown.still_running())
    files = _written(session, report)
    for line in step_files.write(
        report, folder=session.folder, resume=again(parsed), environ=os.environ if _in_a_workflow() else {}
    ):
        shown.say(line.removeprefix("evalharness: "))
    if parsed.json:
        print(readable_json(report.to_json()), end="")
        shown.say(files)
    else:
        for line in [*_told(report, concluded), files]:
            print(spelt(line))
    if concluded is None:
        print(
            f"interrupted; nothing is lost and nothing is posted twice. To go on:\n  {again(parsed)}",
            file=sys.stderr,
        )
    return code


def _in_a_workflow() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _told(report: Report, concluded: Concluded | None) -> Iterator[str]:
    """What a reader of the terminal gets: the verdict with every number, the success check, and the rest."""
    from pytest_evalharness.report import success, terminal

    if concluded is not None:
        if concluded.case.message or concluded.result is None:
            yield from concluded.case.message.splitlines()
        else:
            yield printable(concluded.result.headline, _WIDE)
            yield from (printable(line, _WIDE) for line in concluded.result.lines())
        for check in success.of_case(concluded.case):
            yield from (line for _, line in terminal.success_lines(check))
    yield from (line for _, line in terminal.beside(report))
    yield f"exit {report.exit_code}: {report.exit_words}"


def _written(session: LeagueSession, report: Report) -> str:
    """Write the run's files; where they are, and what of them is missing."""
    from pytest_evalharness.report import folder

    try:
        missing = folder.write(session.folder, report)
    except OSError as problem:
        missing = f"they could not be written: {problem.strerror or problem}"
    here = Path.cwd()
    shown = session.folder.relative_to(here) if session.folder.is_relative_to(here) else session.folder
    return f"files: {printable(shown, _WIDE)}" + (f" ({missing})" if missing else "")


class _Progress:
    """Tells on stderr how far a run has come: more often on a terminal than in a log."""

    def __init__(self, session: LeagueSession, quiet: int) -> None:
        from pytest_evalharness.base.events import EventReader
        from pytest_evalharness.report.progress import Narrator

        self._events = session.events.path
        self._reader = EventReader(self._events)
        self._narrator = Narrator(quiet=quiet, interactive=sys.stderr.isatty())
        self._quiet = quiet

    def say(self, text: str) -> None:
        """A line of our own."""
        if not self._quiet:
            print(f"evalharness: {text}", file=sys.stderr, flush=True)

    def show(self) -> None:
        """Print what is new."""
        for line in self._narrator.lines(self._reader.new(), time.monotonic()):
            print(f"evalharness: {spelt(line)}", file=sys.stderr, flush=True)

    def still_running(self) -> tuple[str, ...]:
        """What was posted and has not ended."""
        from pytest_evalharness.base.events import EventReader
        from pytest_evalharness.report.progress import still_running

        # All events anew: an interrupt may have come between the reading of some and their being shown.
        return still_running(list(EventReader(self._events).new()))


# -------------------------------------------------------------------- explain


def _explain(parsed: argparse.Namespace) -> int:
    """Print the success check of everything that a run compared; 0 only if every point of it is as it should be.

    Raises:
        UsageError: there is no such run, or flags that belong to another comparison.
    """
    from pytest_evalharness.base.files import readable_json
    from pytest_evalharness.cli.home import home_of
    from pytest_evalharness.league import explaining
    from pytest_evalharness.report import terminal
    from pytest_evalharness.report.model import SCOPE, field_notice

    others = [flag.option for flag in FLAGS if getattr(parsed, flag.key) is not None and flag.key != "home"]
    others += ["--metric"] if parsed.metric is not None else []
    if others:
        raise UsageError(
            f"--explain reads a run and takes --home and --json beside it, not {others[0]}",
            not_done="nothing was read",
            next_step=f"evalharness ab --explain {printable(parsed.explain)}",
        )
    server, told = explaining.reported(home_of(parsed) / "runs" / parsed.explain)
    if not told:
        parsed.run_id = parsed.explain
        with found(parsed, reading=True) as (ledger, record):
            server, told = record.server, explaining.kept(ledger, record)
    if parsed.json:
        rows = [{"case": name, **check.to_json()} for name, check in told]
        document = {"run": parsed.explain, "server": server, "scope": SCOPE, "success_check": rows}
        print(readable_json(document), end="")
    else:
        for name, check in told:
            print(printable(name, _WIDE))
            for _, line in terminal.success_lines(check):
                print(f"  {spelt(line)}")
        notice = field_notice(server) if told else ""
        if notice:
            print(f"note: {printable(notice)}")
        print(f"each difference is {SCOPE}" if told else "this run has compared nothing")
    return 0 if told and all(check.passed for _, check in told) else INCOMPLETE
