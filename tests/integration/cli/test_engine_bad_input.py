"""Files that are not what they should be: each is answered by a sentence, an exit code and a next step, never by a traceback."""

import gzip
import json

import pytest

from pytest_evalharness.cli import main

SHARES = {"greet": 0.4, "offer": 0.6}


def rows(calls=200, **changed):
    """Calls of one turn; of the seventh something is changed."""
    found = []
    for call in range(calls):
        move, value = ("offer" if call % 3 else "greet"), 100.0 * (call % 4 == 0)
        told = {"episode_id": f"c{call}", "state": "0:5:none", "move": move, "propensity": SHARES[move]}
        found.append({**told, "terminal": value, "ret": value, "done": True})
    if changed:
        found[7] |= changed
    return found


def document(told=None, **more):
    return json.dumps(
        {
            "kind": "real",
            "env": "acme",
            "moves": list(SHARES),
            "transitions": rows() if told is None else told,
            **more,
        }
    )


def on_both_sides():
    told = [{**row, "episode_id": f"c{at // 2}", "t": at % 2} for at, row in enumerate(rows())]
    told[7]["split"] = "fit"
    return document(told)


EVIDENCE = {
    "empty": ("", "the file is empty"),
    "half a line": (document()[:800], "Input data was truncated"),
    "binary": (b"\xff\xfe\x00", "JSON is malformed"),
    "cut gzip": (gzip.compress(document().encode())[:-20], "a spoilt gzip file"),
    "a list": ("[]", "Expected `object`, got `array`"),
    "no rows": (document([]), "it holds no transition"),
    "rows of text": (document(["x"]), "Expected `object`, got `str` - at `$.transitions[0]`"),
    "move of another type": (
        document(rows(move=3)),
        "Expected `str`, got `int` - at `$.transitions[7].move`",
    ),
    "state of another shape": (
        document(rows(state="early")),
        "call 'c7', turn 0: a state is stage:trust:objection, not 'early'",
    ),
    "propensity 0": (
        document(rows(propensity=0)),
        "call 'c7', turn 0: the propensity of a move that was made",
    ),
    "propensity 2": (document(rows(propensity=2)), "above 0 and at most 1, not 2.0"),
    "propensity of text": (document(rows(propensity="x")), "Expected `float | null`, got `str`"),
    "no propensity at all": (
        document([{**row, "propensity": None} for row in rows()]),
        "no held-out call has the propensities of all its moves",
    ),
    "NaN": (document(rows(terminal=float("nan"))), "JSON is malformed"),
    "infinite": (document(rows(terminal=1)).replace('"terminal": 1,', '"terminal": 1e400,'), "out of range"),
    "beyond sums": (document(rows(terminal=1e300)), "terminal is a number up to 1e+15, not 1e+300"),
    "one call": (document(rows(1)), "the held-out side has no call"),
    "moves twice": (document(moves=["greet", "offer", "greet"]), "its moves name 'greet' twice"),
    "a call on both sides": (on_both_sides(), "call 'c3', turn 1: the call's turns stand on several sides"),
    "a side of its own": (document(rows(split="middle")), "Invalid enum value 'middle'"),
    "discount 2": (document(mdp={"discount": 2}), "mdp.discount is between 0 and 1, not 2"),
    "edited by hand": (
        document(manifest={"content_hash": "sha256:0"}),
        "the evidence was changed after it was built",
    ),
}


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    """What is kept for later benchmarks stays in the test's own folder."""
    monkeypatch.chdir(tmp_path)


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def benchmark(evidence, *words):
    return main(["engine", "benchmark", "--evidence", evidence, "--bootstrap", "10", *words])


def told_well(error, why):
    assert why in error
    assert "not done:" in error
    assert "next:" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("case", EVIDENCE)
def test_evidence_that_is_none(tmp_path, capsys, case):
    content, why = EVIDENCE[case]
    assert benchmark(written(tmp_path / "calls.json", content), "--engines", "sarsa") == 11
    printed = capsys.readouterr()
    told_well(printed.err, why)
    assert printed.out == ""


def test_a_propensity_that_was_not_recorded_costs_its_call_and_is_counted(tmp_path, capsys):
    held = rows()
    held[7] |= {"propensity": None, "split": "held_out"}
    assert benchmark(written(tmp_path / "calls.json", document(held)), "--engines", "sarsa") == 0
    assert (
        "note: 1 held-out calls are left out: a move without a recorded propensity" in capsys.readouterr().out
    )


def test_a_move_that_the_world_does_not_have_is_named_and_counted(tmp_path, capsys):
    foreign = {**rows(1)[0], "episode_id": "x", "move": "sing"}
    path = written(tmp_path / "calls.json", document([*rows(), foreign]))
    assert benchmark(path, "--engines", "sarsa") == 0
    assert "note: 1 turns are left out: 'sing' is none of the world's moves" in capsys.readouterr().out
    unlabelled = {**foreign, "move": "unknown"}
    assert (
        benchmark(written(tmp_path / "other.json", document([*rows(), unlabelled])), "--engines", "sarsa")
        == 0
    )
    assert "are left out" not in capsys.readouterr().out


def test_calls_that_are_all_lost_are_worth_a_real_0(tmp_path, capsys):
    lost = [{**row, "terminal": 0.0, "ret": 0.0} for row in rows()]
    assert (
        benchmark(written(tmp_path / "calls.json", document(lost)), "--engines", "sarsa,dpo", "--json") == 0
    )
    told = json.loads(capsys.readouterr().out)
    sarsa, dpo = told["rows"]
    assert sarsa["estimates"]["pdwis"] == {"estimate": 0.0, "ci": [0.0, 0.0]}
    assert sarsa["verdict"]["verdict"] == "inconclusive"
    assert dpo["status"] == "not enough evidence"


# ------------------------------------------------------------------ exports


def call(number, **changed):
    turns = [
        {"role": "agent", "text": "Hello"},
        {"role": "customer", "text": "It is too expensive"},
        {"role": "agent", "text": "Would you like to visit?"},
    ]
    outcome = ["Booked Visit", "Call Later", "No Interest"][number % 3]
    return json.dumps({"call_id": f"C-{number}", "outcome": outcome, "turns": turns, **changed})


def calls(**changed):
    return "\n".join(call(number, **changed) for number in range(30))


EXPORTS = {
    "empty": ("", "the file is empty"),
    "half a line": (call(0)[:40], "no call has a usable outcome (1 rows read; left out: bad_json 1)"),
    "wrong types": ('{"call_id": 1, "outcome": [1], "turns": 3}', "left out: wrong_types 1"),
    "cut gzip": (gzip.compress(calls().encode())[:-20], "it is damaged or was cut"),
    "one call": (call(0), "both sides need some"),
    "all lost": (calls(outcome="No Interest"), "all 30 calls ended alike, each worth 0"),
    "no outcome": (
        calls(outcome=None),
        "no call has a usable outcome (30 rows read; left out: no_outcome 30)",
    ),
    "labels unknown": (calls(outcome="Zorb"), "name it with --outcomes: 'Zorb' (30)"),
    "no turns": (calls(turns=[]), "no call with a usable outcome has an agent's turn"),
}


@pytest.mark.parametrize("case", EXPORTS)
def test_an_export_that_is_none(tmp_path, capsys, case):
    content, why = EXPORTS[case]
    path = written(tmp_path / "calls.jsonl", content)
    assert main(["engine", "evidence-build", "acme", "--from", path]) == 11
    told_well(capsys.readouterr().err, why)
    assert not list(tmp_path.glob(".evalharness/data/datasets/**/*.json"))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[values]\nwon = nan", "the value of won is a number up to 1e+15, not nan"),
        ("[values]\nwon = 1e300", "the value of won is a number up to 1e+15, not 1e+300"),
        ('"Booked Visit" = "champion"', "a label is won, follow_up, lost or ignore"),
    ],
)
def test_an_outcome_map_that_is_none(tmp_path, capsys, content, why):
    words = ["--from", written(tmp_path / "calls.jsonl", calls())]
    words += ["--outcomes", written(tmp_path / "outcomes.toml", content)]
    assert main(["engine", "evidence-build", "acme", *words]) == 4
    told_well(capsys.readouterr().err, why)


# ------------------------------------------------------------------ reports and tables


def report(info, **more):
    told = {
        "benchmark_id": "x",
        "info": info,
        "baselines": {},
        "rows": [],
        "notices": [],
        "caveat": "",
        **more,
    }
    return json.dumps(told)


COUNTS = {"fit_calls": 1, "held_out_calls": 2, "bootstrap": 3, "seed": 0}
REPORTS = {
    "empty": ("", "Input data was truncated"),
    "half": (report(COUNTS)[:30], "Input data was truncated"),
    "a list": ("[]", "Expected `object`, got `array`"),
    "another object": ("{}", "missing required field `benchmark_id`"),
    "counts of nothing": (report({}), "missing required field `fit_calls`"),
    "counts of text": (report({**COUNTS, "seed": "a"}), "Expected `int`, got `str` - at `$.seed`"),
    "words of a number": (report({**COUNTS, "words": 3}), "at `$.words`"),
    "a later release's": (report(COUNTS, schema=99), "its schema is 99, and this release reads 1"),
}


@pytest.mark.parametrize("case", REPORTS)
@pytest.mark.parametrize("more", [[], ["--html", "out.html"]], ids=["text", "page"])
def test_a_report_that_is_none(tmp_path, capsys, case, more):
    content, why = REPORTS[case]
    assert main(["engine", "report", written(tmp_path / "report.json", content), *more]) == 11
    told_well(capsys.readouterr().err, why)
    assert not (tmp_path / "out.html").exists()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "is no JSON"),
        ("[]", "no 'policy' key"),
        ("{}", "an empty policy"),
        ('{"policy": 3}', "an empty policy"),
        ('{"0:5:none": null}', "decides None in '0:5:none'"),
        ('{"0:5:none": "sing"}', "decides 'sing' in '0:5:none', which is none of the world's moves"),
        ('{"early": "greet"}', "'early' is no state"),
    ],
)
def test_a_table_that_is_none(tmp_path, capsys, content, why):
    path = written(tmp_path / "calls.json", document())
    table = written(tmp_path / "table.json", content)
    assert benchmark(path, "--engines", "none", "--table", f"mine={table}") == 11
    told_well(capsys.readouterr().err, why)


@pytest.mark.parametrize("margin", ["nan", "inf", "0"])
def test_a_margin_that_is_none(tmp_path, capsys, margin):
    path = written(tmp_path / "calls.json", document())
    assert benchmark(path, "--engines", "sarsa", "--margin", margin) == 4
    told_well(capsys.readouterr().err, "margin is above 0 and finite")
