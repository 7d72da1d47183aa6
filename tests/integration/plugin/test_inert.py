"""Without eval cases nobody notices that the plugin is installed."""

import pytest

PLAIN = """
import signal

def test_passes():
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

def test_fails():
    assert False
"""


def files(pytester):
    ignored = {"__pycache__", ".pytest_cache", "stdout", "stderr", "runpytest-0", "runpytest-current"}
    return {
        str(path.relative_to(pytester.path))
        for path in pytester.path.rglob("*")
        if not ignored & set(path.relative_to(pytester.path).parts)
    }


def mentions(result):
    return [line for line in result.outlines if "evalharness" in line and not line.startswith("plugins:")]


@pytest.fixture
def plain(pytester, monkeypatch):
    pytester.makepyfile(test_plain=PLAIN)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return pytester


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        pytest.param(("-n", "2"), marks=pytest.mark.slow),
        ("--candidate=keeper:v2", "--baseline=keeper:v1", "--eval-server=embedded"),
        ("--candidate=keeper:v2", "--baseline=keeper:v1", "--eval-server=embedded", "-n", "2"),
        ("--eval-num=0",),
        ("--eval-inconclusive=pass",),
    ],
    ids=lambda arguments: " ".join(arguments) or "bare",
)
def test_no_output_no_files_no_handlers_no_exit_code(plain, arguments):
    before = files(plain)
    result = plain.runpytest_subprocess(*arguments, timeout=300)
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == 1
    assert mentions(result) == []
    assert files(plain) == before


def test_a_broken_setting_is_nobodys_business_without_eval_cases(plain, monkeypatch):
    monkeypatch.setenv("EVALHARNESS_NUM", "many")
    result = plain.runpytest_subprocess("-k", "passes", timeout=300)
    assert result.ret == 0
    assert mentions(result) == []


@pytest.mark.parametrize("without", ["terminal", "xdist", "cacheprovider"])
def test_it_loads_without_other_plugins(plain, without):
    result = plain.runpytest_subprocess("-p", f"no:{without}", "-k", "passes", timeout=300)
    assert result.ret == 0


def test_no_tests_is_still_no_tests(pytester):
    assert pytester.runpytest_subprocess(timeout=300).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_help_and_marks_name_what_there_is(pytester):
    pytester.runpytest_subprocess("--help", timeout=300).stdout.fnmatch_lines(
        ["evalharness: did this edit help?:", "*--candidate=NAME:vN*", "*--eval-dry-run*"]
    )
    pytester.runpytest_subprocess("--markers", timeout=300).stdout.fnmatch_lines(
        ["@pytest.mark.league_ab(role=*", "@pytest.mark.eval:*"]
    )


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_no_terminal_is_nothing_to_stumble_over(plain, workers):
    assert plain.runpytest_subprocess("-p", "no:terminal", *workers, timeout=300).ret == 1
