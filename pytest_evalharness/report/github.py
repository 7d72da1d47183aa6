"""What a run tells GitHub Actions: step summary, annotations, outputs. Text from outside stays text. Pure."""

from __future__ import annotations

import os
import shlex
from collections.abc import Container, Iterable, Mapping
from enum import StrEnum

from pytest_evalharness.base.text import markdown, printable, redact
from pytest_evalharness.report.markdown import render
from pytest_evalharness.report.model import NOT_RUN, CaseReport, Report, decisions

SUMMARY_LIMIT = 1024 * 1024
"""Bytes that GitHub takes of one step's summary; one more, and it shows none of it."""
MOST_ANNOTATIONS = 10
"""What GitHub shows of one step, of each level."""
_WIDE = 300
_MOST_LINES = 5
_INTERRUPTED = 2
_BROKEN = frozenset({3, 4, 5})


class Overall(StrEnum):
    """What became of a run's claims, in one word: the worst of its cases. Worst first."""

    INTERRUPTED = "interrupted"
    ERROR = "error"
    UNTRUSTWORTHY = "untrustworthy"
    NOT_RUN = "not_run"
    NOT_MET = "not_met"
    INCONCLUSIVE = "inconclusive"
    MET = "met"


_WORST_FIRST = list(Overall)
_OF_OUTCOME = {
    "failed": Overall.NOT_MET,
    "inconclusive": Overall.INCONCLUSIVE,
    "skipped": Overall.INCONCLUSIVE,
    "disclosed": Overall.MET,
    "not_run": Overall.NOT_RUN,
}
_OF_DECISION = {
    "met": Overall.MET,
    "not_met": Overall.NOT_MET,
    "cannot_tell": Overall.INCONCLUSIVE,
}


def overall(report: Report) -> Overall:
    """The worst of a run's cases.

    It speaks of claims only: a run whose claims were met fails by its exit code if another test did.
    """
    if report.exit_code == _INTERRUPTED:
        return Overall.INTERRUPTED
    if report.exit_code in _BROKEN:
        return Overall.ERROR
    if report.missing or not report.cases:
        return Overall.UNTRUSTWORTHY
    return min((_overall_of(case) for case in report.cases), key=_WORST_FIRST.index)


def _overall_of(case: CaseReport) -> Overall:
    """A case's word. What nobody knows here is not to be trusted."""
    if case.outcome != "passed":
        return _OF_OUTCOME.get(case.outcome, Overall.UNTRUSTWORTHY)
    # A case may pass by a condition of its own; the word is that of the declared claim, as in the report.
    decided = [_OF_DECISION.get(one, Overall.UNTRUSTWORTHY) for one in decisions(case)]
    return min(decided, key=_WORST_FIRST.index, default=Overall.MET)


# ------------------------------------------------------------------ summary


def summary(report: Report, *, room: int, where: str) -> str:
    """The report as Markdown, whole or cut at a line's end; empty if there is no room for anything.

    Args:
        report: the run.
        room: how many bytes of UTF-8 it may take.
        where: the file that has the whole text.
    """
    text = render(report)
    if len(text.encode()) <= room:
        return text
    note = f"\n**Cut: GitHub takes 1 MiB of a step. The rest is in {markdown(where, 1000)}.**\n"
    left = room - len(note.encode())
    kept = []
    for line in text.splitlines(keepends=True):
        left -= len(line.encode())
        if left < 0:
            break
        kept.append(line)
    return "".join(kept) + note if kept else ""


# -------------------------------------------------------------- annotations

_LEVELS = {"inconclusive": "warning", "skipped": "warning"}
_TITLES = {
    "failed": "failed",
    "inconclusive": "cannot tell",
    "skipped": "skipped, so its claim was not judged",
    "error": "error",
    "not_run": "not run",
}


def annotate(
    report: Report, places: Mapping[str, tuple[str, int]], *, leave_out: Container[str] = ()
) -> list[str]:
    """Workflow commands, errors first, at most ten: a line for each case that did not pass; the last counts the rest.

    Args:
        report: the run.
        places: a case's name to its file, as seen from the repository's root, and its line, from 1.
        leave_out: outcomes that somebody else annotates.
    """
    if overall(report) is Overall.NOT_RUN and {case.outcome for case in report.cases} == {"not_run"}:
        return [annotation("error", "not run", f"{NOT_RUN}: {len(report.cases)} cases")]
    found = [
        (
            _LEVELS.get(case.outcome, "error"),
            _TITLES.get(case.outcome, "untrustworthy"),
            _told(case),
            case.nodeid,
        )
        for case in report.cases
        if case.outcome not in {"passed", "disclosed"} and case.outcome not in leave_out
    ]
    told = {nodeid for _, _, _, nodeid in found}
    found += [
        ("error", "never reported", f"collected, and never reported\n{printable(nodeid, _WIDE)}", nodeid)
        for nodeid in report.missing
        if nodeid not in told  # of a case whose worker died xdist tells that
    ]
    if report.still_running:
        found.append(("warning", "still running", _lines(report.still_running) + _GOES_ON, ""))
    found.sort(key=lambda entry: entry[0] != "error")
    rest = len(found) - MOST_ANNOTATIONS
    if rest > 0:
        level, title, text, nodeid = found[MOST_ANNOTATIONS - 1]
        found[MOST_ANNOTATIONS - 1] = level, title, f"{text}\nand {rest} more: see the step summary", nodeid
    return [
        annotation(level, title, text, places.get(nodeid))
        for level, title, text, nodeid in found[:MOST_ANNOTATIONS]
    ]


_GOES_ON = "\nnothing is posted twice: the same command goes on with what runs at the server"


def _told(case: CaseReport) -> str:
    return f"{_lines(case.headlines)}\n{printable(case.nodeid, _WIDE)}"


def _lines(texts: Iterable[str]) -> str:
    """The first few, each made harmless, a line each."""
    shown = [printable(text, _WIDE) for text in texts]
    rest = len(shown) - _MOST_LINES
    return "\n".join([*shown[:_MOST_LINES], *([f"and {rest} more"] if rest > 0 else [])])


def annotation(level: str, title: str, message: str, place: tuple[str, int] | None = None) -> str:
    """One workflow command. It must stand at the start of its line, without colour.

    Args:
        level: `error`, `warning` or `notice`.
        title: what is shown in bold, after the plugin's name.
        message: may have several lines.
        place: a file, as seen from the repository's root, and a line, from 1.
    """
    properties = {"title": f"evalharness: {title}"}
    if place is not None:
        properties = {"file": place[0], "line": str(place[1]), **properties}
    words = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {words}::{_data(message)}"


def _data(text: str) -> str:
    """Text as a command's message. The percent sign goes first, or it would escape the escapes."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Text as a command's property: a colon would end the properties, a comma begin the next one."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# ------------------------------------------------------------------ outputs


def outputs(values: Mapping[str, str], *, delimiter: str) -> str:
    """Lines for the file that holds a step's outputs.

    Args:
        values: an output's name to its value. Names are ours; a value may hold anything.
        delimiter: what ends a value of several lines. It must be random: whoever can guess it writes outputs.

    Raises:
        ValueError: a value holds the delimiter.
    """
    return "".join(_output(name, value, delimiter) for name, value in values.items())


def _output(name: str, value: str, delimiter: str) -> str:
    value = value.replace("\r\n", "\n").replace("\r", "\n")  # a lone one would run into the line's own end
    if "\n" not in value:
        return f"{name}={value}\n"
    if delimiter in value:
        raise ValueError(f"the value of {name} holds the delimiter that is to end it")
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


def command_line(words: Iterable[str]) -> str:
    """Words as one line that bash reads back as exactly these words. Secrets are taken out, and only they."""
    return redact(" ".join(_quoted(redact(word)) for word in words))


def _quoted(word: str) -> str:
    """A word quoted; characters that steer a terminal or end a line are written as bytes."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))
