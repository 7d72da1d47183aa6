import ast
from pathlib import Path

import pytest

from pytest_evalharness import ledger
from pytest_evalharness.ledger.states import (
    CLAIM_TRANSITIONS,
    SETTLED,
    TRANSITIONS,
    BlockState,
    ClaimState,
    IllegalTransition,
    check,
    check_claim,
)

ALLOWED = {
    ("planned", "posting"),
    ("planned", "cancelled"),
    ("posting", "running"),
    ("posting", "failed"),
    ("posting", "planned"),
    ("running", "finished"),
    ("running", "failed"),
    ("running", "cancelled"),
    ("running", "abandoned"),
    ("abandoned", "running"),
    ("failed", "planned"),
}
PAIRS = [(have, want) for have in BlockState for want in BlockState]


@pytest.mark.parametrize(("have", "want"), PAIRS)
def test_the_table_is_what_was_designed(have, want):
    if (have.value, want.value) in ALLOWED:
        check("b", have, want)
    else:
        with pytest.raises(IllegalTransition, match=f"b is {have}, which cannot become {want}"):
            check("b", have, want)


def test_every_state_has_a_row():
    assert set(TRANSITIONS) == set(BlockState)
    assert set(CLAIM_TRANSITIONS) == set(ClaimState)


CLAIMS = {
    ("unclaimed", "producing"),
    ("unclaimed", "done"),
    ("producing", "producing"),
    ("producing", "done"),
    ("producing", "unclaimed"),
}


@pytest.mark.parametrize(("have", "want"), [(have, want) for have in ClaimState for want in ClaimState])
def test_the_table_of_claims_is_what_was_designed(have, want):
    if (have.value, want.value) in CLAIMS:
        check_claim("roster r1", have, want)
    else:
        with pytest.raises(IllegalTransition, match=f"roster r1 is {have}, which cannot become {want}"):
            check_claim("roster r1", have, want)


def test_blocks_change_in_one_place_only():
    """So that no state can be written past the table."""
    written = [
        path.name
        for path in Path(ledger.__path__[0]).glob("*.py")
        for word in ast.walk(ast.parse(path.read_text()))
        if isinstance(word, ast.Constant) and "update blocks" in str(word.value).lower()
    ]
    assert written == ["leases.py"]


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        TRANSITIONS[BlockState.FINISHED] = frozenset()


def test_final_states_have_no_way_out_and_settled_ones_have_nobody_at_work():
    assert {state for state in BlockState if state.final} == {BlockState.FINISHED, BlockState.CANCELLED}
    assert set(BlockState) - SETTLED == {BlockState.PLANNED, BlockState.POSTING, BlockState.RUNNING}
