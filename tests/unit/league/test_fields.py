"""A comparison on several fields: which arms belong to which, and what keeps their outcomes apart."""

from dataclasses import asdict, replace

import pytest

from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.blocks import BlockSpec
from pytest_evalharness.league.fields import FieldsPlan, fields_of
from pytest_evalharness.league.roster import Member
from pytest_evalharness.league.trust import across
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Reason, Rule


@pytest.fixture
def others(make):
    """Another field: one opponent left, another came."""
    first = make.roster()
    newcomer = Member("ply_9", "Newcomer", "newcomer:v1", "id-newcomer", None)
    return replace(
        first,
        opponents=(newcomer, *first.opponents[1:]),
        resolved_at="2026-10-01T08:30:00Z",
        division="div_2",
    )


def told(roster, arms, extensions=()):
    kept = {"roster": roster.to_json(), "arms": {side: arms[side].to_json() for side in SIDES}}
    return {**kept, "extensions": list(extensions)} if extensions else kept


def test_an_extension_belongs_to_the_field_before_it_and_one_with_a_roster_begins_another(make, others):
    arms = make.arms()
    further = {side: arms[side].on_field(others, {0}, 6) for side in SIDES}
    more = {"blocks": [asdict(BlockSpec(3))], "at": 1.0}
    last = {"blocks": [asdict(BlockSpec(2))], "at": 3.0}
    first, second = fields_of(
        told(make.roster(), arms, [more, {**told(others, further), "at": 2.0}, last]),
    )
    assert first.roster == make.roster()
    assert (first.arms["candidate"].episodes, second.arms["candidate"].episodes) == (4 + 3, 6 + 2)
    assert first.names["baseline"] == ("baseline", "baseline+1")
    assert second.names["baseline"] == ("baseline+2", "baseline+3")
    keys = {name: f"key of {name}" for side in SIDES for name in (side, *(f"{side}+{n}" for n in (1, 2, 3)))}
    assert second.arms_in(keys) == {
        "candidate": "key of candidate+2",
        "candidate+1": "key of candidate+3",
        "baseline": "key of baseline+2",
        "baseline+1": "key of baseline+3",
    }


def test_on_another_field_the_pinned_seats_stay_and_everything_else_follows_the_roster(make, others):
    before = make.arms()["candidate"]
    after = before.on_field(others, {0}, 6)
    changed = [seat.position for seat, was in zip(after.seats, before.seats, strict=True) if seat != was]
    assert changed == [1]
    assert after.seats[1].label == "newcomer:v1"
    assert after.seats[1].role == before.seats[1].role
    (body,) = after.bodies()
    assert body["num_episodes"] == 6
    assert body["target"] == {"league_id": "league_1", "division_id": "div_2"}
    assert [one["player"]["policy_ref"] for one in body["roster"]][:2] == ["id-bot:v2", "id-newcomer"]
    assert body["game_config_overrides"] == before.body["game_config_overrides"]


def test_each_field_is_a_stratum_of_the_one_question_and_plans_no_look(make, others):
    declared = Declaration("better", rule="group_sequential", looks=(2, 4))
    plan = make.plan(declaration=declared)
    arms = make.arms(plan)
    further = {side: arms[side].on_field(others, {0}, 6) for side in SIDES}
    fields = fields_of(told(make.roster(), arms, [{**told(others, further), "at": 2.0}]))
    several = FieldsPlan.of(plan, fields)
    assert several.names == ("field 1 (2026-09-01T12:00Z)", "field 2 (2026-10-01T08:30Z)")
    assert several.title == "A/B crew"
    assert several.declaration == declared
    assert several.plans[0] is plan
    later = several.plans[1]
    assert (later.episodes, later.declaration.looks, later.declaration.rule) == (6, (), Rule.OVERLAP)
    assert later.declaration.claim == declared.claim


def records(make, **changes):
    arms = make.arms()
    return {side: make.record(arms[side], **changes) for side in SIDES}


def test_fields_of_one_game_are_held_against_each_other(make):
    assert across({"field 1": records(make), "field 2": records(make)}) == []


def test_another_version_on_the_second_field_is_found(make):
    (found,) = across({"field 1": records(make), "field 2": records(make, coworlds=("crewrift 1.3.0",))})
    assert found.reason is Reason.VERSIONS
    assert "field 2, candidate crewrift 1.3.0" in found.detail


def test_another_meaning_of_scores_on_the_second_field_is_found(make):
    def points(record):
        return replace(
            record,
            episodes=tuple(
                replace(one, results={**one.results, "scores": [100 * won + 8 for won in one.results["win"]]})
                for one in record.episodes
            ),
        )

    second = {side: points(record) for side, record in records(make).items()}
    (found,) = across({"field 1": records(make), "field 2": second})
    assert found.reason is Reason.VERSIONS
    assert "scores do not mean the same" in found.detail


def test_other_settings_on_the_second_field_are_found(make):
    def faster(record):
        return replace(
            record,
            episodes=tuple(
                replace(one, config={**one.config, "voteTimerTicks": 1200}) for one in record.episodes
            ),
        )

    second = {side: faster(record) for side, record in records(make).items()}
    (found,) = across({"field 1": records(make), "field 2": second})
    assert found.reason is Reason.CONFIG
    assert "field 2, candidate differs in voteTimerTicks" in found.detail
