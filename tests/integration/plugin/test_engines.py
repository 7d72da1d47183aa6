"""Decision engines as cases: what passes, what is told, and that one benchmark serves everybody."""

import json
import os
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from pytest_evalharness.engines.evidence.document import Evidence
from tests.integration.plugin.conftest import RESULTS_SCHEMA, UNUSED

SHARES = {"greet": 0.5, "offer": 0.3, "close": 0.2}
MARK = (
    '@pytest.mark.engine_benchmark(evidence="calls.json", engines="none", file="app.py", bootstrap=40{more})'
)
APP = """
import pathlib
from pytest_evalharness import decision_engine

@decision_engine(name="{name}", family="own", learns_from="episodes", params=[])
def mine(evidence, params):
    with open(pathlib.Path(__file__).with_name("fits"), "a") as file:
        file.write("x")
    return {{"policy": {{state: "offer" for state in evidence.states}}}}
"""


class Folder:
    """A user's project without a league."""

    def __init__(self, pytester, name):
        self.pytester, self.engine = pytester, name
        self.fits = pytester.path / "fits"
        self.junit = pytester.path / "report.xml"
        (pytester.path / "app.py").write_text(APP.format(name=name))
        self.calls()

    def calls(self, **more):
        rng = np.random.default_rng(5)
        rows = []
        for call in range(900):
            move = str(rng.choice(list(SHARES), p=list(SHARES.values())))
            value = 100.0 * bool(rng.random() < (0.7 if move == "offer" else 0.2))
            rows.append(
                {"episode_id": f"c{call:04}", "state": "0:5:none", "move": move, "propensity": SHARES[move],
                 "terminal": value, "ret": value, "done": True}
            )  # fmt: skip
        told = {"kind": "real", "env": "acme", "moves": list(SHARES), "transitions": rows, **more}
        Evidence.from_dict(told).save(self.pytester.path / "calls.json")

    def cases(self, *bodies, more=""):
        mark = MARK.format(more=more)
        text = "import pytest\nfrom pytest_evalharness import Verdict\n"
        for at, body in enumerate(bodies):
            text += f"\n{mark}\ndef test_{at}(engine_report):\n    {body.format(engine=self.engine)}\n"
        self.pytester.makepyfile(test_engines=text)

    def command(self, *more):
        without = [word for name in UNUSED for word in ("-p", f"no:{name}")]
        return [*without, f"--junitxml={self.junit}", *more]

    def run(self, *more):
        if "-n" in more:
            return self.pytester.runpytest_subprocess(*self.command(*more), timeout=300)
        return self.pytester.runpytest_inprocess(*self.command(*more), syspathinsert=True)

    def results(self):
        newest = max(
            self.pytester.path.glob(".evalharness/runs/*/results.json"), key=lambda p: p.stat().st_mtime_ns
        )
        told = json.loads(newest.read_text())
        RESULTS_SCHEMA.validate(told)
        return newest.parent, told

    def properties(self):
        tree = ET.parse(self.junit)
        return [
            {p.get("name"): p.get("value") for p in one.iter("property")} for one in tree.iter("testcase")
        ]


@pytest.fixture
def folder(request, pytester, monkeypatch):
    for name in list(os.environ):
        if name.startswith("EVALHARNESS_") or name in {"PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"}:
            monkeypatch.delenv(name)
    return Folder(pytester, "engine-" + "".join(c for c in request.node.name if c.isalnum())[:60].lower())


REQUIRED = 'engine_report["{engine}"].require()'


def test_a_table_that_is_ahead_passes_and_every_report_says_what_that_proves(folder):
    folder.cases(REQUIRED)
    assert folder.run("-v").ret == 0
    place, told = folder.results()
    (case,) = told["cases"]
    (row,) = case["engines"]
    assert (case["kind"], row["verdict"], row["head"]) == (
        "engine benchmark",
        "better",
        "Ahead of today on held-out calls",
    )
    assert (told["server"], told["embedded"]) == ("no league", False)
    assert told["notices"] == []
    (properties,) = folder.properties()
    assert properties["evalharness.verdict"] == "better"
    assert properties["evalharness.engine"] == folder.engine
    assert float(properties["evalharness.ci_low"]) > 0
    for text in (
        properties["evalharness.caveat"],
        row["caveat"],
        (place / "summary.md").read_text().replace("\\", ""),
        (place / "report.html").read_text(),
    ):
        assert "Proof takes a canary beside a control group" in text


def test_claims_that_are_not_met_or_cannot_be_told(folder):
    folder.cases(
        'engine_report["{engine}"].require(Verdict.WORSE)',
        'assert engine_report["{engine}"].verdict is Verdict.BETTER',
        'assert engine_report["{engine}"].ess > 1000',
    )
    result = folder.run()
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*not done: it was required to be worse*"])


def test_calls_that_cannot_tell(folder):
    (folder.pytester.path / "idle.json").write_text('{"9:9:none": "greet"}')
    folder.pytester.makepyfile(
        test_engines="import pytest\n"
        + MARK.format(more=', tables={"idle": "idle.json"}')
        + '\ndef test_idle(engine_report):\n    engine_report["idle"].require()\n'
    )
    result = folder.run()
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*INCONCLUSIVE*No detectable difference from today*"])
    (properties,) = folder.properties()
    assert properties["evalharness.reason"].startswith("spans_zero: PDWIS ")
    assert properties["evalharness.reason"].endswith("Proof takes a canary beside a control group.")


@pytest.mark.parametrize("body", ["pass", "engine_report.report", 'engine_report["{engine}"]'])
def test_a_case_that_looks_at_no_evidence_is_no_pass(folder, body):
    folder.cases(body)
    result = folder.run()
    assert result.ret == 11
    result.stdout.fnmatch_lines(["*nothing was judged*"])
    result.stdout.no_fnmatch_line("*success check*")


def test_one_benchmark_serves_all_cases_and_later_runs(folder):
    folder.cases(REQUIRED, REQUIRED, 'assert engine_report["{engine}"].ess > 30')
    assert folder.run().ret == 0
    assert folder.fits.read_text() == "x"
    assert folder.run().ret == 0
    assert folder.fits.read_text() == "x"
    folder.calls(env="elsewhere")  # other evidence is another question
    assert folder.run().ret == 0
    assert folder.fits.read_text() == "xx"


def test_how_far_it_is(folder):
    folder.cases(REQUIRED)
    result = folder.run()
    result.stdout.fnmatch_lines([f"evalharness: engine benchmark: fitting {folder.engine}"])
    folder.calls(env="and again")
    folder.run("-q", "-q").stdout.no_fnmatch_line("*engine benchmark*")


def test_a_case_whose_worker_dies_is_missed(folder):
    folder.cases("import os; os._exit(3)")
    result = folder.run("-n", "1", "--max-worker-restart=0")
    assert result.ret == 11


def test_workers_share_it(folder):
    folder.cases(*[REQUIRED] * 4)
    result = folder.run("-n", "2")
    assert result.ret == 0
    assert folder.fits.read_text() == "x"
    _, told = folder.results()
    assert (told["server"], len(told["cases"])) == ("no league", 4)


@pytest.mark.parametrize(
    ("more", "who"),
    [({"synthetic": "a generator"}, "a generator"), ({"kind": "simulated"}, "simulated episodes of a world")],
)
def test_made_up_calls_must_be_asked_for_and_are_always_named(folder, more, who):
    folder.calls(**more)
    folder.cases(REQUIRED)
    result = folder.run()
    assert result.ret == 4
    result.stdout.fnmatch_lines([f"*holds synthetic calls ({who})*"])
    assert not folder.fits.exists()
    result = folder.run("--eval-synthetic")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: calls.json: *"])


def test_the_command_line_names_other_evidence(folder):
    folder.cases(REQUIRED)
    (folder.pytester.path / "calls.json").rename(folder.pytester.path / "others.json")
    result = folder.run()
    assert result.ret == 11
    result.stdout.fnmatch_lines(["*there is no evidence set calls.json*"])
    result = folder.run("--eval-evidence=others.json")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: --eval-evidence others.json overrides evidence=calls.json of *"])


def test_a_dry_run_fits_nothing(folder):
    folder.cases(REQUIRED)
    result = folder.run("--eval-dry-run")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*evidence   calls.json: 900 calls, 900 turns",
            f"*engines    {folder.engine}",
            "dry run: 1 case planned, 0 unresolved*",
        ]
    )
    assert not folder.fits.exists()
    (folder.pytester.path / "calls.json").unlink()
    assert folder.run("--eval-dry-run").ret == 11


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (", evidnce=3", "did you mean 'evidence'?"),
        (", margin=-1", "margin is above 0"),
        (", seed=-1", "seed is a whole number of 0 or more, not -1"),
    ],
)
def test_a_mark_that_is_wrong_stops_collection(folder, more, why):
    folder.cases(REQUIRED, more=more)
    result = folder.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{why}*"])


def test_an_engine_that_the_file_lacks(folder):
    folder.cases(REQUIRED, more=', own="x"')
    result = folder.run()
    assert result.ret == 4
    result.stdout.fnmatch_lines(["*has no engine 'x'*"])


def test_no_evidence_and_no_mark(folder):
    folder.pytester.makepyfile(
        test_engines="""
        import pytest

        @pytest.mark.engine_benchmark(engines=["sarsa"])
        def test_engines(engine_report):
            engine_report["sarsa"].require()
        """
    )
    result = folder.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*no evidence was named*"])
    folder.pytester.makepyfile(test_engines="def test_it(engine_report):\n    pass\n")
    result = folder.run()
    assert result.ret == 4
    result.stdout.fnmatch_lines(["*engine_report fixture needs @pytest.mark.engine_benchmark(...)*"])


def test_the_evidence_itself(folder):
    folder.pytester.makepyfile(
        test_engines="import pytest\n"
        + MARK.format(more="")
        + "\ndef test_it(evidence, engine_report):\n"
        + "    assert len(evidence.by_episode()) == 900\n"
        + f'    engine_report["{folder.engine}"].require("Ahead of today on held-out calls")\n'
        + '    with pytest.raises(Exception, match="no engine \'nobody\'"):\n        engine_report["nobody"]\n'
    )
    assert folder.run().ret == 0
