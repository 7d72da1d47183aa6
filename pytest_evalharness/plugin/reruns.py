"""Reruns read the same evidence again: the JUnit file has one test case a verdict, however often it was read."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_evalharness.plugin.junit import junit_of
from pytest_evalharness.plugin.outcome import tally_of
from pytest_evalharness.plugin.session import is_worker


class Reruns:
    """Takes the attempts that were run again out of the JUnit file.

    pytest writes one test case for each of them and counts only the last, so that readers who count disagree with it.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.again: set[str] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        """An attempt's test case is complete with its teardown's report."""
        if str(report.outcome) == "rerun":
            self.again.add(report.nodeid)
        over = report.when == "teardown" and report.nodeid in self.again
        xml = junit_of(self.config) if over and report.nodeid in tally_of(self.config).collected else None
        known = self._open(xml, report)
        yield
        if xml is None:
            return
        self.again.discard(report.nodeid)
        ordered = xml.node_reporters_ordered
        written = known if known is not None else ordered[-1] if ordered else None
        ordered[:] = [one for one in ordered if one is not written]

    def _open(self, xml: Any, report: pytest.TestReport) -> Any:
        """The test case that a report belongs to, if it has begun."""
        if xml is None:
            return None
        name = getattr(report, "id", report.nodeid)  # what it is called depends on pytest's version
        return xml.node_reporters.get((name, getattr(report, "node", None)))


def pytest_configure(config: pytest.Config) -> None:
    """Listen where reports arrive, if anything reruns cases."""
    if not is_worker(config) and config.pluginmanager.has_plugin("rerunfailures"):
        config.pluginmanager.register(Reruns(config), "evalharness-reruns")
