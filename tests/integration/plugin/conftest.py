"""A real league server for the tests of the plugin, and a project whose evals run against it in a subprocess."""

import importlib
import json
import os
import pkgutil
import time
import urllib.request
import xml.etree.ElementTree as ET
import zlib
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
import yaml

from pytest_evalharness.league.poll import Poller
from pytest_evalharness.observatory.embedded import EmbeddedServer
from pytest_evalharness.settings import PAGE_LEAGUE

CREW = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=30, claim="better")
def test_crew(ab):
    ab.require()
"""
PARTS = (
    "base",
    "containers",
    "episodes",
    "league",
    "ledger",
    "net",
    "observatory",
    "report",
    "stats",
    "verdict",
)
"""The packages that a run of comparisons imports."""


def import_all_that_a_run_imports():
    """Import the package, before any run in this process.

    A run in this process forgets on its end what it has imported: numpy's parts cannot be imported a second time, words
    compare by identity, and to compile and rewrite forty modules anew takes longer than most of the runs. That loading
    the plugin imports next to nothing is tested in processes of their own.
    """
    for name in ("scipy.special", "jinja2", "concurrent.futures.thread"):
        importlib.import_module(name)
    for part in PARTS:
        package = importlib.import_module(f"pytest_evalharness.{part}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


import_all_that_a_run_imports()
RESULTS_SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parents[3] / "docs/reference/results.schema.json").read_text())
)
_HUNG = 300
"""Seconds after which nobody is waited for any more: far beyond what a busy machine needs."""
UNUSED = ("hypothesispytest", "anyio", "timeout")
"""Plugins that cost every subprocess up to a second and have no part in these tests."""


def _no_constant(name):
    raise AssertionError(f"{name} is no JSON")


class League:
    """A running server and its back door."""

    def __init__(self, server):
        self.server = server
        self.api = server.api
        self.credentials = server.credentials

    def _call(self, path, method="GET", body=None):
        request = urllib.request.Request(
            self.api.removesuffix("/api") + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=_HUNG
        ) as answer:
            return json.loads(answer.read() or b"null")

    def read(self, path):
        """A GET of the API itself."""
        return self.write(path, None)

    def write(self, path, body):
        """A POST of JSON to the API itself."""
        token = yaml.safe_load((self.credentials / "credentials.yaml").read_text())["tokens"][self.api]
        request = urllib.request.Request(
            f"{self.api}/observatory{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=_HUNG
        ) as answer:
            return json.loads(answer.read())

    def _memberships(self):
        return self.read(f"/v2/league-policy-memberships?active_only=true&league_id={PAGE_LEAGUE}&limit=1000")

    def player_names(self):
        return [row["player"]["name"] for row in self._memberships()]

    def version_of(self, player):
        rows = [row for row in self._memberships() if row["player"]["name"] == player]
        return max(rows, key=lambda row: row["policy_version"]["version"])["policy_version"]["id"]

    def empty_division(self):
        taken = {row["division"]["id"] for row in self._memberships()}
        divisions = self.read(f"/v2/divisions?league_id={PAGE_LEAGUE}")
        return next(row["id"] for row in divisions if row["id"] not in taken)

    @property
    def posts(self):
        """POSTs that created or tried to create a request, accepted ones with a lost answer included."""
        return self._call("/_arena/counters")["experience_request_posts"]

    @property
    def created(self):
        return self._call("/_arena/counters")["experience_requests_created"]

    def fault(self, spec):
        self._call("/_arena/faults", "POST", {"spec": spec})

    def heal(self):
        self._call("/_arena/faults", "DELETE")


@pytest.fixture(scope="session")
def running_league(tmp_path_factory, unmeasured):
    server = EmbeddedServer(tmp_path_factory.mktemp("league"), seed=2026)
    with unmeasured():
        server.start()
    yield League(server)
    server.stop()


@pytest.fixture
def league(running_league):
    """The server without faults, and its counters as they are now."""
    running_league.heal()
    yield running_league
    running_league.heal()


@dataclass
class Posted:
    """How many POSTs happened since it was made."""

    league: League
    before: int

    def __eq__(self, other):
        return self.league.posts - self.before == other

    __hash__ = None

    def __repr__(self):
        return f"<{self.league.posts - self.before} POSTs>"


class Project:
    """A user's project: cases, and the command line that judges them."""

    def __init__(self, pytester, league, name):
        self.pytester = pytester
        # The league's games follow from what is asked and how often it was asked before. A tick limit of its own gives
        # every test its own games, whatever ran before it on the same server.
        self.ticks = 10_000 + zlib.crc32(name.encode()) % 5_000
        self.league = league
        self.home = pytester.path / ".evalharness"
        self.junit = pytester.path / "report.xml"
        self.posted = Posted(league, league.posts)

    def cases(self, source):
        self.pytester.makepyfile(test_evals=source)
        return self

    def environment(self, monkeypatch):
        for name in list(os.environ):
            if name.startswith("EVALHARNESS_"):
                monkeypatch.delenv(name)
        for name in (
            "PYTEST_ADDOPTS",
            "PYTEST_XDIST_WORKER",
            "PYTEST_XDIST_WORKER_COUNT",
            "PYTEST_XDIST_TESTRUNUID",
        ):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("SOFTMAX_CONFIG_DIR", str(self.league.credentials))
        return self

    def command(self, *more, candidate="keeper:v2", baseline="keeper:v1", server=None):
        names = [f"--candidate={candidate}"] if candidate else []
        names += [f"--baseline={baseline}"] if baseline else []
        names.append(f"--eval-ticks={self.ticks}")
        without = [word for name in UNUSED for word in ("-p", f"no:{name}")]
        return [
            *without,
            *names,
            f"--eval-server={server or self.league.api}",
            f"--junitxml={self.junit}",
            *more,
        ]

    def judge(self, *more, **words):
        """Run pytest as a user would, in a process of its own."""
        return self.pytester.runpytest_subprocess(*self.command(*more, **words), timeout=_HUNG)

    def judge_here(self, *more, **words):
        """The same in this process, for speed: where no worker, signal or start-up is what is tested."""
        if "-n" in more:
            return self.judge(*more, **words)
        return self.pytester.runpytest_inprocess(*self.command(*more, **words), syspathinsert=True)

    def until_noted(self, process, requests=2):
        """Wait until a run in a process of its own has written down that so many of its requests are accepted.

        The server has counted them a while before: whoever posted them does not have its answers yet.
        """
        deadline = time.monotonic() + _HUNG
        while self._noted() < requests:
            assert process.poll() is None, process.stdout.read()
            assert time.monotonic() < deadline, "the run posts nothing"
            time.sleep(0.05)

    def _noted(self):
        """How many requests the project's runs have been told to be accepted."""
        told = "".join(path.read_text() for path in self.home.glob("runs/*/events.jsonl"))
        return told.count('"what": "posted"')

    def properties(self):
        tree = ET.parse(self.junit)
        return [
            {p.get("name"): p.get("value") for p in case.iter("property")} for case in tree.iter("testcase")
        ]

    def results(self):
        """The newest results.json, which is as its documented schema says."""
        newest = max(self.home.glob("runs/*/results.json"), key=lambda path: path.stat().st_mtime_ns)
        told = json.loads(newest.read_text(), parse_constant=_no_constant)
        RESULTS_SCHEMA.validate(told)
        return told


@pytest.fixture
def project(request, pytester, league, monkeypatch):
    return Project(pytester, league, request.node.name).environment(monkeypatch).cases(CREW)


@pytest.fixture
def baseline_is_well(monkeypatch):
    """In runs of this process: however short the stall grace, no baseline is taken for hanging.

    On a busy machine an arm that is well may have no finished game either by then.
    """
    hangs = Poller._hangs
    monkeypatch.setattr(
        Poller, "_hangs", lambda self, standing: self.arm.side == "candidate" and hangs(self, standing)
    )


@pytest.fixture(params=[(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["serial", "n2"])
def workers(request):
    """Words of a command line: one process, or two workers, which take three starts of Python and are slow.

    The tests of what workers are there for ask for them by themselves, and are not.
    """
    return request.param
