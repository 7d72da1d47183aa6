"""Every estimator against numbers that an independent program computed, with exact fractions behind them."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from pytest_evalharness.engines.evidence.rows import Row
from pytest_evalharness.engines.ope.calls import Calls, TerminalDiscount
from pytest_evalharness.engines.ope.fqe import Evaluation
from pytest_evalharness.engines.ope.importance import Weighted
from pytest_evalharness.engines.ope.resampling import counts, interval
from pytest_evalharness.engines.ope.scoring import score
from pytest_evalharness.engines.ope.tally import Cells
from pytest_evalharness.engines.ope.target import Target
from pytest_evalharness.engines.ope.wdr import Corrections

GOLDEN = Path(__file__).parents[2] / "golden" / "engines"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
# The expected numbers name their tables; what they decide is told in words beside them, and by the values of their states.
TABLES = {
    "a": {
        "mine": {"0:5:none": "greet", "1:5:price": "propose_viewing"},
        "no_overlap": {"0:5:none": "propose_viewing", "1:5:price": "propose_viewing"},
        "knows_nothing": {},
    },
    "b": {
        "sensible": {
            "0:2:none": "greet",
            "0:5:price": "handle_objection",
            "1:5:price": "handle_objection",
            "1:8:none": "propose_viewing",
            "2:8:none": "propose_viewing",
        },
        "guessing": {
            "0:2:none": "greet",
            "0:5:price": "handle_objection",
            "1:8:none": "greet",
            "2:8:none": "propose_viewing",
        },
        "contrary": {"0:2:none": "handle_objection", "0:5:price": "propose_viewing"},
    },
    "f": {"mine": {"1:5:price": "propose_viewing"}},
}
GAMMAS = {"gamma=1": 1.0, "gamma=0.9": 0.9, "gamma=0.9,terminal_discount=last_turn": 0.9}
NAMES = {"ess": "ess", "matched_calls": "matched"}


def turns(told):
    return msgspec.convert(told, list[Row])


def log(name, *, key="gamma=1"):
    document = json.loads((GOLDEN / f"log_{name}.json").read_text())
    late = TerminalDiscount.LAST_TURN if "last_turn" in key else TerminalDiscount.ARRIVAL
    return Calls.from_rows(
        turns(document["transitions"]), document["moves"], gamma=GAMMAS[key], terminal_discount=late
    )


def target(calls, which, policy):
    if policy in ("today", "random"):
        return getattr(Target, policy)(calls)
    return Target.table(calls, TABLES[which][policy])


def close(value):
    return None if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)


CASES = [
    (name, key, policy)
    for name in ("a_logged", "a_empirical", "b_logged", "b_empirical")
    for key, policies in EXPECTED[name].items()
    for policy in policies
]


@pytest.mark.parametrize(("name", "key", "policy"), CASES)
def test_logs_a_and_b(name, key, policy):
    calls, expected = log(name, key=key), EXPECTED[name][key][policy]
    found = score(calls, {"it": target(calls, name[0], policy)}, resamples=0)["it"]
    told = {**found.values, **{theirs: getattr(found, ours) for theirs, ours in NAMES.items()}}
    compared = set(told) & set(expected)
    assert compared >= {"pdwis", "dm", "dr"}
    assert {name: told[name] for name in compared} == {name: close(expected[name]) for name in compared}
    assert found.fitted is not None
    values = dict(zip(calls.states, found.fitted.v[:, 0], strict=True))
    assert expected.get("v", values) == {state: close(value) for state, value in values.items()}


@pytest.mark.parametrize("policy", ["today", "mine"])
def test_log_f_goes_above_every_outcome(policy):
    calls, expected = log("f_range"), EXPECTED["f_range"][policy]
    found = score(calls, {"it": target(calls, "f", policy)}, resamples=0)["it"]
    assert found.values == {name: close(expected[name]) for name in found.values}
    assert found.ess == close(expected["ess"])


def test_fitted_values_of_cells():
    calls = log("b_empirical")
    cells = Cells.of(calls)
    fitted = Evaluation(cells, target(calls, "b", "sensible")).fit(cells.tally(np.ones((len(calls), 1))))
    values = fitted.q(np.arange(len(cells)))[:, 0]
    expected = EXPECTED["b_empirical"]["gamma=1"]["sensible"]
    for state, moves in expected["q"].items():
        for move, value in moves.items():
            cell = cells.at[calls.states.index(state), calls.moves.index(move)]
            if f"{state}|{move}" in expected["q_guessed"]:
                assert cell == -1
            else:
                assert values[cell] == close(value)


@pytest.mark.parametrize(("name", "policy"), [("a_logged", "mine"), ("b_empirical", "sensible")])
def test_resamples_that_are_written_out(name, policy):
    expected = EXPECTED[f"{name[0]}_bootstrap_explicit"]
    calls = log(name)
    assert list(calls.ids) == expected["calls_in_order"]
    drawn = np.array([np.bincount(one, minlength=len(calls)) for one in expected["draws"]], float).T
    cells, chosen = Cells.of(calls), target(calls, name[0], policy)
    weighted = Weighted.of(calls, chosen)
    fitted = Evaluation(cells, chosen).fit(cells.tally(drawn))
    found = {
        "pdwis": weighted.pdwis(weighted.sums(drawn)),
        "dm": fitted.dm,
        "dr": Corrections(cells, weighted).wdr(drawn, weighted.sums(drawn), fitted),
    }
    for estimator, values in expected["per_resample"].items():
        assert [None if np.isnan(one) else one for one in found[estimator]] == [close(one) for one in values]
    today = Weighted.of(calls, Target.today(calls))
    assert today.pdwis(today.sums(drawn)) == pytest.approx(expected["today_per_resample"])


@pytest.mark.parametrize("resamples", [200, 1000])
def test_intervals_with_the_published_seeding(resamples):
    expected = EXPECTED["b_bootstrap_pcg64"][f"B={resamples},seed=0"]
    calls = log("b_empirical")
    policies = {name: target(calls, "b", name) for name in ("today", "random", "sensible")}
    found = score(calls, policies, resamples=resamples, seed=0)
    mine = found["sensible"]
    for estimator in ("pdwis", "dm", "dr"):
        assert np.isfinite(mine.draws[estimator]).sum() == expected["finite"][estimator]
        assert mine.interval(estimator) == pytest.approx(expected["ci"][estimator], rel=1e-9)
        for baseline in ("today", "random"):
            lifts = interval(mine.lifts(estimator, found[baseline]))
            assert lifts == pytest.approx(expected[f"lift_vs_{baseline}_ci"][estimator], rel=1e-9)
    first = next(counts(len(calls), resamples, 0))[:, 0]
    assert first.tolist() == expected["first_draw_counts"]


# ------------------------------------------------------------ lessons that are told in words


def rows(*calls, propensity=0.5):
    return [
        {
            "episode_id": f"g{at}",
            "t": turn,
            "state": state,
            "move": move,
            "propensity": propensity,
            "terminal": outcome if turn == len(turns) - 1 else 0.0,
        }
        for at, (turns, outcome) in enumerate(calls)
        for turn, (state, move) in enumerate(turns)
    ]


def test_a_table_whose_calls_never_end_has_no_modelled_value():
    looping = [("0:5:none", "wait"), ("0:5:none", "close")]
    calls = Calls.from_rows(turns(rows((looping, 100.0), (looping, 40.0))), ["wait", "close"])
    waits = Target.table(calls, {"0:5:none": "wait"})
    closes = Target.table(calls, {"0:5:none": "close"})
    found = score(calls, {"waits": waits, "closes": closes}, resamples=20)
    assert found["waits"].values["dm"] is None
    assert found["waits"].values["dr"] is None
    assert found["waits"].unterminated == 1.0
    assert found["waits"].interval("dm") is None
    assert found["closes"].values["dm"] == pytest.approx(70.0)
    assert found["closes"].unterminated == 0.0


def test_all_estimators_agree_and_are_wrong_where_the_agent_heard_what_the_state_does_not_hold():
    """Keen customers are proposed to; proposing costs everybody ten points of win rate. True lift of always proposing: -5."""
    told = []
    keen, others = [("propose", 80, 180), ("talk", 90, 20)], [("propose", 0, 20), ("talk", 10, 180)]
    for move, won, games in keen + others:
        wins = round(games * won / 100)
        told += [([("0:5:none", move)], 100.0)] * wins + [([("0:5:none", move)], 0.0)] * (games - wins)
    calls = Calls.from_rows(turns(rows(*told)), ["propose", "talk"])
    found = score(
        calls,
        {"today": Target.today(calls), "propose": Target.table(calls, {"0:5:none": "propose"})},
        resamples=200,
    )
    for estimator in ("pdwis", "dm", "dr"):
        assert found["propose"].values[estimator] == pytest.approx(72.0)
        assert found["propose"].lift(estimator, found["today"]) > 15
    assert interval(found["propose"].lifts("pdwis", found["today"]))[0] > 0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"propensity": None}, "a propensity is above 0 and at most 1, not None"),
        ({"propensity": 0.0}, "not 0.0"),
        ({"propensity": float("nan")}, "not nan"),
        ({"move": "dance"}, "'dance' is none of the world's moves"),
        ({"terminal": float("inf")}, "a reward that is no number"),
    ],
)
def test_rows_that_cannot_be_weighed(row, message):
    told = turns(rows(([("0:5:none", "talk")], 1.0)))
    with pytest.raises(ValueError, match=message):
        Calls.from_rows([msgspec.structs.replace(told[0], **row)], ["talk"])


def test_no_call_and_no_discount():
    with pytest.raises(ValueError, match="there is no call"):
        Calls.from_rows([], ["talk"])
    with pytest.raises(ValueError, match=r"between 0 and 1, not 1\.5"):
        Calls.from_rows([], ["talk"], gamma=1.5)
