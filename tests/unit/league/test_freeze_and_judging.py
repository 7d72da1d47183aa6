"""The field moves on before anything was posted, and evidence that an earlier run brought."""

from dataclasses import asdict
from types import SimpleNamespace

import pytest

from pytest_evalharness.league.freeze import Freezer
from pytest_evalharness.league.run import LeagueRun, RunOptions
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner


class HandClock:
    time = 1_000.0

    def now(self):
        return self.time

    monotonic = now

    def wait(self, seconds, stop=None):
        self.time += seconds
        return False


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def ledger(tmp_path, clock):
    owner = Owner(1, "1", "here", "monday", "gw0")
    with Ledger.open(tmp_path, clock=clock, owner=owner, alive=lambda *_, **__: True) as opened:
        yield opened


@pytest.fixture
def freezer(ledger, clock, make):
    """Makes freezers; the field that was resolved at `freezer.gone` is no longer live."""

    def build(run_id="r1", field=None):
        made = Freezer(ledger, lambda: None, clock, run_id)
        made.live = SimpleNamespace(
            policies=lambda _plan: make.policies(),
            roster=lambda _plan, _left: field or make.roster(),
            gone=lambda rosters: [
                m for one in rosters if one.resolved_at == build.gone for m in one.opponents
            ],
        )
        return made

    build.clock, build.gone = clock, None
    return build


@pytest.mark.parametrize("fresh", [False, True])
def test_a_field_that_moved_on_before_anything_was_posted_is_frozen_anew(freezer, make, fresh):
    first = freezer().freeze(make.plan(), "case", fresh=fresh)
    assert freezer("r2").freeze(make.plan(), "case", fresh=fresh).comparison.id == first.comparison.id
    freezer.gone = first.roster.resolved_at
    new = make.roster(resolved_at="2026-09-02T12:00:00Z")
    again = [freezer("r3", new).freeze(make.plan(), "case", fresh=fresh) for _ in range(2)]
    assert [one.comparison.attempt for one in again] == [2, 2]
    assert again[0].roster == new


@pytest.mark.parametrize(("finished_at", "age"), [(1_050.0, 100.0), (1_120.0, None)])
def test_only_what_was_complete_before_the_run_began_is_read_again(ledger, freezer, make, finished_at, age):
    clock = freezer.clock
    plan = make.plan()
    frozen = freezer("r1").freeze(plan, "case", fresh=False)
    ended = {"candidate": 1_040.0, "baseline": finished_at}
    if age is None:
        clock.time = 1_100.0
        ledger.start_run("r2", {})
    for side, arm in frozen.arms.items():
        (block,) = ledger.blocks(frozen.comparison.arms[side])
        with ledger.acquire(block.block_id) as lease:
            lease.begin_post()
            lease.posted(f"xreq_{side}")
            clock.time = ended[side]
            episodes = [asdict(make.episode(arm, i)) for i in range(plan.episodes)]
            request = {"id": f"xreq_{side}", "status": "completed", "coworld_id": "c", "coworld_name": "crewrift",
                       "coworld_version": "1"}  # fmt: skip
            lease.finish({"request": request, "episodes": episodes})
    if age is not None:
        clock.time = 1_100.0
        ledger.start_run("r2", {})
    # This process begins later than its run: another worker may have played the games.
    clock.time = 1_150.0
    run = LeagueRun(
        ledger=ledger, connect=lambda: None, clock=clock, events=None, stop=None,
        options=RunOptions("r2", notes="", fresh=False, queue_budget=1.0),
    )  # fmt: skip
    entry = SimpleNamespace(name="case", plan=plan, ready=lambda: frozen)
    assert run._finished(entry).age == age
