"""What a run's server says of itself, written down with the run; and what has changed since the last run there, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_evalharness.base.clock import iso
from pytest_evalharness.base.text import printable
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.observatory.dialect import Dialect
from pytest_evalharness.observatory.drift import adapted, changes, outline


def note_service(ledger: Ledger, run_id: str, server: str, dialect: Dialect) -> list[str]:
    """Write down what a server says of itself, and return what every reader of the run's reports must know of it.

    Args:
        ledger: the journal.
        run_id: a run that has begun.
        server: the server's identity.
        dialect: what was chosen for it.

    Raises:
        JournalUnavailable: it cannot be written down.
    """
    service, described = dialect.to_json(), outline(dialect.capabilities)
    ledger.services.note(run_id, service, described)
    return [*_assumed(service), *_drift(ledger, run_id, server, service, described)]


def _assumed(service: Mapping[str, Any]) -> Iterator[str]:
    if service["assumed"]:
        yield (
            f"the server's description could not be used ({service['assumed']}): it is taken for the service as it is "
            "documented today"
        )


def _drift(
    ledger: Ledger, run_id: str, server: str, service: Mapping[str, Any], described: Mapping[str, Any]
) -> Iterator[str]:
    if not service["digest"]:
        return
    before = ledger.services.before(run_id, server)
    if before is None or before.service["digest"] == service["digest"]:
        return
    since = f"run {printable(before.run_id)} of {iso(before.at)[:10]}"
    told = [*adapted(before.service, service), *changes(before.outline, described)]
    if not told:
        yield f"the server's API is described in other words than in {since}; its calls and parameters are the same"
        return
    yield f"the server's API has changed since {since}:"
    yield from (f"API change: {change}" for change in told)
