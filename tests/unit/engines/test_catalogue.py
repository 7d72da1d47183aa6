"""The engines that learn from a log: golden tables, values worked out by hand, and what each must equal in a limit."""

import json
import math
from pathlib import Path

import pytest

from pytest_evalharness.engines import catalogue, worlds
from pytest_evalharness.engines.catalogue.log import Log
from pytest_evalharness.engines.catalogue.replay import replay, row_by_row
from pytest_evalharness.engines.catalogue.unrolled import levels
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.engines.worlds.playing import simulate
from pytest_evalharness.errors import NotEnoughEvidence, UsageError

GOLDEN = Path(__file__).parents[2] / "golden" / "engines"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())["engines_b"]
TABLE = EXPECTED["monte-carlo"]["policy"]


@pytest.fixture(scope="module")
def log_b():
    return Evidence.load(GOLDEN / "log_b_empirical.json")


def fitted(name, evidence, **params):
    return catalogue.get(name).run(evidence, params)


def evidence(*calls, moves=("greet", "close"), gamma=1.0, **more):
    """Calls told as [(state, move), …, outcome]."""
    rows = [
        {
            "episode_id": f"c{at}",
            "t": t,
            "state": state,
            "move": move,
            "terminal": call[-1] if t == len(call) - 2 else 0.0,
            "ret": gamma ** (len(call) - 1 - t) * call[-1],
        }
        for at, call in enumerate(calls)
        for t, (state, move) in enumerate(call[:-1])
    ]
    return Evidence.from_dict({"moves": list(moves), "mdp": {"discount": gamma}, "transitions": rows, **more})


# ------------------------------------------------------------------- golden


@pytest.mark.parametrize("name", ["monte-carlo", "value-iteration", "policy-iteration"])
def test_values_are_those_of_an_independent_program(log_b, name):
    result = fitted(name, log_b)
    golden = EXPECTED["monte-carlo" if name == "monte-carlo" else "value-iteration"]
    assert result["artifact"]["q"].keys() == golden["q"].keys()
    for state, values in golden["q"].items():
        assert result["artifact"]["q"][state] == pytest.approx(values, rel=1e-9, abs=1e-9)
    assert result["policy"] == golden["policy"]


@pytest.mark.parametrize("name", ["sarsa", "q-learning", "td-lambda", "behaviour-clone"])
def test_tables_are_those_of_an_independent_program(log_b, name):
    golden = {"sarsa": "sarsa-limit", "behaviour-clone": "behaviour-clone"}.get(name, "value-iteration")
    assert fitted(name, log_b)["policy"] == EXPECTED[golden]["policy"]


def test_states_without_a_move_tried_often_enough_are_left_out(log_b):
    result = fitted("monte-carlo", log_b, min_visits=2)
    assert result["policy"] == EXPECTED["monte-carlo,min_visits=2"]["policy"]
    assert result["diagnostics"]["left_to_today"] == 2


@pytest.mark.parametrize("name", ["dpo", "reward-model"])
def test_engines_of_preferences_decide_where_two_moves_were_compared(log_b, name):
    result = fitted(name, log_b)
    assert result["policy"] == {state: move for state, move in TABLE.items() if state != "3:8:none"}
    assert result["diagnostics"]["pairs"] == len(EXPECTED["preference_pairs_best_return"])
    assert result["diagnostics"]["pairs_won"] == 1.0


# ------------------------------------------------------------------ by hand

START, LATER = "0:5:none", "1:5:none"


def test_an_outcome_arrives_one_step_after_the_last_turn():
    log = evidence([(START, "greet"), (LATER, "close"), 100], gamma=0.9)
    for name in ("monte-carlo", "value-iteration", "policy-iteration"):
        q = fitted(name, log)["artifact"]["q"]
        assert q[START]["greet"] == pytest.approx(81.0)
        assert q[LATER]["close"] == pytest.approx(90.0)


def test_one_epoch_of_q_learning_by_hand():
    # c0: close ends at 100. c1: greet leads to where close is worth 10 by then.
    log = evidence([(LATER, "close"), 100], [(START, "greet"), (LATER, "greet"), 40], gamma=0.5)
    q = fitted("q-learning", log, alpha=0.2, epochs=1)["artifact"]["q"]
    assert q[LATER]["close"] == pytest.approx(0.2 * 50)
    assert q[START]["greet"] == pytest.approx(0.2 * 0.5 * 10)
    assert q[LATER]["greet"] == pytest.approx(0.2 * 20)


def test_one_epoch_of_sarsa_by_hand():
    log = evidence(
        [(LATER, "close"), 100], [(START, "greet"), (LATER, "greet"), 40], [(START, "greet"), (LATER, "close"), 0]
    )  # fmt: skip
    q = fitted("sarsa", log, alpha=0.5, epochs=1)["artifact"]["q"]
    assert q[LATER] == pytest.approx({"greet": 20.0, "close": 25.0})
    assert q[START]["greet"] == pytest.approx(25.0)  # 0, then half the way to close's 50


def test_traces_reach_back_within_a_call():
    log = evidence([(START, "greet"), (LATER, "close"), 100], gamma=0.9)
    q = fitted("td-lambda", log, alpha=0.5, epochs=1, **{"lambda": 0.5})["artifact"]["q"]
    assert q[LATER]["close"] == pytest.approx(45.0)
    assert q[START]["greet"] == pytest.approx(0.5 * 90 * 0.9 * 0.5)


def test_traces_of_a_pair_that_comes_again_add_up():
    log = evidence([(START, "greet"), (START, "greet"), 100])
    q = fitted("td-lambda", log, alpha=0.1, epochs=1, **{"lambda": 1.0})["artifact"]["q"]
    assert q[START]["greet"] == pytest.approx(0.1 * 100 * 2)


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_small_steps_lead_to_the_fixed_points(log_b, gamma):
    told = log_b.to_dict() | {"mdp": {"discount": gamma}}
    log = Evidence.from_dict(told)
    small = {"alpha": 2e-3, "epochs": 4000}
    planned = fitted("value-iteration", log)
    learned = fitted("q-learning", log, **small)
    counted = fitted("monte-carlo", log)
    traced = fitted("td-lambda", log, **small, **{"lambda": 1.0})
    for state in planned["policy"]:
        assert learned["artifact"]["q"][state] == pytest.approx(planned["artifact"]["q"][state], abs=0.5)
        assert traced["artifact"]["q"][state] == pytest.approx(counted["artifact"]["q"][state], abs=0.5)


def test_no_trace_is_sarsa(log_b):
    traced = fitted("td-lambda", log_b, **{"lambda": 0.0})
    assert traced["artifact"]["q"] == fitted("sarsa", log_b)["artifact"]["q"]


def test_ties_go_to_the_first_move_even_where_rounding_differs():
    # 0.1 + 0.2 is not 0.3, and neither is a better outcome
    split = [[(START, "close"), one] for one in (0.1, 0.2, 0.3)]
    whole = [[(START, "greet"), 0.2]] * 3
    result = fitted("monte-carlo", evidence(*split, *whole))
    assert result["policy"] == {START: "greet"}


def test_untried_moves_are_not_chosen_although_all_tried_ones_lost():
    log = evidence([(START, "close"), -5.0], moves=("greet", "close"))
    for name in (*catalogue.FROM_A_LOG[:6], catalogue.SANITY):
        assert fitted(name, log)["policy"] == {START: "close"}


def test_what_no_table_will_know_is_worth_what_today_does_there():
    # LATER was seen twice, each move once: with two visits asked for, today's agent goes on there, worth 50 on average.
    calls = [[(START, "greet"), (LATER, "greet"), 100], [(START, "greet"), (LATER, "close"), 0]]
    log = evidence(*calls)
    assert fitted("value-iteration", log)["value"][START] == pytest.approx(100.0)
    for name in ("value-iteration", "policy-iteration"):
        assert fitted(name, log, min_visits=2)["value"] == pytest.approx({START: 50.0})
    assert fitted("q-learning", log, min_visits=2, alpha=0.01, epochs=2000)["value"][START] == pytest.approx(
        50.0, abs=1.0
    )


def test_a_weaker_hold_on_today_lets_preferences_decide():
    often = [[(START, "greet"), 0.0]] * 30
    log = evidence(*often, [(START, "close"), 100.0])
    assert fitted("dpo", log, epochs=20)["policy"] == {START: "greet"}
    assert fitted("dpo", log, l2=1.0)["policy"] == {START: "greet"}
    assert fitted("dpo", log)["policy"] == {START: "close"}
    assert fitted("reward-model", log)["policy"] == {START: "close"}


def test_scores_are_the_maximum_of_the_penalised_likelihood():
    # One pair: the best r has r_w = -r_l and sigma(-2 r_w) = l2 r_w.
    log = evidence([(START, "greet"), 0.0], [(START, "close"), 100.0])
    q = fitted("reward-model", log, l2=0.1)["artifact"]["q"][START]
    assert q["greet"] == pytest.approx(-q["close"])
    assert 1 / (1 + math.exp(2 * q["close"])) == pytest.approx(0.1 * q["close"], rel=1e-9)


def test_loops_are_planned_through():
    # From START greet comes back half of the time, else wins; close ends at 40 at once.
    log = evidence([(START, "greet"), (START, "greet"), 100.0], [(START, "close"), 40.0])
    for name in ("value-iteration", "policy-iteration"):
        result = fitted(name, log)
        assert result["value"][START] == pytest.approx(100.0, abs=1e-6)
        assert result["diagnostics"]["converged"] is True


@pytest.mark.parametrize("rule", ["q-learning", "sarsa", "td-lambda"])
@pytest.mark.parametrize("least", [1, 8])
def test_a_whole_log_at_once_is_what_it_is_row_by_row(rule, least):
    log = Log.of(simulate(worlds.named("acme"), 300, 1))
    knobs = {"alpha": 0.13, "epochs": 6, "min_visits": least, "trace": 0.7}
    assert levels(log) is not None
    assert replay(log, rule, **knobs) == pytest.approx(row_by_row(log, rule, **knobs), rel=1e-9, abs=1e-9)


# ------------------------------------------------------------- the catalogue


def test_the_fourteen_are_listed_with_all_that_a_form_needs():
    engines = catalogue.all()
    assert [one.name for one in engines] == [*catalogue.FROM_A_LOG, *catalogue.IN_A_SIMULATOR]
    for one in engines:
        told = one.as_dict()
        assert all(
            told[word]
            for word in ("label", "family", "learns_from", "about", "params", "equation", "symbols")
        )
        assert all(knob["label"] and knob["help"] for knob in told["params"])
        assert json.loads(json.dumps(told)) == told
        assert one.built_in
        assert [one.family, one.learns_from, one.about, one.equation] == [
            told[word] for word in ("family", "learns_from", "about", "equation")
        ]
        assert [knob.name for knob in one.params] == [knob["name"] for knob in told["params"]]


def test_an_unknown_engine_is_met_with_the_nearest_name():
    with pytest.raises(UsageError, match="did you mean 'q-learning'"):
        catalogue.get("q-lerning")


def test_nothing_tried_often_enough_is_too_little_evidence(log_b):
    with pytest.raises(NotEnoughEvidence, match="often enough"):
        fitted("monte-carlo", log_b, min_visits=100)


def test_pairs_of_moves_that_were_not_tried_are_too_little_evidence():
    log = evidence([(START, "greet"), 0.0], named_pairs=[(START, "close", "greet")])
    with pytest.raises(NotEnoughEvidence, match="tried"):
        fitted("reward-model", log)


@pytest.mark.parametrize("name", [*catalogue.FROM_A_LOG[:6], catalogue.SANITY])
def test_a_reward_that_is_no_number_is_told_with_its_call(name):
    log = evidence([(START, "greet"), 1.0], [(START, "close"), 0.0])
    log.document.transitions[1].terminal = math.nan  # a file or a dictionary with it is refused before
    with pytest.raises(NotEnoughEvidence, match=r"call 'c1', turn 0.*no number"):
        fitted(name, log)
