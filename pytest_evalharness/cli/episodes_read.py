"""`evalharness episodes show` and `verify`: what a folder of episodes holds, what is missing and why, and whether it is whole."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.files import readable_json
from pytest_evalharness.base.text import printable
from pytest_evalharness.cli import INCOMPLETE
from pytest_evalharness.cli.episodes_progress import episodes, files, size, standing
from pytest_evalharness.errors import ArtifactUnreadable

if TYPE_CHECKING:
    from pytest_evalharness.episodes.artifacts import Outcome
    from pytest_evalharness.episodes.fetching import Report
    from pytest_evalharness.episodes.folder import EpisodeFolder
    from pytest_evalharness.episodes.index import Entry

_TAIL = 5
_MOST_REASONS = 20


def add_to(inner: Any) -> None:
    """Add the subcommands."""
    show = inner.add_parser(
        "show",
        help="what is there, and what is missing and why",
        description="Show a folder of episodes; of one episode also its replay's header, the ends of its logs and its telemetry.",
    )
    show.add_argument("folder", metavar="DIR", help="the folder")
    show.add_argument(
        "episode", metavar="EPISODE", nargs="?", help="an episode's id or folder, or a part of it"
    )
    show.add_argument("--json", action="store_true", help="print JSON")
    show.set_defaults(run=run_show)
    verify = inner.add_parser(
        "verify",
        help="compare sizes and digests with the index",
        description="Compare size and SHA-256 of every file with index.json. Exit 1 if any differs or is not there.",
    )
    verify.add_argument("folder", metavar="DIR", help="the folder")
    verify.set_defaults(run=run_verify)


def run_verify(parsed: argparse.Namespace) -> int:
    """Verify a folder."""
    from pytest_evalharness.episodes.artifacts import State
    from pytest_evalharness.episodes.folder import open_folder, verify
    from pytest_evalharness.episodes.index import counts

    folder = open_folder(parsed.folder)
    faults = list(verify(folder))
    for fault in faults:
        print(f"{printable(fault.path, 300)}: {fault.why}")
    count = counts(list(folder.index.entries.values()))[State.OK]
    print(f"{count - len(faults)} of {count} files are as the index says")
    if faults:
        print("  next:     the command that downloaded them, with --force")
    return INCOMPLETE if faults else 0


def run_show(parsed: argparse.Namespace) -> int:
    """Show a folder, or one episode in it."""
    from pytest_evalharness.episodes.folder import open_folder

    folder = open_folder(parsed.folder)
    if parsed.episode is not None:
        episode = folder.episode(parsed.episode)
        if parsed.json:
            print(readable_json(episode.entry.to_json()), end="")
        else:
            for line in _told(episode):
                print(line)
        return 0
    entries = [one.entry for one in folder.episodes]
    if parsed.json:
        print(readable_json([one.to_json() for one in entries]), end="")
        return 0
    print(f"{printable(parsed.folder)}: {episodes(len(entries))} of {printable(folder.index.server)}")
    for entry in entries:
        print(f"{entry.folder}  {standing(entry)}")
        for line in _reasons(entry):
            print(f"  {line}")
    if folder.index.more:
        print(printable(folder.index.more))
    return 0


def _reasons(entry: Entry) -> Iterator[str]:
    """What is missing and why, the same reason once."""
    from pytest_evalharness.episodes.artifacts import State

    grouped: dict[tuple[State, str], list[str]] = {}
    for path in sorted(entry.files):
        one = entry.files[path]
        if one.state is not State.OK or one.reason:
            grouped.setdefault((one.state, one.reason), []).append(path)
    for (state, reason), paths in list(grouped.items())[:_MOST_REASONS]:
        shown = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")  # noqa: PLR2004
        why = f": {printable(reason, 200)}" if reason else ""
        print_state = state.value.replace("_", " ")
        yield f"{print_state}: {printable(shown, 300)}{why}"


def _told(episode: EpisodeFolder) -> Iterator[str]:
    entry = episode.entry
    yield f"{entry.folder}  {printable(entry.id, 100)}"
    yield f"  {standing(entry)}"
    if entry.error_type:
        yield f"  error: {printable(entry.error_type, 80)}"
    for path in sorted(entry.files):
        yield f"  {_file(entry.files[path])}"
    yield from _replay(episode)
    yield from _logs(episode)
    yield from _telemetry(episode)


def _file(one: Outcome) -> str:
    held = f"{size(one.size)}" if one.size is not None else one.state.value.replace("_", " ")
    why = f"  ({printable(one.reason, 200)})" if one.reason else ""
    return f"{printable(one.path, 120):<34} {held}{why}"


def _replay(episode: EpisodeFolder) -> Iterator[str]:
    try:
        header = episode.replay
    except (ArtifactUnreadable, OSError) as problem:
        yield f"replay: {printable(problem)}"
        return
    if header is None:
        return
    if header.kind == "unknown":
        yield "replay: of a game that is not known here"
        return
    parts = [f"{header.game} {header.version}".strip(), f"format {header.format}"]
    parts += [f"recorded {header.recorded_at}"] if header.recorded_at else []
    parts += [f"{key} {printable(value, 80)}" for key, value in header.told.items()]
    yield f"replay: {', '.join(parts)}"


def _logs(episode: EpisodeFolder) -> Iterator[str]:
    for seat in (None, *episode.seats):
        tail: deque[str] = deque(maxlen=_TAIL)
        count = 0
        for line in episode.log_lines(seat):
            tail.append(line)
            count += 1
        if count:
            yield f"{'game log' if seat is None else f'log of seat {seat}'}: {count} lines, the last:"
            yield from (f"    {printable(line, 200)}" for line in tail)


def _telemetry(episode: EpisodeFolder) -> Iterator[str]:
    for seat in episode.seats:
        try:
            found = episode.telemetry(seat)
        except ArtifactUnreadable as problem:
            yield f"telemetry of seat {seat}: {problem.what}"
            continue
        if found is not None:
            yield (
                f"telemetry of seat {seat}: {found.decisions} decisions, {found.fallbacks} fallbacks"
                + (f", {found.disabled} times out of reach" if found.disabled else "")
            )


def show_report(report: Report, *, as_json: bool) -> None:
    """What a download came to."""
    from pytest_evalharness.episodes.artifacts import State

    if as_json:
        print(readable_json(report.to_json()), end="")
        return
    found = report.counts
    there = sum(
        one.size or 0 for entry in report.entries for one in entry.files.values() if one.state is State.OK
    )
    words = [f"{files(found[State.OK])} ({size(there)})"]
    words += [
        f"{found[state]} {state.value.replace('_', ' ')}"
        for state in State
        if state is not State.OK and found[state]
    ]
    print(f"{printable(report.root)}: {episodes(len(report.entries))}, {', '.join(words)}")
    for entry in report.entries:
        if not entry.settled:
            print(f"{entry.folder}: incomplete ({entry.status})")
            for line in _reasons(entry):
                if not line.startswith(("denied", "not produced", "ok")):
                    print(f"  {line}")
    for line in _left(report):
        print(line)


def _left(report: Report) -> Iterator[str]:
    """What a download was about and did not bring."""
    for name in report.missing:
        yield f"{printable(name, 100)}: the server shows no such episode"
    if report.missing and report.by_uuid:
        yield "  next:     today's service finds an episode by its request: --ereq EREQ, --round ROUND or --policy NAME"
    if report.waiting:
        yield f"not ended yet: {episodes(report.waiting)}"
    if report.exhausted:
        yield f"incomplete after all attempts: {episodes(report.exhausted)}; --force begins anew"
    if report.more:
        yield report.more
