"""`evalharness engine benchmark`, `report` and `ls` on evidence files."""

import json

import numpy as np
import pytest

from pytest_evalharness.cli import main
from pytest_evalharness.engines.evidence.document import Evidence

SHARES = {"greet": 0.5, "offer": 0.3, "close": 0.2}
OWN = """
from pytest_evalharness import decision_engine, Param

@decision_engine(name="cli-mine", family="own", learns_from="episodes", params=[Param("pick", "Pick", "choice", "greet", choices=("greet", "offer"))])
def mine(evidence, params):
    print("an engine of one's own may print")
    return {"policy": {state: params["pick"] for state in evidence.states}}

@decision_engine(name="cli-other", family="own", learns_from="episodes", params=[])
def other(evidence, params):
    raise KeyError("nothing here")
"""


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """A set in which offering wins oftener."""
    rng = np.random.default_rng(5)
    rows = []
    for call in range(1200):
        move = str(rng.choice(list(SHARES), p=list(SHARES.values())))
        value = 100.0 * bool(rng.random() < (0.7 if move == "offer" else 0.2))
        rows.append(
            {
                "episode_id": f"c{call:04}",
                "state": "0:5:none",
                "move": move,
                "propensity": SHARES[move],
                "terminal": value,
                "ret": value,
                "done": True,
            }
        )
    told = {"kind": "real", "env": "acme", "moves": list(SHARES), "transitions": rows}
    return str(Evidence.from_dict(told).save(tmp_path_factory.mktemp("calls") / "calls.json"))


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """One file for all: names of engines are unique in a process."""
    path = tmp_path_factory.mktemp("app") / "app.py"
    path.write_text(OWN)
    return str(path)


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    """What is kept for later benchmarks stays in the test's own folder."""
    monkeypatch.chdir(tmp_path)


def benchmark(calls, *words):
    return main(["engine", "benchmark", "--evidence", calls, "--bootstrap", "40", *words])


def test_a_leaderboard_and_its_report(calls, capsys, tmp_path):
    report = str(tmp_path / "report.json")
    assert benchmark(calls, "--engines", "all", "-o", report) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    names = [line.split()[0] for line in lines if line and line[0].isalpha()]
    assert names[0] == "acme:"
    assert names[1:3] == ["today", "random"]
    assert {"q-learning", "dpo", "behaviour-clone"} <= set(names)
    assert "Ahead of today on held-out calls" in printed.out
    assert "canary beside a control group" in printed.out
    assert "fitting monte-carlo" in printed.err
    told = json.loads((tmp_path / "report.json").read_text())
    assert {row["engine"]: row["status"] for row in told["rows"]}["monte-carlo"] == "done"

    assert main(["engine", "report", report]) == 0
    assert capsys.readouterr().out.splitlines()[0] == lines[0]
    assert main(["engine", "report", report, "--engine", "monte-carlo"]) == 0
    opened = capsys.readouterr().out
    assert "turn 0, lukewarm, none: offer" in opened
    assert "canary beside a control group" in opened
    assert main(["engine", "report", report, "--engine", "monte-carlo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["policy"] == {"0:5:none": "offer"}


def test_own_engines_and_tables_join_the_leaderboard(calls, app, capsys, tmp_path):
    (tmp_path / "table.json").write_text(json.dumps({"0:5:none": "close"}))
    words = ["--engines", "none", "--file", app, "--param", "cli-mine.pick=offer"]
    assert benchmark(calls, *words, "--table", f"theirs={tmp_path / 'table.json'}", "--json") == 0
    rows = {row["engine"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["cli-mine"]["policy"] == {"0:5:none": "offer"}
    assert rows["cli-mine"]["verdict"]["verdict"] == "better"
    assert rows["theirs"]["verdict"]["verdict"] == "worse"
    assert rows["cli-other"]["status"] == "failed"
    assert "nothing here" in rows["cli-other"]["reason"]
    assert benchmark(calls, *words[:4], "--engine", "cli-mine", "--param", "pick=offer") == 0
    assert "cli-other" not in capsys.readouterr().out


def test_the_same_question_has_the_same_answer(calls, capsys):
    answers = []
    for _ in range(2):
        assert benchmark(calls, "--engines", "sarsa,value-iteration", "--seed", "3", "--json") == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]


def test_no_difference_within_a_margin(calls, capsys, tmp_path):
    (tmp_path / "table.json").write_text(json.dumps({"9:9:none": "close"}))
    words = ["--engines", "none", "--table", f"idle={tmp_path / 'table.json'}", "--margin", "2", "--json"]
    assert benchmark(calls, *words) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["verdict"]["verdict"] == "equivalent"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--engines", "none"], "there is nothing to score"),
        (["--engines", "q-lerning"], "did you mean 'q-learning'?"),
        (["--remote"], "none can be chosen yet"),
        (["--engines", "sarsa", "--param", "alhpa=2"], "no engine that is fitted has a knob 'alhpa'"),
        (["--engines", "sarsa", "--param", "alpha"], "--param takes KEY=VALUE"),
        (["--table", "mine"], "--table takes NAME=FILE"),
        (["--table", "mine=none.json"], "No such file"),
        (["--margin", "-1"], "margin is above 0"),
        (["--engine", "mine"], "one engine of a file, and there is no file"),
        (["--file", "none.py"], "none.py"),
        (["--bootstrap", "x"], "must be a whole number"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_fitted(calls, capsys, words, why):
    try:
        code = benchmark(calls, *words)
    except SystemExit as left:
        code = left.code
    assert code == 4
    printed = capsys.readouterr()
    assert why in printed.err
    assert "fitting" not in printed.err


def test_an_engine_that_the_file_lacks(calls, app, capsys):
    assert benchmark(calls, "--file", app, "--engine", "nobody") == 4
    assert "has no engine 'nobody'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "why"),
    [("", "the file is empty"), ('{"transitions": [', "truncated"), (None, "there is no evidence set")],
)
def test_evidence_that_cannot_be_read(capsys, tmp_path, content, why):
    path = tmp_path / "calls.json"
    if content is not None:
        path.write_text(content)
    assert benchmark(str(path), "--engines", "sarsa") == 11
    assert why in capsys.readouterr().err


def test_a_table_with_a_move_that_the_world_does_not_have(calls, capsys, tmp_path):
    (tmp_path / "table.json").write_text(json.dumps({"0:5:none": "sing"}))
    assert benchmark(calls, "--engines", "none", "--table", f"mine={tmp_path / 'table.json'}") == 11
    assert "'sing'" in capsys.readouterr().err


def test_the_engines_there_are(app, capsys, tmp_path):
    assert main(["engine", "ls"]) == 0
    told = capsys.readouterr().out
    assert "value-iteration    Value iteration" in told
    assert "lambda=0.8 (0…1)" in told
    assert main(["engine", "ls", app]) == 0
    told = capsys.readouterr().out
    assert told.startswith("cli-mine")
    assert "pick=greet (greet|offer)" in told
    assert main(["engine", "ls", "--json"]) == 0
    assert {"name", "learns_from", "params"} <= set(json.loads(capsys.readouterr().out)[0])
    assert main(["engine", "ls", str(tmp_path / "none.py")]) == 4
