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
    from pytest_evalharness.report import github, step_files

    failures = config.pluginmanager.has_plugin(_ANNOTATES_FAILURES)
    lines = github.annotate(
        report, _places(config, environ), leave_out={"failed"} if failures else frozenset()
    )
    lines += step_files.write(report, folder=run.folder, resume=resume_command(config), environ=environ)
    return lines


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


def _emit(lines: list[str]) -> None:
    """Print lines, each from the start of one: past the reporter, which may be absent and may add colour."""
    if not lines:
        return
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = "".join(f"{line}\n" for line in ["", *lines])
    with contextlib.suppress(OSError, ValueError):  # a log that nobody reads any more
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
