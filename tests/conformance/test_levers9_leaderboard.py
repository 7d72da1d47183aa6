"""The real `levers9` SDK, unpatched, prints our report, and what it prints are our numbers."""

import json
import subprocess

import numpy as np
import pytest

from pytest_evalharness.cli import main
from pytest_evalharness.engines.benchmark.report import Report
from pytest_evalharness.engines.evidence.document import Evidence

SHARES = {"greet": 0.5, "offer": 0.3, "close": 0.2}
ASK = """
import json, sys
from levers9.decision import leaderboard
print(leaderboard(json.load(open(sys.argv[1]))))
"""
APP = """
from pytest_evalharness import decision_engine

@decision_engine(name="breaks", family="own", learns_from="episodes", params=[])
def breaks(evidence, params):
    raise KeyError("nothing here")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Calls of one turn, in which nobody ever made the move `wait`, and an engine that breaks."""
    folder = tmp_path_factory.mktemp("given")
    (folder / "app.py").write_text(APP)
    rng = np.random.default_rng(5)
    rows = []
    for call in range(900):
        move = str(rng.choice(list(SHARES), p=list(SHARES.values())))
        value = 100.0 * bool(rng.random() < (0.7 if move == "offer" else 0.2))
        told = {"episode_id": f"c{call:04}", "state": "0:5:none", "move": move, "propensity": SHARES[move]}
        rows.append({**told, "terminal": value, "ret": value, "done": True})
    told = {"kind": "real", "env": "acme", "moves": [*SHARES, "wait"], "transitions": rows}
    Evidence.from_dict(told).save(folder / "calls.json")
    return folder


@pytest.fixture(params=[40, 0], ids=["intervals", "no intervals"])
def printed(request, sdk, folder, tmp_path, monkeypatch):
    """Our report of every kind of row, and the SDK's lines about it."""
    monkeypatch.chdir(tmp_path)
    for name, move in (("never", "wait"), ("close", "close")):
        (tmp_path / f"{name}.json").write_text(json.dumps({"0:5:none": move}))
    words = [f"--table={name}={tmp_path / name}.json" for name in ("never", "close")]
    words += ["--file", str(folder / "app.py"), "--bootstrap", str(request.param), "-o", "report.json"]
    assert (
        main(["engine", "benchmark", "--evidence", str(folder / "calls.json"), "--engines", "all", *words])
        == 0
    )
    done = subprocess.run(
        [sdk, "-c", ASK, "report.json"], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return Report.load("report.json"), done.stdout.splitlines()


def line_of(lines, label):
    (found,) = [line for line in lines if line.startswith(f"  {label:24} ")]
    return found.removeprefix(f"  {label:24} ")


def test_it_prints_every_row_with_our_numbers(printed):
    report, lines = printed
    info = report.info
    assert lines[0].startswith(
        f"BENCHMARK · fitted on {info['fit_calls']} calls, scored on {info['held_out_calls']} held-out calls"
    )
    scored = [row for row in report if row.estimates is not None]
    assert len(scored) >= 10
    for row in scored:
        line = line_of(lines, row.label)
        pdwis, lift, over = row.estimates.pdwis.estimate, row.vs_today.pdwis, row.vs_random.pdwis.lift
        ends = f" [{lift.ci[0]:+.1f}, {lift.ci[1]:+.1f}]" if lift.ci is not None else ""
        told = [
            "n/a" if pdwis is None else f"{pdwis:.1f}",
            f"{row.ess:.0f}",
            *("n/a" if lift.lift is None else f"{lift.lift:+.1f}{ends}").split(),
            "n/a" if over is None else f"{over:+.1f}",
            *row.verdict.head.split(),
        ]
        assert line.split() == told, row.engine
    assert (report["never"].lift, report["never"].ess) == (None, 0.0)  # else null was not put to the test
    assert (report["close"].vs_today.pdwis.ci is None) == (info["bootstrap"] == 0)


def test_it_prints_the_baselines_and_why_a_row_has_no_verdict(printed):
    report, lines = printed
    (today,) = [line.split() for line in lines if line.startswith("  today's agent")]
    assert float(today[2]) == report.baselines["today"].pdwis.estimate
    (chance,) = [line for line in lines if line.startswith("  random move")]
    assert float(chance.split()[2]) == report.baselines["random"].pdwis.estimate
    assert f"(ESS {report.baselines['random'].ess:.0f})" in chance
    for name in ("ppo", "breaks"):
        row = report[name]
        line = line_of(lines, row.label)
        assert line.startswith(f"{row.status:>8}  ")
        assert row.reason.startswith(line.removeprefix(f"{row.status:>8}  "))
    assert lines[-1] == f"  {report.caveat}"
