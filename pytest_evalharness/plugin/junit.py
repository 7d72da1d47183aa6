"""The JUnit file as a whole: what is said once for its suite, and what a strict schema does not allow."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_evalharness.plugin.outcome import PREFIX, tally_of
from pytest_evalharness.plugin.session import existing_session, is_worker
from pytest_evalharness.plugin.summary import collector_of


def junit_of(config: pytest.Config) -> Any:
    """What collects the file's test cases; None if no file was asked for."""
    from _pytest.junitxml import xml_key

    return config.stash.get(xml_key, None)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Say what became of the run, once its exit code is settled (by a hook that was registered later, so it came first).

    pytest's own way to do so from a test, `record_testsuite_property`, says nothing under workers.
    """
    config = session.config
    run, xml = existing_session(config), junit_of(config)
    if is_worker(config) or run is None or xml is None:
        return
    tally, cases = tally_of(config), collector_of(config).cases()
    if not tally.collected and not cases:
        return
    from pytest_evalharness.report.junit import suite_properties

    wanted = run.settings["junit_properties"]
    if wanted != "all":
        for case in xml.node_reporters_ordered:
            _strip(case)
    if wanted == "none":
        return
    head = {"run": run.run_id, "server": run.place_of(cases), "exit_code": int(session.exitstatus)}
    for name, value in suite_properties(head, cases, missing=tally.missing, unfinished=tally.unfinished):
        xml.add_global_property(name, value)


def _strip(case: Any) -> None:
    """Take our properties out of a test case; a user's own stay."""
    if hasattr(case, "properties"):  # a case that never came to its end: it is not made into XML yet
        case.properties[:] = [pair for pair in case.properties if not pair[0].startswith(PREFIX)]
        return
    element = case.to_xml()
    for properties in element.findall("properties"):
        for one in properties.findall("property"):
            if one.get("name", "").startswith(PREFIX):
                properties.remove(one)
        if not len(properties):
            element.remove(properties)
