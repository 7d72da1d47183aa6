"""The estimators on a world whose values are known: errors fall as 1/sqrt(n), and intervals cover as far as the overlap goes."""

from dataclasses import replace

import numpy as np
import pytest

from pytest_evalharness.engines import worlds
from pytest_evalharness.engines.ope.resampling import interval
from pytest_evalharness.engines.ope.scoring import ESTIMATORS, score
from pytest_evalharness.engines.ope.target import Target
from pytest_evalharness.engines.worlds.playing import play

WORLD = worlds.named("acme-small")
EARLY = {state: "build_trust" for state in WORLD.states if state.startswith("0:")}
"""Decides the first turn alone: much overlap."""
LATE = {state: "propose_viewing" for state in WORLD.states if state.startswith("3:")}
TABLES = {"early": EARLY, "late": LATE, "best": WORLD.best, "worst": WORLD.worst}


def targets(calls, tables):
    return {name: Target.table(calls, table) for name, table in tables.items()} | {
        "today": Target.today(calls)
    }


def errors(n, replicates, *, empirical):
    """The error of each estimate of each policy in each replicate."""
    found = {}
    for replicate in range(replicates):
        rng = np.random.default_rng([n, replicate])
        calls = play(WORLD, WORLD.today, n, rng).calls(empirical=empirical)
        scored = score(
            calls,
            targets(calls, {"early": EARLY, "late": LATE}) | {"random": Target.random(calls)},
            resamples=0,
        )
        for name, one in scored.items():
            true = {"today": WORLD.truth["today"], "random": WORLD.truth["random"]}.get(name)
            true = WORLD.worth_of(TABLES[name]) if true is None else true
            for estimator in ESTIMATORS:
                found.setdefault((name, estimator), []).append(one.values[estimator] - true)
    return {key: np.array(values) for key, values in found.items()}


@pytest.mark.parametrize("empirical", [False, True], ids=["logged", "counted"])
def test_errors_fall_as_one_over_the_square_root_of_the_calls(empirical):
    few, many = 400, 6400
    before = errors(few, 60, empirical=empirical)
    after = errors(many, 30, empirical=empirical)
    fell = {key: np.sqrt(np.mean(before[key] ** 2) / np.mean(missed**2)) for key, missed in after.items()}
    # Sixteen times the calls, a quarter of the error. One ratio of so many replicates is known to a sixth or so.
    assert all(4 / 1.75 < ratio < 4 * 1.75 for ratio in fell.values()), fell
    assert np.median(list(fell.values())) == pytest.approx(4.0, rel=0.25)
    for key, missed in after.items():
        assert abs(missed.mean()) < 4 * missed.std() / np.sqrt(len(missed)) + 0.1, key


@pytest.mark.parametrize("kept", [1, 2, 4])
def test_a_log_of_few_turns_tells_of_a_table_that_decides_those_and_then_today(kept):
    played = play(WORLD, WORLD.today, 60_000, np.random.default_rng(4))
    rows = np.flatnonzero(played.step < kept)
    call, step = played.call[rows], played.step[rows]
    last = np.r_[call[1:] != call[:-1], True]
    calls = replace(
        played.calls(),
        call=call,
        step=step,
        state=played.state[rows],
        move=played.move[rows],
        reward=np.where(
            last, played.terminal[played.last][call], 0.0
        ),  # the outcome is priced on the last kept turn
        propensity=played.propensity[rows],
    )
    scored = score(calls, targets(calls, {"best": WORLD.best}), resamples=20)["best"]
    assert scored.values["pdwis"] == pytest.approx(
        WORLD.worth_of(WORLD.best, turns=kept), abs=4 * scored.draws["pdwis"].std()
    )


@pytest.mark.slow
def test_intervals_cover_the_true_lift_as_far_as_the_overlap_goes():
    truth = {name: WORLD.worth_of(table) - WORLD.truth["today"] for name, table in TABLES.items()}
    seen = []
    for n, replicates in ((60, 60), (100, 120), (300, 120), (1000, 60), (3000, 40)):
        for replicate in range(replicates):
            calls = play(WORLD, WORLD.today, n, np.random.default_rng([n, replicate, 9])).calls()
            scored = score(calls, targets(calls, TABLES), resamples=200, seed=replicate)
            for name, true in truth.items():
                found = interval(scored[name].lifts("pdwis", scored["today"]))
                if found is not None:
                    seen.append((scored[name].ess, found[0] <= true <= found[1]))
    ess, covered = (np.array(column, float) for column in zip(*seen, strict=True))
    thin, wide = ess < 20, ess > 120
    assert min(thin.sum(), wide.sum()) > 300
    assert covered[wide].mean() >= 0.93
    assert covered[thin].mean() < 0.80
