"""What `evalharness episodes` takes for a usage error, and how it tells what comes."""

import io

import pytest

from pytest_evalharness.cli import build_parser, main
from pytest_evalharness.cli.episodes import _selection
from pytest_evalharness.cli.episodes_progress import Progress, size
from pytest_evalharness.episodes.artifacts import Artifact, Category, Outcome, State
from pytest_evalharness.episodes.index import Entry


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "no episodes were selected"),
        ("--xreq a --ereq b", "--xreq and --ereq exclude each other"),
        ("--policy a --round b --division c", "exclude each other"),
        ("--ereq a --watch", "--watch goes with --xreq only"),
        ("--xreq a --version 2", "--version goes with --policy only"),
        ("--xreq a --interval 0 --watch", "take seconds"),
        ("--xreq a --interval nan --watch", "take seconds"),
        ("--xreq a --late -1", "take seconds"),
        ("--ereq xreq_a", "--xreq xreq_a"),
        ("--ereq ereq_a --ereq div_b", "--division div_b"),
        ("--round pool_a", "pool_a is no id that --round takes"),
        ("--episode xreq_a", "--xreq xreq_a"),
        ("--xreq a", "no folder was named"),
        ("--xreq a --out x --server ftp://x", "--server"),
    ],
)
def test_usage_errors(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert main(["episodes", *words.split()]) == 4

    told = capsys.readouterr().err
    assert said in told
    assert "next:" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "most"),
    [
        ("--xreq a", 10), ("--xreq a -n 3", 3), ("--xreq a --watch", None), ("--xreq a --watch -n 3", 3), ("--ereq a", None),
        ("--episode a -n 3", None), ("--episode ereq_a", None), ("--policy round_robin", 10), ("--division div_a", 10), ("--division a -n 200", 200),
    ],
)  # fmt: skip
@pytest.mark.failure_mode(number=31)
def test_how_many_are_taken(words, most):
    selection, _ = _selection(build_parser().parse_args(["episodes", *words.split()]))

    assert selection.most == most


def test_a_selection_is_kept_word_for_word():
    parsed = build_parser().parse_args(["episodes", "--ereq", "a", "--ereq", "b", "--failed-only"])

    assert _selection(parsed)[0].to_json() == {"mode": "ereq", "names": ["a", "b"], "failed_only": True}


def entry():
    ok = Outcome("results.json", Artifact(Category.RESULTS), State.OK, size=1500)
    denied = Outcome("logs/policy_agent_1.log", Artifact(Category.PLAYER_LOG, 1), State.DENIED)
    return Entry(
        "ereq_1", "20260901T120000_ereq_1", status="completed", files={one.path: one for one in (ok, denied)}
    )


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_on_a_terminal_is_one_line():
    stream = Terminal()
    progress = Progress(stream)

    progress.found(4)
    progress.bytes(2_500_000)
    progress.done(entry(), skipped=True)
    progress.done(entry(), skipped=False)
    progress.remark("the list may be cut")
    progress.end()

    told = stream.getvalue()
    assert told.count("\n") == 1  # the remark
    assert "2/4 episodes, 2.5 MB" in told
    assert "left" in told
    assert "the list may be cut\n" in told


def test_progress_elsewhere_is_plain_lines():
    stream = io.StringIO()
    progress = Progress(stream)

    progress.found(1)
    progress.done(entry(), skipped=False)
    progress.end()

    assert stream.getvalue().splitlines() == [
        "1 episode",
        "20260901T120000_ereq_1: completed; 1 file, 1.5 kB, 1 denied",
    ]
    assert "\x1b" not in stream.getvalue()


def test_a_quiet_one_says_remarks_only():
    stream = io.StringIO()
    progress = Progress(stream, quiet=True)

    progress.found(1)
    progress.done(entry(), skipped=False)
    progress.remark("evil \x1b[31m words")

    assert stream.getvalue() == "evil \ufffd[31m words\n"


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 B"), (812, "812 B"), (34_100_000, "34.1 MB"), (5e15, "5000.0 TB")]
)
def test_sizes(count, told):
    assert size(count) == told
