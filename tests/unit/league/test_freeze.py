"""A field that is frozen once, looked at again before a POST, and frozen anew if it moved on before anything was sent."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.errors import FieldUnavailable
from pytest_evalharness.league.freeze import Freezer
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.observatory.models import (
    ContainerImage,
    Leaderboard,
    PolicyVersion,
    PolicyVersionDetail,
)
from pytest_evalharness.verdict.claim import Declaration


class League:
    """As much of the client as freezing asks for: nobody owns anything, everybody is a live member."""

    def __init__(self, live):
        self.live = live

    def memberships(self, *, mine=False, **_):
        return [] if mine else list(self.live)

    def rounds(self, **_):
        return []

    def leaderboard(self, _):
        return Leaderboard(entries=())

    def policy_versions(self, *_, **__):
        return []

    def policy_version(self, _):
        return None


@pytest.fixture
def league(make):
    return League([make.membership(f"ply_{i}", f"rival-{i}", 1, player_name=f"P{i}") for i in range(9)])


@pytest.fixture
def freezer(tmp_path, league):
    opened = []

    def run(run_id):
        ledger = Ledger.open(tmp_path, clock=SystemClock(), owner=Owner.current(run_id))
        opened.append(ledger)
        ledger.start_run(run_id, {})
        return Freezer(ledger, lambda: league, SystemClock(), run_id)

    yield run
    for ledger in opened:
        ledger.close()


@pytest.fixture
def plan(make):
    return make.plan(candidate={0: "rival-7:v1"}, baseline={0: "rival-8:v1"}, division="div_1")


def test_an_opponent_who_retires_between_freezing_and_posting_stops_the_post(freezer, league, plan):
    runner = freezer("run-1")
    frozen = runner.freeze(plan, "case", fresh=False)
    gone = frozen.roster.opponents[2]
    league.live = [m for m in league.live if m.policy_version.id != gone.policy_version_id]
    with pytest.raises(FieldUnavailable, match="is no longer live") as caught:
        runner.live.revalidate(frozen.roster)
    assert gone.label in caught.value.what
    assert caught.value.not_done == "this arm was not submitted"


def test_the_same_command_freezes_the_field_as_it_is_then(freezer, league, plan, make):
    before = freezer("run-1").freeze(plan, "case", fresh=False)
    league.live = [
        *(m for m in league.live if m.policy_version.id != before.roster.opponents[0].policy_version_id),
        make.membership("ply_new", "newcomer", 1, player_name="New"),
    ]
    after = freezer("run-2").freeze(plan, "case", fresh=False)
    assert after.comparison.attempt == 2
    assert before.roster.opponents[0] not in after.roster.opponents


def test_another_process_of_a_run_does_not_take_up_the_field_that_moved_on(freezer, league, plan, make):
    """Every case of the run gets one field in its place: their arms are posted once."""
    other = replace(plan, declaration=Declaration(claim="not_worse"))
    before = freezer("run-1").freeze(plan, "case", fresh=False)
    freezer("run-1").freeze(other, "other case", fresh=False)
    league.live = [
        *(m for m in league.live if m.policy_version.id != before.roster.opponents[0].policy_version_id),
        make.membership("ply_new", "newcomer", 1, player_name="New"),
    ]
    after = freezer("run-1").freeze(plan, "case", fresh=False)
    renewed = freezer("run-1").freeze(other, "other case", fresh=False)
    assert before.roster.opponents[0] not in after.roster.opponents
    assert after.roster == renewed.roster
    assert after.comparison.arms == renewed.comparison.arms


def test_a_field_that_stays_is_frozen_once_for_every_process_and_run(freezer, plan):
    first = freezer("run-1").freeze(plan, "case", fresh=False)
    same_run = freezer("run-1").freeze(plan, "other case", fresh=False)
    later = freezer("run-2").freeze(plan, "case", fresh=False)
    assert first.comparison.id == same_run.comparison.id == later.comparison.id
    assert first.roster == same_run.roster == later.roster


def test_looking_again_costs_one_question_a_roster(freezer, league, plan):
    runner = freezer("run-1")
    frozen = runner.freeze(plan, "case", fresh=False)
    runner.live.revalidate(frozen.roster)
    league.live = []
    runner.live.revalidate(
        frozen.roster
    )  # both arms are posted at the same moment: the second one need not ask again


def seeds_of(frozen):
    """The seeds of both arms, which are the same."""
    arms = [[block.seed for block in frozen.arms[side].blocks] for side in ("candidate", "baseline")]
    assert arms[0] == arms[1]
    return arms[0]


def test_seeds_are_the_same_in_both_arms_and_other_ones_at_every_further_look(freezer, plan):
    paired = replace(plan, declaration=Declaration("better", pairing="seed"))
    claim = replace(plan, declaration=Declaration("not_worse", pairing="seed"))
    first = freezer("run-1")
    drawn = seeds_of(first.freeze(paired, "case", fresh=False))
    assert (
        seeds_of(first.freeze(claim, "other", fresh=False)) == drawn
    )  # two claims of a run share their arms
    assert seeds_of(freezer("run-2").freeze(paired, "case", fresh=False)) == drawn
    further = seeds_of(freezer("run-3").freeze(replace(paired, ticks=9_999), "case", fresh=True))
    assert further == drawn  # another question is no further look at this one


def test_a_fresh_attempt_draws_other_seeds(freezer, plan, monkeypatch):
    paired = replace(plan, declaration=Declaration("better", pairing="seed"))
    drawn = seeds_of(freezer("run-1").freeze(paired, "case", fresh=False))
    again = freezer("run-2")
    monkeypatch.setattr(
        "pytest_evalharness.league.live_field.no_longer_live", lambda roster, _: roster.opponents
    )
    assert not set(seeds_of(again.freeze(paired, "case", fresh=True))) & set(drawn)


class Owned(League):
    """A league in which the account owns two versions, each with a number of its own."""

    asked = 0

    def policy_versions(self, name=None, version=None, **_):
        self.asked += 1
        known = [PolicyVersion(id=f"id-{self.owner}-{n}", name="bot", version=n) for n in (1, 2)]
        return [one for one in known if one.name == name and version in {None, one.version}]

    def policy_version(self, version_id):
        return PolicyVersionDetail(id=version_id, container_image_id=f"img-{version_id}")

    def container_image(self, image_id):
        return ContainerImage(id=image_id, image_digest=f"sha256:{image_id}")

    owner = "ann"


@pytest.fixture
def account(tmp_path, make):
    """Freezes the same plan for an account, as another process would; the server's calls are counted."""
    opened = []

    def freeze(owner, run_id, *, finish=True, **changes):
        league = Owned([make.membership(f"ply_{i}", f"rival-{i}", 1) for i in range(9)])
        league.owner = owner
        ledger = Ledger.open(tmp_path, clock=SystemClock(), owner=Owner.current(run_id))
        opened.append(ledger)
        ledger.start_run(run_id, {})
        runner = Freezer(ledger, lambda: league, SystemClock(), run_id, account=owner)
        frozen = runner.freeze(make.plan(division="div_1", **changes), "case", fresh=False)
        if finish:
            for key in frozen.comparison.arms.values():
                for block in ledger.blocks(key):
                    with ledger.acquire(block.block_id) or nullcontext() as lease:
                        if lease is not None:
                            lease.begin_post()
                            lease.posted(f"x-{key}")
                            lease.finish({"episodes": []})
        return frozen.comparison.id, league.asked

    yield freeze
    for ledger in opened:
        ledger.close()


def test_a_finished_comparison_of_numbered_versions_is_found_without_the_server(account):
    first, asked = account("ann", "run-1")
    assert asked > 0
    assert account("ann", "run-2") == (first, 0)


def test_one_that_is_not_finished_is_resolved_again(account):
    first, _ = account("ann", "run-1", finish=False)
    again, asked = account("ann", "run-2", finish=False)
    assert again == first
    assert asked > 0


@pytest.mark.failure_mode(number=28)
def test_the_same_labels_of_another_account_are_other_policies(account):
    first, _ = account("ann", "run-1")
    other, asked = account("bob", "run-2")
    assert other != first
    assert asked > 0


def test_another_question_about_known_versions_is_resolved_again(account):
    first, _ = account("ann", "run-1")
    other, asked = account("ann", "run-2", ticks=9_000)
    assert other != first
    assert asked > 0
