"""Progress beside pytest's own words: nothing of it is lost to an interrupt, and no line of it is torn."""

import sys
import threading
from types import SimpleNamespace

import pytest

from pytest_evalharness.base.events import EventLog
from pytest_evalharness.plugin.progress import Progress


class Reporter:
    """As much of pytest's terminal reporter as lines need."""

    isatty = False
    _tw = SimpleNamespace(width_of_current_line=0)

    def __init__(self):
        self.lines = []

    def ensure_newline(self):
        pass

    def write_line(self, line):
        self.lines.append(line)

    def flush(self):
        pass


@pytest.fixture
def reporter():
    return Reporter()


@pytest.fixture
def progress(tmp_path, reporter):
    plugins = SimpleNamespace(get_plugin={"terminalreporter": reporter}.get)
    config = SimpleNamespace(
        pluginmanager=plugins,
        option=SimpleNamespace(verbose=0),
        get_terminal_writer=lambda: SimpleNamespace(fullwidth=80),
    )
    run = SimpleNamespace(events=EventLog(tmp_path / "events.jsonl"), notices=[])
    return Progress(config, run, live=False)


def test_what_runs_on_is_told_though_an_interrupt_came_before_it_was_shown(progress, monkeypatch):
    progress.run.events.append(
        "arm", what="posted", side="candidate", label="bot:v2", key="a", request="xreq_1"
    )

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(progress._narrator, "lines", interrupted)
    with pytest.raises(KeyboardInterrupt):
        progress.show()
    assert progress.still_running() == ("candidate bot:v2 xreq_1",)


def test_a_line_that_an_interrupt_came_right_after_is_taken_away(progress, monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sys.stdout, "flush", interrupted)
        with pytest.raises(KeyboardInterrupt):
            progress._draw("half of it")
    progress.clear()
    assert capsys.readouterr().out == "\rhalf of it\r" + " " * len("half of it") + "\r"


def test_no_line_comes_between_the_letters_of_a_report(progress, reporter):
    letters = progress.pytest_runtest_logreport()
    next(letters)
    following = threading.Thread(target=progress._print, args=(["posted"],))
    following.start()
    following.join(0.2)
    assert reporter.lines == []
    with pytest.raises(StopIteration):
        next(letters)
    following.join(60)
    assert reporter.lines == ["evalharness: posted"]
