"""What a case found, kept beside its item until its report is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_evalharness.plugin.session import session_of

if TYPE_CHECKING:
    from pytest_evalharness.league.result import ABResult

RESULT = pytest.StashKey["list[ABResult]"]()


def remember(item: pytest.Item, result: ABResult) -> None:
    """Keep a result for the item's report. A rerun of the item replaces nothing: the evidence is the same."""
    results = item.stash.setdefault(RESULT, [])
    results[:] = [known for known in results if known.plan != result.plan]
    results.append(result)
    session_of(item.config).found.append(result)


def results_of(item: pytest.Item) -> list[ABResult]:
    """The item's results, in the order in which they were had."""
    return item.stash.get(RESULT, [])
