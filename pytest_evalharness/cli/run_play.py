"""`evalharness runs resume | cancel`: an unfinished run brought to its end, one way or the other."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.cli import INCOMPLETE, INTERRUPTED, whole
from pytest_evalharness.cli.home import add_home, connected, found, home_of
from pytest_evalharness.errors import EvalHarnessError, UsageError

if TYPE_CHECKING:
    from pytest_evalharness.league.kept import Kept
    from pytest_evalharness.league.run import LeagueRun
    from pytest_evalharness.ledger.journal import Ledger
    from pytest_evalharness.ledger.runs import RunRecord
    from pytest_evalharness.observatory.client import Observatory
    from pytest_evalharness.report.model import CaseReport

_MET, _NOT_MET, _CANNOT_TELL, _UNTRUSTWORTHY = 0, 1, 10, 11
_WORST_FIRST = (_NOT_MET, _UNTRUSTWORTHY, _CANNOT_TELL, _MET)


def add_to(inner: Any) -> None:
    """Add these subcommands to `runs`."""
    resume = inner.add_parser(
        "resume",
        help="play an unfinished run to its end and judge it",
        description="Go on with a run that was interrupted: wait for what was posted, post what was not, judge every comparison. Nothing "
        "is posted twice. The same pytest command does the same. Exit codes: 0 every claim is met, 1, 10, 11 as pytest's.",
    )
    resume.add_argument("run_id", metavar="RUN", help="the run's id (evalharness runs ls)")
    add_home(resume)
    resume.set_defaults(run=run_resume)
    extend = inner.add_parser(
        "extend",
        help="add games to comparisons that could not tell",
        description="Post more games of a run's inconclusive comparisons on the identical set-up, and judge all of them together. Whoever "
        "extends has seen the results: under a rule for one look (score, newcombe, exact, group_sequential) the overlap rule decides for "
        "good from then on. Planned looks that are left are played first, under the declared rule. Nothing is posted if the game, its "
        "scores or who sat in it changed. Exit codes as of resume.",
    )
    extend.add_argument("run_id", metavar="RUN", help="the run's id")
    add_home(extend)
    extend.add_argument(
        "--num", type=whole(1), default=30, metavar="N", help="games an arm, or pairs, to add (%(default)s)"
    )
    extend.add_argument("--case", metavar="NODEID", help="only this case's comparison")
    extend.add_argument(
        "--new-stratum",
        action="store_true",
        help="where somebody of the frozen field is gone: play both arms against the field as it is now, and judge both fields as two "
        "strata by the Cochran-Mantel-Haenszel test",
    )
    extend.set_defaults(run=run_extend)
    cancel = inner.add_parser(
        "cancel",
        help="end what a run has not finished",
        description="Withdraw what was not posted, ask the server to cancel what was, and say what goes on. Exit code 0 if nothing goes "
        "on, 1 if something does.",
    )
    cancel.add_argument("run_id", metavar="RUN", help="the run's id")
    add_home(cancel)
    cancel.set_defaults(run=run_cancel)


@contextmanager
def _found(parsed: argparse.Namespace) -> Iterator[tuple[Ledger, RunRecord, list[Kept], Path]]:
    """The ledger, the run that was named, and its comparisons.

    Raises:
        UsageError: there is no such run.
    """
    from pytest_evalharness.league.kept import Kept

    with found(parsed) as (ledger, run):
        yield ledger, run, [Kept.read(ledger, one) for one in run.comparisons], home_of(parsed)


def _new_session() -> str:
    from pytest_evalharness.ledger.keys import new_run_id

    return new_run_id()


# ------------------------------------------------------------------- cancel


def run_cancel(parsed: argparse.Namespace) -> int:
    """Cancel a run.

    Raises:
        EvalHarnessError: there is no such run, or the server cannot be reached.
    """
    from pytest_evalharness.league.cancelling import GOES_ON, Fate, cancel
    from pytest_evalharness.league.kept import Kept
    from pytest_evalharness.league.kept_arm import KeptArm

    with _found(parsed) as (ledger, run, kept, home):
        for one in kept:
            if ledger.extensions.take_back(one.comparison.id):
                print(
                    f"{one.name}: its extension was not posted and is withdrawn; its earlier verdict stands"
                )
        left = [Kept.read(ledger, one.comparison.id) for one in kept]
        arms = [KeptArm.read(ledger, one) for one in run.arms]
        open_ones: list[Kept | KeptArm] = [
            *(one for one in left if not _over(one)),
            *(one for one in arms if not one.over),
        ]
        if not open_ones:
            print("every request of this run has ended; there is nothing to cancel")
            return 0
        fates = set()
        with connected(run, home) as observatory:
            for open_one in open_ones:
                for ended in cancel(ledger, observatory, open_one, session=_new_session()):
                    fates.add(ended.fate)
                    side = "single arm" if isinstance(open_one, KeptArm) else ended.side
                    request = f" {printable(ended.request_id)}" if ended.request_id else ""
                    why = f": {printable(ended.why, 300)}" if ended.why else ""
                    print(f"{open_one.name}: {side}{request} {ended.fate}{why}")
    if fates & {Fate.CANCELLED, Fate.RUNS_OUT}:
        print(
            "of what is cancelled, episodes that run already are played to their end; no further one is started"
        )
    if fates & {Fate.GOES_ON, Fate.NOT_OURS}:
        print("what goes on is played to its end, every episode of it")
    return INCOMPLETE if fates & GOES_ON else 0


def _over(kept: Kept) -> bool:
    return all(block.settled and block.state.value != "abandoned" for block in kept.blocks)


# ------------------------------------------------------------------- extend


def run_extend(parsed: argparse.Namespace) -> int:
    """Extend a run's inconclusive comparisons, and judge them again. Either all that were chosen are extended, or none.

    Raises:
        EvalHarnessError: there is no such run or case, something cannot be extended, or the server cannot be reached.
    """
    from pytest_evalharness.league.extending import looks_left
    from pytest_evalharness.league.kept import Kept

    with _found(parsed) as (ledger, run, kept, home):
        planned = [one for one in kept if looks_left(ledger, one)]
        chosen = _to_extend(run, kept, planned, parsed.case)
        with connected(run, home) as observatory:
            _lay_down(ledger, observatory, run, [one for one in chosen if one not in planned], parsed)
            for one in chosen:
                if one in planned:
                    rule = one.declaration.rule
                    told = f"planned looks are left and played first, the declared {rule} rule stays; nothing is added"
                    print(f"{one.name}: {told}", file=sys.stderr)
            again = [Kept.read(ledger, one.comparison.id) for one in chosen]
            return _play(ledger, observatory, run, again, home)


def _lay_down(
    ledger: Ledger,
    observatory: Observatory,
    run: RunRecord,
    chosen: Sequence[Kept],
    parsed: argparse.Namespace,
) -> None:
    """Check every extension, then write all of them down."""
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.league.extending import lay_down, prepare

    prepared = [
        prepare(
            observatory,
            one,
            parsed.num,
            new_stratum=parsed.new_stratum,
            run_id=run.id,
            clock=SystemClock(),
        )
        for one in chosen
    ]
    for extension in prepared:
        lay_down(ledger, extension, run_id=run.id)
        print(
            f"{extension.kept.name}: {extension.words}; this is a look, and it is counted",
            file=sys.stderr,
        )


def _to_extend(run: RunRecord, kept: Sequence[Kept], planned: Sequence[Kept], case: str | None) -> list[Kept]:
    """What is to be extended: the named case's comparison, or all that could not tell or have planned looks left."""
    if case is not None:
        chosen = [one for one in kept if one.comparison.case_name == case]
        what = f"run {printable(run.id)} has no case {printable(case)}"
    else:
        chosen = [
            one
            for one in kept
            if one in planned or (one.judgement is not None and one.judgement["verdict"] == "inconclusive")
        ]
        what = f"run {printable(run.id)} has no inconclusive comparison"
    if not chosen:
        raise UsageError(
            what, not_done="nothing was submitted", next_step=f"evalharness runs show {printable(run.id)}"
        )
    return chosen


# ------------------------------------------------------------------- resume


def run_resume(parsed: argparse.Namespace) -> int:
    """Play a run to its end.

    Raises:
        EvalHarnessError: there is no such run, or the server cannot be reached.
    """
    with _found(parsed) as (ledger, run, kept, home):
        if not kept:
            print(
                "this run has asked for no comparison; there is nothing to go on with"
                if not run.arms
                else "this run has single arms only, which nothing judges: the pytest command that began them goes on with them"
            )
            return 0
        with connected(run, home) as observatory:
            return _play(ledger, observatory, run, kept, home)


def _play(ledger: Ledger, observatory: Observatory, run: RunRecord, kept: Sequence[Kept], home: Path) -> int:
    from pytest_evalharness.report.model import field_notice

    going = _going_on(ledger, observatory, run, home)
    concluded: list[tuple[CaseReport, int]] = []
    try:
        for one in kept:
            # The very comparison: a later attempt at the same question is another one. What was never posted is resolved
            # as the case would resolve it, on the field as it is now.
            known = None if one.never_posted else one.comparison
            going.league.add(one.comparison.case_name, one.plan, known)
        for one in kept:
            concluded.append(_conclude(going, one))  # noqa: PERF401 - what was concluded before an interruption stays
        code = next(code for code in _WORST_FIRST if code in {ended for _, ended in concluded})
    except KeyboardInterrupt:
        print(
            f"interrupted; what was posted goes on at the server, and evalharness runs resume {printable(run.id)} goes on with it",
            file=sys.stderr,
        )
        code = INTERRUPTED
    finally:
        going.league.close()
    field = field_notice(run.server)
    if field:
        print(f"\nnote: {printable(field)}")
    print(f"\n{going.written([case for case, _ in concluded], code)}")
    return code


def _conclude(going: _GoingOn, kept: Kept) -> tuple[CaseReport, int]:
    """Wait for one comparison and print what came of it."""
    from pytest_evalharness.league.pool_plan import PoolPlan
    from pytest_evalharness.report.model import CaseReport
    from pytest_evalharness.verdict.words import Decision

    case, league = kept.comparison.case_name, going.league
    try:
        result: Any = league.pool_result(case) if isinstance(kept.plan, PoolPlan) else league.result(case)
        told = [result.headline, *result.lines()]
        decision = result.judgement.decision
    except EvalHarnessError as error:
        going.show()
        print(f"\n{kept.name}\n{error}")
        return CaseReport(case, "untrustworthy", str(error), ()), _UNTRUSTWORTHY
    going.show()
    print(f"\n{kept.name}")
    for line in told:
        print(printable(line, 1000))
    outcome, code = {
        Decision.MET: ("passed", _MET),
        Decision.NOT_MET: ("failed", _NOT_MET),
        Decision.CANNOT_TELL: ("inconclusive", _CANNOT_TELL),
        Decision.UNTRUSTWORTHY: ("untrustworthy", _UNTRUSTWORTHY),
    }[decision]
    return CaseReport(case, outcome, "" if code == _MET else "\n".join(told), (result.to_json(),)), code


@dataclass
class _GoingOn:
    """The runner of a session that goes on with a run, what shows how far it has come, and its report.

    Attributes:
        run_id: the session's own id.
        run: the run that it goes on with.
        league: the runner.
        folder: the session's folder.
        show: prints what is new.
        notices: what every reader of its report must know.
        service: what was chosen for the server.
    """

    run_id: str
    run: RunRecord
    league: LeagueRun
    folder: Path
    show: Callable[[], None]
    notices: list[str]
    service: dict[str, Any]

    def written(self, cases: Sequence[CaseReport], code: int) -> str:
        """Write the session's report; what the exit code says, where the report is, and what of it is missing."""
        from pytest_evalharness.base.clock import SystemClock, iso
        from pytest_evalharness.report import folder
        from pytest_evalharness.report.model import Report, field_notice

        report = Report(
            run_id=self.run_id,
            server=self.run.server,
            finished_at=iso(SystemClock().now()),
            exit_code=code,
            cases=tuple(cases),
            missing=(),
            notices=(
                f"goes on with run {self.run.id}",
                *self.notices,
                *filter(None, [field_notice(self.run.server)]),
            ),
            settings=self.run.info.get("settings", {}),
            service=self.service,
        )
        try:
            missing = folder.write(self.folder, report)
        except OSError as problem:
            missing = f"they could not be written: {problem.strerror or problem}"
        where = f"files: {printable(str(self.folder), 1000)}" + (f" ({missing})" if missing else "")
        return f"exit {code}: {report.exit_words}\n{where}"


def _going_on(ledger: Ledger, observatory: Observatory, run: RunRecord, home: Path) -> _GoingOn:
    """A session with the settings of the run that it goes on with."""
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.base.events import EventLog, EventReader
    from pytest_evalharness.league.local_builds import BuildSources
    from pytest_evalharness.league.run import LeagueRun, RunOptions
    from pytest_evalharness.league.service import note_service
    from pytest_evalharness.ledger.services import KEY as SERVICE
    from pytest_evalharness.report import progress

    session = _new_session()
    folder = home / "runs" / session
    folder.mkdir(parents=True, exist_ok=True)
    events = EventLog(folder / "events.jsonl")
    reader = EventReader(events.path)

    def show() -> None:
        for event in reader.new():
            if progress.is_change(event):
                print(f"evalharness: {progress.line(event)}", file=sys.stderr)

    asked = run.info.get("settings", {})
    began = {key: value for key, value in run.info.items() if key != SERVICE}
    ledger.start_run(session, {**began, "resumes": run.id})

    notices: list[str] = []

    def notice(text: str) -> None:
        notices.append(text)
        print(f"note: {printable(text, 1000)}", file=sys.stderr)

    for text in note_service(ledger, session, run.server, observatory.dialect):
        notice(text)
    options = RunOptions(
        run_id=session,
        notes=str(asked.get("notes") or ""),
        fresh=False,
        queue_budget=float(asked.get("queue_budget") or 7200.0),
        stall_grace=asked.get("stall_grace"),
        total_budget=asked.get("total_budget"),
        queue_exceeded=asked.get("queue_exceeded"),
        budget=asked.get("budget"),
        builds=BuildSources.of(asked.get, folder=Path.cwd(), home=home),
    )
    league = LeagueRun(
        ledger=ledger,
        connect=lambda: observatory,
        clock=SystemClock(),
        events=events,
        options=options,
        stop=threading.Event(),
        on_wait=show,
        on_notice=notice,
    )
    return _GoingOn(session, run, league, folder, show, notices, observatory.dialect.to_json())
