"""Engines of one's own: what is declared, how knobs are cleaned, what is refused, and files that declare them."""

import json
import math
import re
import sys

import numpy as np
import pytest

from pytest_evalharness import BadPolicy, Evidence, NotEnoughEvidence, Param, decision_engine
from pytest_evalharness.engines.catalogue.contract import Declaration, declared
from pytest_evalharness.engines.catalogue.loading import load_engines
from pytest_evalharness.engines.catalogue.results import load_table
from pytest_evalharness.errors import EngineFailed, UsageError

EVIDENCE = {
    "moves": ["greet", "close"],
    "transitions": [
        {"episode_id": "a", "state": "0:5:none", "move": "greet", "terminal": 100.0, "ret": 100.0, "propensity": 0.5}
    ],
}  # fmt: skip


@pytest.fixture
def log():
    return Evidence.from_dict(EVIDENCE)


def returning(result, name="mine", **more):
    """A fresh engine that returns this whatever it is given."""

    def fit(evidence, params):
        return result

    fit.__qualname__ = f"fit_{name}"
    return decision_engine(name, **more)(fit)


# -------------------------------------------------------------------- knobs

ALPHA = Param("alpha", "Strength", "number", 1.0, 0.1, 100)
COUNT = Param("count", "Count", "int", 3, 1, 9)
KIND = Param("kind", "Kind", "choice", "a", choices=("a", "b"))


@pytest.mark.parametrize(
    ("param", "raw", "cleaned"),
    [
        (ALPHA, 2, 2.0),
        (ALPHA, "2.5", 2.5),
        (ALPHA, 0, 0.1),
        (ALPHA, 1e9, 100.0),
        (ALPHA, math.inf, 100.0),
        (ALPHA, math.nan, 0.1),
        (ALPHA, "many", 1.0),
        (ALPHA, None, 1.0),
        (ALPHA, [], 1.0),
        (COUNT, 4.7, 4),
        (COUNT, "4.7", 3),
        (COUNT, "4", 4),
        (COUNT, 100, 9),
        (COUNT, -math.inf, 1),
        (COUNT, math.nan, 1),
        (Param("free", "Free", "int", 5), math.inf, 5),
        (Param("free", "Free", "number", 5.0), math.nan, 5.0),
        (KIND, "b", "b"),
        (KIND, "c", "a"),
    ],
)
def test_what_is_submitted_becomes_something_usable(param, raw, cleaned):
    found = param.clean(raw)
    assert found == cleaned
    assert type(found) is type(cleaned)


def test_a_value_that_counts_as_another_one_is_told():
    mine = Declaration(
        "mine", "Custom", "episodes", "",
        (Param("rate", "", default=0.1, min=0.0, max=1.0), Param("least", "", "int", 3),
         Param("walk", "", "choice", "up", choices=("up", "down"))),
    )  # fmt: skip
    told = {"rate": "9", "least": "4.7", "walk": "sid\x1bewards", "more": 1}
    assert list(mine.altered(told)) == [
        "rate=9 counts as 1.0", "least=4.7 counts as 3", "walk=sid\ufffdewards counts as up",
    ]  # fmt: skip
    assert list(mine.altered({"rate": "0.50", "least": 4, "walk": "down"})) == []
    assert list(mine.altered(None)) == []


def test_unknown_knobs_are_ignored_and_missing_ones_have_their_defaults(log):
    seen = {}

    @decision_engine("sees-params", params=[ALPHA, COUNT, KIND])
    def fit(evidence, params):
        seen.update(params)
        return {"policy": {"0:5:none": "greet"}}

    fit.run(log, {"alpha": 5, "beta": 1})
    assert seen == {"alpha": 5.0, "count": 3, "kind": "a"}


def test_a_knob_that_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="int, number or choice"):
        Param("x", "X", "text")
    with pytest.raises(ValueError, match="none of"):
        Param("x", "X", "choice", "z", choices=("a",))


# ----------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({}, "mine-1.*'policy'"),
        (None, "mine-1.*'policy'.*NoneType"),
        ({"policy": {}}, "mine-1.*empty"),
        ({"policy": None}, "mine-1.*empty"),
        ({"policy": {"0:5": "greet"}}, "mine-1.*'0:5'"),
        ({"policy": {("0", "5", "x"): "greet"}}, "mine-1.*'0', '5', 'x'"),
        ({"policy": {"0:5:none": "shout"}}, "mine-1.*'shout'.*'0:5:none'"),
        ({"policy": {"0:5:none": 3}}, "mine-1.*3"),
        ({"policy": {"0:5:none": "greet"}, "value": {"0:5:none": "high"}}, "mine-1.*number"),
    ],
)
def test_what_is_no_table_is_refused_by_name(log, result, says):
    with pytest.raises(BadPolicy, match=says) as caught:
        returning(result, "mine-1").run(log)
    assert isinstance(caught.value, ValueError)


def test_states_that_no_call_reached_are_allowed(log):
    result = returning({"policy": {"7:1:unheard": "close"}}).run(log)
    assert result == {"policy": {"7:1:unheard": "close"}, "value": {}, "diagnostics": {}, "artifact": {}}


def test_results_come_back_in_plain_values(log):
    told = {
        "policy": {"0:5:none": np.str_("greet")},
        "value": {"0:5:none": np.float64(2.5), "1:5:none": math.nan},
        "diagnostics": {"n": np.int64(3), "q": np.arange(3.0), 4: {5}, "bad": math.inf, "yes": np.True_},
    }
    result = returning(told).run(log)
    assert json.loads(json.dumps(result, allow_nan=False)) == {
        "policy": {"0:5:none": "greet"},
        "value": {"0:5:none": 2.5},
        "diagnostics": {"n": 3, "q": [0.0, 1.0, 2.0], "4": [5], "bad": None, "yes": True},
        "artifact": {},
    }
    assert type(result["policy"]["0:5:none"]) is str


def test_evidence_of_the_wrong_kind_is_refused_before_the_function_is_called(log):
    called = []

    @decision_engine("wants-pairs", learns_from="preferences")
    def fit(evidence, params):
        called.append(1)

    with pytest.raises(NotEnoughEvidence, match=r"wants-pairs learns from preferences.*transitions 1"):
        fit.run(log)
    with pytest.raises(NotEnoughEvidence, match="acting"):
        returning({}, "acts", learns_from="simulator").run(log)
    assert not called


def test_an_error_in_an_engine_is_told_with_its_file_and_line(log):
    @decision_engine("breaks")
    def fit(evidence, params):
        return evidence.transitions()[0].colour

    line = fit.fn.__code__.co_firstlineno + 2
    with pytest.raises(
        EngineFailed, match=rf"'breaks' failed: AttributeError.*test_own_engines\.py, line {line}"
    ):
        fit.run(log)


# ------------------------------------------------------------- declarations


def test_names_are_unique_and_the_same_function_may_be_declared_again():
    def declare():
        @decision_engine("only-one")
        def fit(evidence, params):
            return {}

        return fit

    assert declare().name == declare().name == "only-one"
    with pytest.raises(ValueError, match="only-one"):
        returning({}, "only-one")
    with pytest.raises(ValueError, match="catalogue"):
        returning({}, "q-learning")
    assert "only-one" in [one.name for one in declared()]
    assert "q-learning" not in [one.name for one in declared()]


def test_slips_are_refused_when_an_engine_is_declared():
    with pytest.raises(ValueError, match="transitions"):
        decision_engine("x", learns_from="transitions")
    with pytest.raises(TypeError, match="'params'"):
        decision_engine("x", param=[ALPHA])


def test_remote_says_what_is_missing(log):
    with pytest.raises(RuntimeError, match="image"):
        returning({}, "here").remote(log)
    elsewhere = returning({}, "there", image="python", gpu="L4")
    assert elsewhere.as_dict()["where"] == "remote"
    with pytest.raises(RuntimeError, match="executor"):
        elsewhere.remote(log)


# -------------------------------------------------------------------- files

WRITTEN_FOR_THE_SDK = """
from pytest_evalharness import Evidence, Param, decision_engine
from beside import tidy

@decision_engine(name="sdk-bandit", family="Bayesian", learns_from="episodes",
                 params=[Param("alpha", "Prior strength", "number", 1.0, 0.1, 100, help="Higher trusts the prior longer.")])
def fit(evidence: Evidence, params: dict) -> dict:
    from later import first
    total = {}
    for row in evidence.transitions():
        total.setdefault(row.state, {}).setdefault(row.move, []).append(row.r + row.terminal + params["alpha"])
    assert evidence.has_propensity() and len(evidence.transitions(include_unlabelled=True)) == 1
    assert evidence.move_index[evidence.moves[0]] == 0 and not evidence.has_simulator
    return {"policy": {state: first(sorted(moves)) for state, moves in total.items()}, "diagnostics": {"tidy": tidy()}}

if __name__ == "__main__":
    raise SystemExit("not here")
"""


def written(folder, text, name="app.py"):
    (folder / "beside.py").write_text("def tidy():\n    return 'yes'\n")
    (folder / "later.py").write_text("def first(them):\n    return them[0]\n")
    (folder / name).write_text(text)
    return folder / name


@pytest.fixture
def paths(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_a_file_written_for_the_sdk_runs_here(tmp_path, log, paths):
    file = written(
        tmp_path, WRITTEN_FOR_THE_SDK, "json.py"
    )  # a name that must not hide the standard library's
    before = sys.path[0]
    [engine] = load_engines(file)
    assert engine.run(log)["policy"] == {"0:5:none": "greet"}
    assert engine.declaration.params[0].help.startswith("Higher")
    assert [one.name for one in load_engines(file)] == ["sdk-bandit"]
    assert sys.path[0] == before
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\ny = x.z\n", r"AttributeError.*app\.py, line 2"),
        ("def f(:\n", r"SyntaxError.*app\.py, line 1"),
        ("import levers9\n", r"levers9.*app\.py, line 1[\s\S]*import the same names from pytest_evalharness"),
        ("\nimport no_such_package\n", r"line 2[\s\S]*install no_such_package"),
        ("x = 1\n", "declares no decision engine"),
        ("raise SystemExit(3)\n", r"SystemExit: 3.*line 1"),
        ("from pytest_evalharness.engines.catalogue.counting import monte_carlo\n", "declares no decision engine"),
        (
            "from pytest_evalharness import decision_engine\n\n@decision_engine('q-learning')\ndef fit(e, p): ...\n",
            r"q-learning.*line 3",
        ),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_told_in_a_sentence(tmp_path, text, says, paths):
    with pytest.raises(UsageError) as caught:
        load_engines(written(tmp_path, text))
    assert re.search(says, str(caught.value)), caught.value


def test_no_file_is_told(tmp_path):
    with pytest.raises(UsageError, match="there is no engine file"):
        load_engines(tmp_path / "none.py")


def test_tables_are_read_bare_or_out_of_a_fit_result(tmp_path):
    table = {"0:5:none": "greet"}
    for told in (table, {"policy": table, "value": {"0:5:none": 1}}):
        (tmp_path / "t.json").write_text(json.dumps(told))
        assert load_table(tmp_path / "t.json")["policy"] == table


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        (None, UsageError, "cannot be read"),
        ("{", BadPolicy, "no JSON"),
        ("[]", BadPolicy, "policy"),
        ("{}", BadPolicy, "empty"),
        ('{"policy": {}}', BadPolicy, "empty"),
        ('{"somewhere": "greet"}', BadPolicy, "'somewhere'"),
        ('{"0:5:none": 4}', BadPolicy, "4"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, text, kind, says):
    if text is not None:
        (tmp_path / "t.json").write_text(text)
    with pytest.raises(kind, match=says):
        load_table(tmp_path / "t.json")
