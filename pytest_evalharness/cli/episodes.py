"""`evalharness episodes`: everything that episodes left, in one folder each."""

from __future__ import annotations

import argparse
import shlex
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.cli import INCOMPLETE, INTERRUPTED, episodes_read, whole
from pytest_evalharness.errors import UsageError

if TYPE_CHECKING:
    from pytest_evalharness.episodes.discovery import Selection
    from pytest_evalharness.episodes.download import Wanted
    from pytest_evalharness.episodes.fetching import Report, Watch

HOSTED = "https://softmax.com/api"
"""The root of the hosted league's API."""
_NUM = 10
_INTERVAL = 15.0
_ATTEMPTS = 3
_MODES = ("policy", "xreq", "ereq", "round", "division", "pool", "episode")
_KINDS = {"xreq": "xreq", "ereq": "ereq", "round": "round", "div": "division", "pool": "pool"}
"""The mode that takes ids which begin with a word and an underscore."""
_MIB = 1024 * 1024
_NOTHING = "nothing was downloaded"


def add_to(commands: Any) -> None:
    """Add the subcommand."""
    episodes = commands.add_parser(
        "episodes",
        help="download what episodes left: replays, results, logs, telemetry",
        description="Find episodes and download everything they left into one folder each, with an index.json on top. Exactly one of "
        "--policy, --xreq, --ereq, --round, --division, --pool and --episode says which. What is there already is kept: the same "
        "command goes on where it stopped.",
        epilog="Exit codes: 0 every artifact is there, was never produced, or is for others only; 1 any failed or is still pending; "
        "2 interrupted; 4 usage.",
    )
    inner = episodes.add_subparsers(dest="episodes_command", metavar="[show|verify]")
    episodes_read.add_to(inner)
    _add_modes(episodes)
    _add_choices(episodes)
    _add_limits(episodes)
    episodes.set_defaults(run=run)


def _add_modes(parser: argparse.ArgumentParser) -> None:
    which = parser.add_argument_group("which episodes")
    which.add_argument(
        "--policy", metavar="NAME", help="a policy's most recent episodes, across all its versions"
    )
    which.add_argument("--version", type=whole(1), metavar="N", help="with --policy, only this version")
    which.add_argument("--xreq", metavar="ID", help="the episodes of an experience request")
    which.add_argument("--ereq", action="append", metavar="ID", help="an episode of a request; repeatable")
    which.add_argument("--round", metavar="ID", help="the episodes of a round")
    which.add_argument(
        "--division", metavar="ID", help="the episodes of a division's rounds, the newest first"
    )
    which.add_argument("--pool", metavar="ID", help="the episodes of a pool (servers of mid 2026)")
    which.add_argument(
        "--episode", action="append", metavar="UUID", help="a recorded league episode; repeatable"
    )
    which.add_argument(
        "-n",
        "--num",
        type=whole(1),
        metavar="N",
        help=f"so many at most ({_NUM}; no bound with --watch; --ereq and --episode have none)",
    )
    which.add_argument("--failed-only", action="store_true", help="only those that failed")
    which.add_argument(
        "--watch", action="store_true", help="with --xreq: fetch each episode as it ends, until none is left"
    )
    which.add_argument(
        "--interval",
        type=float,
        default=_INTERVAL,
        metavar="S",
        help="with --watch: seconds between looks (15)",
    )
    which.add_argument(
        "--max-attempts",
        type=whole(1),
        default=_ATTEMPTS,
        metavar="N",
        help="with --watch: tries of an episode that stays incomplete, those of earlier watches included (3)",
    )


def _add_choices(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("what is downloaded, and where to")
    what.add_argument("--out", metavar="DIR", help="the folder (required)")
    for word, shown in (
        ("replay", "replays"),
        ("results", "results.json"),
        ("logs", "the logs of games and players"),
        ("artifacts", "the archives that players uploaded"),
    ):
        what.add_argument(f"--no-{word}", action="store_true", help=f"leave out {shown}")
    what.add_argument("--force", action="store_true", help="download again what is there")
    what.add_argument(
        "--seed-names",
        action="store_true",
        help="call replays replay.json (unpacked) and replay.json.z (as served), not replay.bin and replay.raw",
    )
    what.add_argument("--json", action="store_true", help="print the outcome as JSON")
    what.add_argument(
        "--server",
        metavar="URL",
        help=f"the root of the league's API, or embedded (EVALHARNESS_SERVER, ini evalharness_server, or {HOSTED})",
    )
    what.add_argument("--home", metavar="DIR", help="with --server embedded: where the embedded league lives")


def _add_limits(parser: argparse.ArgumentParser) -> None:
    how = parser.add_argument_group("limits")
    how.add_argument("--concurrency", type=whole(1), default=8, metavar="N", help="episodes at once (8)")
    how.add_argument(
        "--max-artifact-mib",
        type=whole(1),
        default=1024,
        metavar="N",
        help="the largest artifact, as served (1024)",
    )
    how.add_argument(
        "--max-unpacked-mib",
        type=whole(1),
        default=1024,
        metavar="N",
        help="the largest replay, unpacked (1024)",
    )
    how.add_argument(
        "--late",
        type=float,
        default=30.0,
        metavar="S",
        help="seconds that artifacts of ended episodes may still be published (30)",
    )


def run(parsed: argparse.Namespace) -> int:
    """Download."""
    import signal

    selection, watch = _selection(parsed)
    if not parsed.out:
        raise UsageError(
            "no folder was named", not_done=_NOTHING, next_step="the same command with --out DIR"
        )
    from pytest_evalharness.cli.episodes_progress import Progress

    progress, stop = Progress(sys.stderr, quiet=parsed.json), threading.Event()
    # Whoever stops a job gives it a moment: what has come is written down in it.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        report = _fetch(parsed, selection, watch, progress, stop)
    except KeyboardInterrupt:
        progress.end()
        again = shlex.join(["evalharness", *sys.argv[1:]]) if len(sys.argv) > 1 else "the same command"
        print(f"interrupted; what has come is kept\n  next:     {again}", file=sys.stderr)
        return INTERRUPTED
    except OSError as problem:
        progress.end()
        why = problem.strerror or str(problem)
        raise UsageError(
            f"{printable(parsed.out)} cannot be written to: {printable(why)}",
            not_done="what has come is kept, the rest was not downloaded",
            next_step="make room or name another folder with --out, then the same command again",
        ) from None
    finally:
        progress.end()
        signal.signal(signal.SIGTERM, before)
    episodes_read.show_report(report, as_json=parsed.json)
    return 0 if report.complete else INCOMPLETE


def _fetch(
    parsed: argparse.Namespace,
    selection: Selection,
    watch: Watch | None,
    progress: Any,
    stop: threading.Event,
) -> Report:
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.cli.home import connected_to, resolved
    from pytest_evalharness.episodes.fetching import fetch
    from pytest_evalharness.settings import EMBEDDED

    settings, home = resolved({"server": _server(parsed), "home": parsed.home}.get, {"server": HOSTED})
    server = settings["server"]
    if server == EMBEDDED:
        server = f"{EMBEDDED}:{settings['arena_seed']}"
    asked = {key: settings[key] for key in ("arena_pace", "arena_dialect")}
    try:
        with connected_to(
            server,
            home,
            asked,
            stop=stop,
            on_remark=progress.remark,
            on_patience=progress.remark,
            not_done=_NOTHING,
        ) as observatory:
            return fetch(
                observatory,
                selection,
                Path(parsed.out),
                _wanted(parsed),
                server=server,
                clock=SystemClock(),
                stop=stop,
                watching=progress,
                watched=watch,
                on_wait=lambda: progress.remark(
                    f"another download into {printable(parsed.out)} is waited for"
                ),
            )
    except KeyboardInterrupt:
        stop.set()
        raise


def _server(parsed: argparse.Namespace) -> Any:
    from pytest_evalharness.settings import BY_KEY

    if parsed.server is None:
        return None
    try:
        return BY_KEY["server"].parse(parsed.server)
    except ValueError as problem:
        raise UsageError(f"--server: {problem}", not_done=_NOTHING, next_step=f"--server {HOSTED}") from None


def _selection(parsed: argparse.Namespace) -> tuple[Selection, Watch | None]:
    """What the command line selects.

    Raises:
        UsageError: it selects nothing, or two things at once.
    """
    from pytest_evalharness.episodes.discovery import Mode, Selection
    from pytest_evalharness.episodes.fetching import Watch

    given = [mode for mode in _MODES if getattr(parsed, mode)]
    if len(given) != 1:
        said = (
            "no episodes were selected"
            if not given
            else f"{' and '.join(f'--{mode}' for mode in given)} exclude each other"
        )
        raise UsageError(
            said,
            not_done=_NOTHING,
            next_step=f"exactly one of {', '.join(f'--{mode}' for mode in _MODES)}",
        )
    (mode,) = given
    for flag, needed in (("watch", "xreq"), ("version", "policy")):
        if getattr(parsed, flag) and mode != needed:
            raise UsageError(
                f"--{flag} goes with --{needed} only, not with --{mode}",
                not_done=_NOTHING,
                next_step="leave it out",
            )
    if not 0 < parsed.interval < float("inf") or not 0 <= parsed.late < float("inf"):
        raise UsageError(
            "--interval and --late take seconds", not_done=_NOTHING, next_step="--interval 15 --late 30"
        )
    names = getattr(parsed, mode)
    _require_kind(mode, names if isinstance(names, list) else [names])
    chosen = Mode(mode)
    most = parsed.num if parsed.num is not None else None if parsed.watch else _NUM
    selection = Selection(
        chosen,
        tuple(names) if isinstance(names, list) else (names,),
        version=parsed.version,
        most=None if chosen.by_name else most,
        failed_only=parsed.failed_only,
    )
    return selection, Watch(parsed.interval, parsed.max_attempts) if parsed.watch else None


def _require_kind(mode: str, names: Sequence[str]) -> None:
    """Refuse an id that says itself that it is another kind of thing.

    Raises:
        UsageError: one does.
    """
    if mode == "policy":  # players name those as they like
        return
    for name in names:
        kind, underscore, _ = name.partition("_")
        meant = _KINDS.get(kind, mode) if underscore else mode
        if meant != mode and (mode, meant) != ("episode", "ereq"):
            raise UsageError(
                f"{printable(name)} is no id that --{mode} takes",
                not_done=_NOTHING,
                next_step=f"--{meant} {shlex.quote(printable(name))}",
            )


def _wanted(parsed: argparse.Namespace) -> Wanted:
    from pytest_evalharness.episodes.artifacts import Category
    from pytest_evalharness.episodes.download import Wanted
    from pytest_evalharness.episodes.layout import ReplayNames
    from pytest_evalharness.episodes.limits import DownloadLimits

    left_out: set[Category] = set()
    for word, categories in (
        ("replay", {Category.REPLAY}),
        ("results", {Category.RESULTS}),
        ("logs", {Category.GAME_LOG, Category.PLAYER_LOG}),
        ("artifacts", {Category.PLAYER_ARTIFACT}),
    ):
        if getattr(parsed, f"no_{word}"):
            left_out |= categories
    return Wanted(
        categories=tuple(one for one in Category if one not in left_out),
        force=parsed.force,
        replay=ReplayNames(seed_names=parsed.seed_names),
        limits=DownloadLimits(
            artifact_bytes=parsed.max_artifact_mib * _MIB,
            unpacked_bytes=parsed.max_unpacked_mib * _MIB,
            late_seconds=parsed.late,
            concurrency=parsed.concurrency,
        ),
    )
