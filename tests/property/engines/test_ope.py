"""The vectorised estimators against loops that are written from the formulas, and what must hold on any log."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalharness.engines.evidence.rows import Row
from pytest_evalharness.engines.ope.calls import Calls
from pytest_evalharness.engines.ope.resampling import interval, simultaneous
from pytest_evalharness.engines.ope.scoring import ESTIMATORS, score
from pytest_evalharness.engines.ope.target import Target

MOVES = ["greet", "talk", "close"]
STATES = [f"{stage}:5:none" for stage in range(3)]


@st.composite
def logs(draw, *, looping=True):
    """Rows of a few calls; with `looping` a state can come again within a call."""
    told = []
    for call in range(draw(st.integers(1, 6))):
        length = draw(st.integers(1, 3))
        for turn in range(length):
            state = draw(st.sampled_from(STATES)) if looping else STATES[turn]
            told.append(
                {
                    "episode_id": f"c{call}",
                    "t": turn * draw(st.sampled_from([1, 2])) + turn,
                    "state": state,
                    "move": draw(st.sampled_from(MOVES)),
                    "propensity": draw(st.sampled_from([0.25, 0.5, 1.0])),
                    "reward": draw(st.sampled_from([0.0, 1.0])),
                    "penalty": draw(st.sampled_from([0.0, 2.0])),
                    "terminal": draw(st.sampled_from([0.0, 40.0, 100.0])) if turn == length - 1 else 0.0,
                }
            )
    return told


TABLES = st.dictionaries(st.sampled_from(STATES), st.sampled_from(MOVES))
GAMMA = st.sampled_from([1.0, 0.9, 0.0])


def from_rows(told, moves, **more):
    return Calls.from_rows(msgspec.convert(told, list[Row]), moves, **more)


def by_call(rows):
    calls = {}
    for row in rows:
        calls.setdefault(row["episode_id"], []).append(row)
    return [sorted(call, key=lambda row: row["t"]) for call in calls.values()]


def earned(call, gamma):
    return [
        row["reward"] - row["penalty"] + (gamma * row["terminal"] if row is call[-1] else 0.0) for row in call
    ]


def plain(rows, table, gamma):
    """PDWIS, PDIS, WIS and the effective sample size in loops."""
    calls = by_call(rows)
    horizon = max(map(len, calls))
    weights, paid = [], []
    for call in calls:
        held, of_call = 1.0, []
        for row in call:
            chosen = table.get(row["state"])
            held *= 1.0 if chosen is None else (row["move"] == chosen) / row["propensity"]
            of_call.append(held)
        weights.append(of_call + [held] * (horizon - len(call)))
        paid.append(earned(call, gamma) + [0.0] * (horizon - len(call)))
    pdwis = 0.0
    for step in range(horizon):
        total = sum(weight[step] for weight in weights)
        above = sum(weight[step] * x[step] for weight, x in zip(weights, paid, strict=True))
        pdwis += gamma**step * above / total if total else math.nan
    pdis = sum(
        gamma**t * weight[t] * x[t]
        for weight, x in zip(weights, paid, strict=True)
        for t in range(horizon)
    ) / len(calls)  # fmt: skip
    last = [weight[-1] for weight in weights]
    returns = [sum(gamma**t * x for t, x in enumerate(of_call)) for of_call in paid]
    wis = sum(w * g for w, g in zip(last, returns, strict=True)) / sum(last) if sum(last) else None
    ess = sum(last) ** 2 / sum(w * w for w in last) if sum(last) else 0.0
    return {"pdwis": None if math.isnan(pdwis) else pdwis, "pdis": pdis, "wis": wis}, ess


def close(value):
    return None if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)


@given(logs(), TABLES, GAMMA)
def test_importance_sampling_is_the_formula(rows, table, gamma):
    calls = from_rows(rows, MOVES, gamma=gamma)
    found = score(calls, {"it": Target.table(calls, table)}, resamples=0)["it"]
    expected, ess = plain(rows, table, gamma)
    assert {name: found.values[name] for name in expected} == {
        name: close(value) for name, value in expected.items()
    }
    assert found.ess == close(ess)


def modelled(rows, table, gamma):
    """The direct method and the doubly robust estimate in loops, where no state comes again within a call."""
    calls = by_call(rows)
    flat = [
        (row, x, call[at + 1]["state"] if at + 1 < len(call) else None, sum(
            gamma ** (later - at) * earned(call, gamma)[later] for later in range(at, len(call))))
        for call in calls
        for at, (row, x) in enumerate(zip(call, earned(call, gamma), strict=True))
    ]  # fmt: skip
    mean_return = sum(to_go for row, _, _, to_go in flat if row in [call[0] for call in calls]) / len(calls)

    def q(state, move):
        own = [
            x + gamma * (v(after) if after else 0.0)
            for row, x, after, _ in flat
            if (row["state"], row["move"]) == (state, move)
        ]
        if own:
            return sum(own) / len(own)
        there = [to_go for row, _, _, to_go in flat if row["state"] == state]
        return sum(there) / len(there) if there else mean_return

    def v(state):
        if state in table:
            return q(state, table[state])
        there = [row["move"] for row, _, _, _ in flat if row["state"] == state]
        return sum(q(state, move) for move in there) / len(there)

    dm = sum(v(call[0]["state"]) for call in calls) / len(calls)
    horizon = max(map(len, calls))
    weights = []
    for call in calls:
        held, of_call = 1.0, []
        for row in call:
            chosen = table.get(row["state"])
            held *= 1.0 if chosen is None else (row["move"] == chosen) / row["propensity"]
            of_call.append(held)
        weights.append(of_call + [held] * (horizon - len(call)))
    dr = 0.0
    for step in range(horizon):
        total = sum(weight[step] for weight in weights)
        before = sum(weight[step - 1] for weight in weights) if step else len(calls)
        for call, weight in zip(calls, weights, strict=True):
            if step < len(call):
                row = call[step]
                share = weight[step] / total if total else 0.0
                earlier = (weight[step - 1] if step else 1.0) / before if before else 0.0
                x = earned(call, gamma)[step]
                dr += gamma**step * (share * (x - q(row["state"], row["move"])) + earlier * v(row["state"]))
    return dm, dr


@given(logs(looping=False), TABLES, GAMMA)
@settings(deadline=None)
def test_the_model_and_the_doubly_robust_estimate_are_the_formulas(rows, table, gamma):
    calls = from_rows(rows, MOVES, gamma=gamma)
    found = score(calls, {"it": Target.table(calls, table)}, resamples=0)["it"]
    dm, dr = modelled(rows, table, gamma)
    assert (found.values["dm"], found.values["dr"]) == (close(dm), close(dr))


@given(logs())
def test_today_is_worth_the_mean_return(rows):
    calls = from_rows(rows, MOVES)
    today = score(calls, {"today": Target.today(calls)}, resamples=0)["today"]
    assert [today.values[name] for name in ESTIMATORS] == [close(float(calls.returns.mean()))] * len(
        ESTIMATORS
    )
    assert (today.ess, today.mean_weight) == (close(len(calls)), close(1.0))


@given(logs(), TABLES, st.randoms(use_true_random=False))
def test_the_order_of_calls_and_of_rows_changes_nothing(rows, table, random):
    mixed = list(rows)
    random.shuffle(mixed)
    found = []
    for order in (rows, mixed):
        calls = from_rows(order, MOVES)
        found.append(score(calls, {"it": Target.table(calls, table)}, resamples=0)["it"])
    assert found[1].values == {name: close(value) for name, value in found[0].values.items()}
    assert found[1].ess == close(found[0].ess)


@given(logs(), TABLES, GAMMA, st.sampled_from([0.5, 3.0]))
def test_outcomes_in_another_unit_are_worth_as_much_more(rows, table, gamma, unit):
    scaled = [{**row, **{k: unit * row[k] for k in ("reward", "penalty", "terminal")}} for row in rows]
    found = []
    for told in (rows, scaled):
        calls = from_rows(told, MOVES, gamma=gamma)
        found.append(score(calls, {"it": Target.table(calls, table)}, resamples=0)["it"])
    assert found[1].values == {
        name: close(value if value is None else unit * value) for name, value in found[0].values.items()
    }
    assert found[1].ess == close(found[0].ess)


@given(logs(), TABLES, GAMMA)
def test_a_move_that_nobody_makes_changes_nothing(rows, table, gamma):
    found = []
    for moves in (MOVES, [*MOVES, "sing"]):
        calls = from_rows(rows, moves, gamma=gamma)
        found.append(score(calls, {"it": Target.table(calls, table)}, resamples=0)["it"])
    assert found[1].values == {name: close(value) for name, value in found[0].values.items()}


@given(logs(), TABLES, st.sampled_from([0.0, 0.25, 1.0]))
def test_leaning_goes_from_today_to_the_table(rows, table, lean):
    calls = from_rows(rows, MOVES)
    ends = {"today": Target.today(calls), "table": Target.table(calls, table)}
    found = score(calls, {**ends, "lean": Target.table(calls, table, lean=lean)}, resamples=5)
    if lean in (0.0, 1.0):
        same = found["today" if lean == 0.0 else "table"]
        assert found["lean"].values == {name: close(value) for name, value in same.values.items()}
    else:
        assert found["lean"].values["pdwis"] is not None  # today's own calls always overlap with a blend
        assert found["lean"].ess > 0


@given(logs(), TABLES, st.integers(0, 3))
@settings(deadline=None)
def test_other_policies_beside_it_change_no_number(rows, table, seed):
    calls = from_rows(rows, MOVES)
    mine = Target.table(calls, table)
    alone = score(calls, {"it": mine}, resamples=7, seed=seed)["it"]
    beside = score(calls, {"random": Target.random(calls), "it": mine}, resamples=7, seed=seed)["it"]
    assert alone.values == beside.values
    assert all(np.array_equal(alone.draws[n], beside.draws[n], equal_nan=True) for n in ESTIMATORS)


def test_blocks_of_resamples_are_only_a_matter_of_memory(monkeypatch):
    from pytest_evalharness.engines.ope import resampling

    whole = np.concatenate(list(resampling.counts(50, 23, 4)), axis=1)
    monkeypatch.setattr(resampling, "_BLOCK_BYTES", 8 * 50 * 5)
    blocks = list(resampling.counts(50, 23, 4))
    assert len(blocks) == 5
    assert np.array_equal(np.concatenate(blocks, axis=1), whole)
    assert (whole.sum(axis=0) == 50).all()


@given(st.integers(2, 5), st.integers(0, 5))
def test_intervals_for_all_at_once_are_wider_and_hold_together(policies, seed):
    rng = np.random.default_rng(seed)
    lifts = rng.normal(size=policies)
    draws = lifts[:, None] + rng.normal(size=(policies, 400))
    together = simultaneous(lifts, draws)
    inside = np.ones(400, bool)
    for (low, high), row in zip(together, draws, strict=True):
        inside &= (row >= low) & (row <= high)
    assert 0.93 <= inside.mean() <= 1.0
    assert np.mean([high - low for low, high in together]) > np.mean(
        [np.subtract(*interval(row)[::-1]) for row in draws]
    )


def test_an_interval_for_all_at_once_where_one_has_none():
    draws = np.array([[1.0, 2.0, 3.0, 4.0], [np.nan] * 4, [0.0] * 4])
    found = simultaneous(np.array([2.5, np.nan, 0.0]), draws)
    assert found[0][0] < 1.1
    assert found[1] is None
    assert found[2] == (0.0, 0.0)
    assert simultaneous(np.array([0.0]), np.zeros((1, 4))) == [(0.0, 0.0)]
