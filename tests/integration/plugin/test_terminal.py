"""What a terminal shows: whole lines, one updated line that leaves nothing behind, and no colour where none is wanted."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pyte
import pytest

UPDATED = re.compile(r"evalharness: candidate keeper:v2 \d+ of 30, base(?:line keeper:v1 \d+ of 30|.*…)")
UNTOLD = {"NO_COLOR", "PY_COLORS", "COLUMNS", "CI"}
ROWS = 300  # nothing scrolls away
_HUNG = 300
"""Seconds after which nobody is waited for any more."""


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, command, folder, *, width=80, **environment):
        self.screen = pyte.Screen(width, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self._master, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, width, 0, 0))
        known = {key: value for key, value in os.environ.items() if key not in UNTOLD}
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**known, "TERM": "xterm-256color", **environment},
            stdin=child,
            stdout=child,
            stderr=child,
        )
        os.close(child)
        self.raw = b""
        self.updated = []

    def read(self, until=None):
        """Watch it until it ends, or until the updated line shows something; returns its exit code."""
        end = time.monotonic() + _HUNG
        while time.monotonic() < end:
            if not select.select([self._master], [], [], 1.0)[0]:
                continue
            try:
                data = os.read(self._master, 65536)
            except OSError:  # nobody has the terminal open any more
                data = b""
            if not data:
                os.close(self._master)
                return self.process.wait(_HUNG)
            self.raw += data
            self._stream.feed(data)
            self.updated += [line for line in self.lines if UPDATED.search(line)]
            if until is not None and until(self):
                return None
        raise AssertionError(self.lines)

    @property
    def lines(self):
        return [line.rstrip() for line in self.screen.display if line.strip()]

    def written(self, word):
        """The lines as they were written, without colours, from the one that holds a word on."""
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.raw.decode())
        lines = [line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").splitlines()]
        return lines[next(at for at, line in enumerate(lines) if word in line) :]

    def colour_of(self, word):
        """The colour in which a line that begins with a word is shown."""
        row = next(i for i, line in enumerate(self.screen.display) if line.startswith(word))
        return self.screen.buffer[row][0].fg


@pytest.fixture
def on_a_terminal(project):
    """Starts runs on terminals, whose games wait for `project.league.heal()`: so a count is there for as long as it takes."""
    started = []

    def start(*more, width=80, environment=(), **words):
        command = [sys.executable, "-m", "pytest", *project.command(*more, **words)]
        started.append(Terminal(command, project.pytester.path, width=width, **dict(environment)))
        return started[-1]

    project.league.fault("closed-queue")
    yield start
    for terminal in started:
        terminal.process.kill()
        terminal.process.wait()


def words_of(lines):
    return " ".join(" ".join(lines).split())


def none_has_ended(terminal):
    return any("0 of 30 episodes have ended" in line for line in terminal.lines)


def test_a_serial_run_on_a_terminal(project, on_a_terminal):
    terminal = on_a_terminal()
    assert terminal.read(until=lambda seen: any(map(UPDATED.fullmatch, seen.updated))) is None
    project.league.heal()
    assert terminal.read() == 0, terminal.lines
    assert not any(UPDATED.search(line) for line in terminal.lines)
    told = [line for line in terminal.lines if line.startswith("evalharness: ")]
    assert [re.sub(r" (candidate|baseline) keeper:v\d: ", " ", line) for line in told] == [
        *["evalharness: posted as"] * 2,
        *["evalharness: all episodes have ended"] * 2,
    ]  # whole lines for what changed, none for a count
    section = terminal.lines[next(i for i, line in enumerate(terminal.lines) if " evalharness: " in line) :]
    verdict = next(i for i, line in enumerate(section) if line.startswith("PASSED"))
    assert words_of(section[verdict : verdict + 2]).endswith("seats verified")
    assert section[verdict + 1].startswith(" " * 14)
    assert not any("success check" in line for line in section)
    assert terminal.colour_of("PASSED") == "green"
    assert terminal.colour_of("exit 0") == "green"
    assert terminal.colour_of("files: ") == "default"
    assert 70 < max(map(len, terminal.written(" evalharness: "))) <= 80, (
        "the terminal cuts what is longer at its edge"
    )


@pytest.mark.slow
@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"NO_COLOR": "1"}], ids=["dumb", "no colour"])
def test_a_terminal_without_colour(project, on_a_terminal, environment):
    terminal = on_a_terminal(width=60, environment=environment)
    dumb = environment.get("TERM") == "dumb"
    assert terminal.read(until=none_has_ended if dumb else lambda seen: seen.updated) is None
    project.league.heal()
    assert terminal.read() == 0, terminal.lines
    assert b"\x1b" not in terminal.raw
    assert bool(terminal.updated) is not dumb
    if dumb:  # whoever cannot go back gets lines
        ours = terminal.raw.rpartition(b"collected 1 item")[2]
        assert b"\r" not in ours.replace(b"\r\n", b"\n")
        assert none_has_ended(terminal)
    assert not any(UPDATED.search(line) for line in terminal.lines)
    assert 50 < max(map(len, terminal.written(" evalharness: "))) <= 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "lines"), [(["-n", "2"], True), (["-q"], False), (["-s"], True)], ids=["n2", "q", "s"]
)
def test_nothing_is_updated_where_others_write_or_less_is_wanted(project, on_a_terminal, more, lines):
    terminal = on_a_terminal(*more)
    assert terminal.read(until=lambda seen: words_of(seen.lines).count("posted as") == 2) is None
    project.league.heal()
    assert terminal.read() == 0, terminal.lines
    assert terminal.updated == []
    assert any("of 30 episodes have ended" in line for line in terminal.lines) is lines


@pytest.mark.slow
def test_an_interrupt_leaves_no_half_line(project, on_a_terminal):
    terminal = on_a_terminal()
    assert terminal.read(until=lambda seen: seen.updated) is None
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.read() == 2
    assert not any(UPDATED.search(line) for line in terminal.lines)
    assert words_of(terminal.lines).count("still running on the server: ") == 2


def test_a_pipe_gets_whole_lines_without_colour(project):
    result = project.judge_here("-q", candidate="keeper:v3")
    lines = result.outlines
    assert not [line for line in lines if "\x1b" in line or "\r" in line]
    verdict = next(line for line in lines if line.startswith("FAILED        "))
    assert len(verdict) > 80
    assert verdict.endswith("seats verified")
    quiet = project.judge_here("-qq", candidate="keeper:v3").outlines
    section = quiet[next(i for i, line in enumerate(quiet) if " evalharness: " in line) + 1 :]
    assert section[:2] == [verdict, next(line for line in quiet if line.startswith("exit 1: "))]
    assert not [line for line in quiet if line.startswith(("evalharness:", "note:", "files:", "server API"))]
