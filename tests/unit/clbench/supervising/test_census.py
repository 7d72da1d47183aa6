"""Which processes belong to which domain: told again of one that had not become itself yet, and of none that was known."""

from types import SimpleNamespace

import pytest

from pytest_evalharness.clbench.campaign.census import Census
from pytest_evalharness.clbench.campaign.process_table import Process
from pytest_evalharness.clbench.campaign.processes import Fingerprint

SUITE = "clbench run-all --name mine --task alpha"
CHILD = "clbench run alpha --system s"


class Looks(Census):
    """Of processes that a test makes up."""

    def __init__(self):
        self.table, self.seen = {}, []
        journal = SimpleNamespace(
            saw=lambda some: self.seen.append([(one.pid, one.task, one.command) for one in some])
        )
        super().__init__(Fingerprint(frozenset()), 10, ["alpha"], "here", journal)

    def find(self):
        return self.table

    def there(self, *rows):
        """What is alive, and what a look says of it."""
        self.table = {
            pid: Process(pid, str(pid), parent, 1, stopped=False, argv=tuple(words.split()))
            for pid, parent, words in rows
        }
        return [one.pid for one in self.look()]


@pytest.fixture
def census():
    return Looks()


def test_a_program_that_is_seen_before_it_has_become_itself_is_told_again(census):
    assert census.there((10, 1, SUITE), (11, 10, SUITE)) == []
    for _ in range(2):
        assert census.there((10, 1, SUITE), (11, 10, CHILD), (12, 11, "worker")) == []
    assert census.seen == [
        [(10, "", SUITE), (11, "", SUITE)],
        [(11, "alpha", CHILD), (12, "alpha", "worker")],
    ]


def test_workers_are_lone_when_several_looks_find_them_without_their_program(census):
    census.there((10, 1, SUITE), (11, 10, CHILD), (12, 11, "worker"))
    looks = [census.there((10, 1, SUITE), (12, 1, "worker")) for _ in range(4)]
    assert looks == [[], [], [12], [12]]
    assert len(census.seen) == 1
