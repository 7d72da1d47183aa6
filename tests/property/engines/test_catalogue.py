"""The engines that learn from a log against loops written from their definitions, and what must hold on any log."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalharness.engines import catalogue
from pytest_evalharness.engines.catalogue.log import Log
from pytest_evalharness.engines.catalogue.replay import replay, row_by_row
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.errors import NotEnoughEvidence

MOVES = ["greet", "talk", "close"]
STATES = [f"{stage}:5:{worry}" for stage in range(3) for worry in ("none", "price")]
COUNTING = ("monte-carlo", "value-iteration", "policy-iteration", "behaviour-clone")
GAMMA = st.sampled_from([1.0, 0.9, 0.0])


@st.composite
def calls(draw, *, looping):
    """Calls as [(state, move, reward, terminal), …]; with `looping` a state can come again within a call."""
    told = []
    for _ in range(draw(st.integers(1, 8))):
        length = draw(st.integers(1, 3))
        turns = []
        for turn in range(length):
            here = STATES if looping else STATES[2 * turn : 2 * turn + 2]
            turns.append(
                (
                    draw(st.sampled_from(here)),
                    draw(st.sampled_from(MOVES)),
                    draw(st.sampled_from([0.0, 1.0, -2.0])),
                    draw(st.sampled_from([0.0, 40.0, 100.0])) if turn == length - 1 else 0.0,
                )
            )
        told.append(turns)
    return told


ANY = st.one_of(calls(looping=True), calls(looping=False))


def evidence(told, gamma=1.0, *, moves=MOVES, scale=1.0):
    rows = []
    for at, turns in enumerate(told):
        ret = 0.0
        backwards = []
        for t, (state, move, reward, terminal) in reversed(list(enumerate(turns))):
            ret = scale * (reward + gamma * terminal) + gamma * ret
            backwards.append(
                {
                    "episode_id": f"c{at}",
                    "t": t,
                    "state": state,
                    "move": move,
                    "reward": scale * max(reward, 0.0),
                    "penalty": scale * max(-reward, 0.0),
                    "terminal": scale * terminal,
                    "ret": ret,
                }
            )
        rows += reversed(backwards)
    return Evidence.from_dict({"moves": list(moves), "mdp": {"discount": gamma}, "transitions": rows})


def visits(told):
    seen = defaultdict(int)
    for turns in told:
        for state, move, *_ in turns:
            seen[state, move] += 1
    return seen


def naive(told, rule, gamma, *, alpha, epochs, least, trace):
    """The values by the definition, in dicts."""
    q, seen = defaultdict(float), visits(told)

    def worth(state):
        may = [move for move in MOVES if seen[state, move] >= least]
        if may:
            return max(q[state, move] for move in may)
        total = sum(seen[state, move] for move in MOVES)
        return sum(seen[state, move] / total * q[state, move] for move in MOVES)

    for _ in range(epochs):
        for turns in told:
            traces = defaultdict(float)
            for t, (state, move, reward, terminal) in enumerate(turns):
                after = turns[t + 1] if t + 1 < len(turns) else None
                ahead = 0.0
                if after is not None:
                    ahead = worth(after[0]) if rule == "q-learning" else q[after[0], after[1]]
                delta = reward + gamma * terminal + gamma * ahead - q[state, move]
                for one in traces:
                    traces[one] *= gamma * trace
                traces[state, move] += 1.0
                if rule != "td-lambda":
                    traces = defaultdict(float, {(state, move): 1.0})
                for one, weight in list(traces.items()):
                    q[one] += alpha * delta * weight
    return q


@settings(deadline=None, max_examples=80)
@given(
    told=ANY,
    rule=st.sampled_from(["q-learning", "sarsa", "td-lambda"]),
    gamma=GAMMA,
    alpha=st.sampled_from([0.1, 0.5, 1.0]),
    epochs=st.integers(1, 4),
    least=st.integers(1, 3),
    trace=st.sampled_from([0.0, 0.8, 1.0]),
)
def test_replaying_a_log_is_what_the_definition_says(told, *, rule, gamma, alpha, epochs, least, trace):
    log = Log.of(evidence(told, gamma))
    expected = naive(told, rule, gamma, alpha=alpha, epochs=epochs, least=least, trace=trace)
    knobs = {"alpha": alpha, "epochs": epochs, "min_visits": least, "trace": trace}
    for found in (replay(log, rule, **knobs), row_by_row(log, rule, **knobs)):
        for at, state in enumerate(log.states):
            for column, move in enumerate(log.moves):
                assert found[at, column] == pytest.approx(expected[state, move], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", [*catalogue.FROM_A_LOG, catalogue.SANITY])
@settings(deadline=None, max_examples=15)
@given(told=ANY, gamma=GAMMA, least=st.integers(1, 3))
def test_a_table_names_only_moves_that_were_tried_often_enough(name, told, gamma, least):
    engine = catalogue.get(name)
    knobs = {one.name for one in engine.declaration.params}
    seen = visits(told)
    needed = least if "min_visits" in knobs else 1
    try:
        result = engine.run(evidence(told, gamma), {"min_visits": least})
    except NotEnoughEvidence:
        assert "min_visits" not in knobs or all(count < needed for count in seen.values())
        return
    assert all(seen[state, move] >= needed for state, move in result["policy"].items())
    if "min_visits" in knobs:
        known = {state for (state, _), count in seen.items() if count >= needed}
        assert result["policy"].keys() == known


@pytest.mark.parametrize("name", [*catalogue.FROM_A_LOG, catalogue.SANITY])
@settings(deadline=None, max_examples=15)
@given(told=ANY, gamma=GAMMA)
def test_a_move_that_nobody_made_changes_nothing(name, told, gamma):
    try:
        plain = catalogue.get(name).run(evidence(told, gamma))
    except NotEnoughEvidence:
        return
    more = catalogue.get(name).run(evidence(told, gamma, moves=["shout", *MOVES, "whisper"]))
    assert more["policy"] == plain["policy"]


@pytest.mark.parametrize("name", COUNTING)
@settings(deadline=None, max_examples=10)
@given(data=st.data(), told=ANY, gamma=GAMMA)
def test_the_order_of_the_calls_does_not_matter_to_what_counts(name, data, told, gamma):
    shuffled = data.draw(st.permutations(told))
    one, other = (catalogue.get(name).run(evidence(calls, gamma)) for calls in (told, shuffled))
    assert one["policy"] == other["policy"]
    for state, values in one["artifact"]["q"].items():
        assert other["artifact"]["q"][state] == pytest.approx(values, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", ["monte-carlo", "value-iteration", "q-learning", "sarsa", "td-lambda"])
@settings(deadline=None, max_examples=8)
@given(told=calls(looping=False), gamma=GAMMA)
def test_outcomes_in_another_unit_give_the_same_table(name, told, gamma):
    one, other = (catalogue.get(name).run(evidence(told, gamma, scale=scale)) for scale in (1.0, 8.0))
    assert one["policy"] == other["policy"]
    for state, value in one["value"].items():
        assert other["value"][state] == pytest.approx(8.0 * value, rel=1e-9, abs=1e-6)


@settings(deadline=None, max_examples=25)
@given(told=ANY, gamma=GAMMA)
def test_monte_carlo_is_the_mean_of_what_followed(told, gamma):
    log = evidence(told, gamma)
    returns = defaultdict(list)
    for row in log.transitions():
        returns[row.state, row.move].append(row.ret)
    found = catalogue.get("monte-carlo").run(log)["artifact"]["q"]
    assert {(state, move) for state, values in found.items() for move in values} == returns.keys()
    for (state, move), told_returns in returns.items():
        assert found[state][move] == pytest.approx(np.mean(told_returns), rel=1e-9, abs=1e-9)


@settings(deadline=None, max_examples=25)
@given(told=ANY, gamma=st.sampled_from([0.9, 0.0]), least=st.integers(1, 2))
def test_planning_solves_its_equation_and_both_ways_agree(told, gamma, least):
    log = evidence(told, gamma)
    try:
        swept, improved = (
            catalogue.get(name).run(log, {"min_visits": least, "tol": 1e-12})
            for name in ("value-iteration", "policy-iteration")
        )
    except NotEnoughEvidence:
        return
    assert swept["diagnostics"]["converged"]
    assert improved["diagnostics"]["converged"]
    seen = visits(told)
    for state, values in swept["artifact"]["q"].items():
        assert improved["artifact"]["q"][state] == pytest.approx(values, abs=1e-6)
        if least > 1:
            continue
        best = {at: max(q.values()) for at, q in swept["artifact"]["q"].items()}
        for move, value in values.items():
            targets = [
                reward + gamma * terminal + (gamma * best[turns[t + 1][0]] if t + 1 < len(turns) else 0.0)
                for turns in told
                for t, (at, made, reward, terminal) in enumerate(turns)
                if (at, made) == (state, move)
            ]
            assert len(targets) == seen[state, move]
            assert value == pytest.approx(np.mean(targets), abs=1e-6)


@settings(deadline=None, max_examples=25)
@given(counts=st.lists(st.integers(1, 4), min_size=3, max_size=3))
def test_ties_go_to_the_first_move_of_the_world(counts):
    told = [[("0:5:none", move, 0.0, 40.0)] for move, n in zip(MOVES, counts, strict=True) for _ in range(n)]
    for name in ("monte-carlo", "value-iteration", "policy-iteration"):
        assert catalogue.get(name).run(evidence(told[::-1]))["policy"] == {"0:5:none": "greet"}
    most = MOVES[counts.index(max(counts))]
    assert catalogue.get("behaviour-clone").run(evidence(told))["policy"] == {"0:5:none": most}
