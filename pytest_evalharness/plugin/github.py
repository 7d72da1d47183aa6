"""GitHub Actions: step summary, outputs and annotations, from the controller, once. Never a reason to fail."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_evalharness.plugin.session import EvalSession, existing_session, is_worker
from pytest_evalharness.plugin.summary import collector_of, report_of

if TYPE_CHECKING:
    from pytest_evalharness.report.model import Report

_ANNOTATES_FAILURES = "pytest_github_actions_annotate_failures"
"""A plugin that turns failed cases into annotations; two of them for one case help nobody."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Tell GitHub, after everybody else has had the last word: annotations need lines of their own."""
    outcome = yield
    config = session.config
    report, run = report_of(config), existing_session(config)
    if report is None or run is None or is_worker(config) or os.environ.get("GITHUB_ACTIONS") != "true":
        return outcome
    _emit(tell(config, run, report, os.environ))
    return outcome


def tell(config: pytest.Config, run: EvalSession, report: Report, environ: Mapping[str, str]) -> list[str]:
    """Write the files that GitHub offers; returns the lines for the log: annotations, and what went wrong."""
    from pytest_evalharness.report import github

    failures = config.pluginmanager.has_plugin(_ANNOTATES_FAILURES)
    lines = github.annotate(
        report, _places(config, environ), leave_out={"failed"} if failures else frozenset()
    )
    for variable, write in (("GITHUB_STEP_SUMMARY", _write_summary), ("GITHUB_OUTPUT", _write_outputs)):
        path = environ.get(variable)
        if not path:
            continue
        try:
            write(Path(path), config, run, report)
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or problem
            lines.append(f"evalharness: note: {variable} was not written: {why}")
    return lines


def _write_summary(path: Path, config: pytest.Config, run: EvalSession, report: Report) -> None:
    from pytest_evalharness.report import github

    del config
    before = path.stat().st_size if path.exists() else 0
    room = github.SUMMARY_LIMIT - 1 - before - len("\n\n")
    text = github.summary(report, room=room, where=str(run.folder / "summary.md"))
    if not text:
        raise ValueError(f"it holds {before} bytes already, and GitHub takes {github.SUMMARY_LIMIT}")
    _append(path, text)


def _write_outputs(path: Path, config: pytest.Config, run: EvalSession, report: Report) -> None:
    import secrets

    from pytest_evalharness.report import github

    values = {
        "verdict": str(github.overall(report)),
        "exit-code": str(report.exit_code),
        "run-dir": str(run.folder),
        "resume-command": resume_command(config),
    }
    _append(path, github.outputs(values, delimiter=f"evalharness-{secrets.token_hex(16)}"))


def resume_command(config: pytest.Config) -> str:
    """The command that was typed, to be typed again where it was. It goes on with a run, or reads its evidence."""
    from pytest_evalharness.base.text import redact
    from pytest_evalharness.report.github import command_line

    redact.hide(os.environ.get("EVALHARNESS_TOKEN", ""))  # under workers nobody has read it in this process
    as_module = Path(sys.argv[0]).name == "__main__.py"
    words = ["python", "-m", "pytest"] if as_module else ["pytest"]
    return command_line([*words, *config.invocation_params.args])


def _places(config: pytest.Config, environ: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """Where cases stand, as seen from the repository's root. GitHub knows no other files."""
    root = Path(environ.get("GITHUB_WORKSPACE") or config.rootpath).resolve()
    found = {}
    for nodeid, report in collector_of(config).reports.items():
        path, line, _ = report.location
        file = (config.rootpath / path).resolve()
        if file.is_relative_to(root):
            found[nodeid] = (file.relative_to(root).as_posix(), (line or 0) + 1)
    return found


def _append(path: Path, text: str) -> None:
    """Add to what other commands of the step have written, on a line of its own.

    Raises:
        OSError: it cannot be written.
        ValueError: it is no regular file: writing to a pipe might wait for ever.
    """
    if path.exists() and not path.is_file():
        raise ValueError("it is no regular file")
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            text = text if file.read(1) == b"\n" else f"\n{text}"
        file.write(text.encode(errors="replace"))


def _emit(lines: list[str]) -> None:
    """Print lines, each from the start of one: past the reporter, which may be absent and may add colour."""
    if not lines:
        return
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = "".join(f"{line}\n" for line in ["", *lines])
    with contextlib.suppress(OSError, ValueError):  # a log that nobody reads any more
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
