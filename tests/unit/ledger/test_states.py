import pytest

from pytest_evalharness.ledger.states import SETTLED, TRANSITIONS, BlockState, IllegalTransition, check

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


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        TRANSITIONS[BlockState.FINISHED] = frozenset()


def test_final_states_have_no_way_out_and_settled_ones_have_nobody_at_work():
    assert {state for state in BlockState if state.final} == {BlockState.FINISHED, BlockState.CANCELLED}
    assert set(BlockState) - SETTLED == {BlockState.PLANNED, BlockState.POSTING, BlockState.RUNNING}
