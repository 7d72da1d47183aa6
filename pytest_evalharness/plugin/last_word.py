"""What can only be said once pytest has had its last word."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_evalharness.plugin.session import existing_session, is_worker
from pytest_evalharness.plugin.summary import report_of, write_files, write_section

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Set right what was written before the exit code was final, and name the cases that an internal error has cost."""
    outcome = yield
    config = session.config
    report, run = report_of(config), existing_session(config)
    if report is None or run is None or is_worker(config):
        return outcome
    code = int(session.exitstatus)
    if code != report.exit_code:  # --max-warnings counts after everybody has reported
        write_files(config, run, replace(report, exit_code=code))
    reporter: TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    if code == pytest.ExitCode.INTERNAL_ERROR and reporter is not None:
        write_section(reporter, config)  # pytest itself shows no summary then
    return outcome
