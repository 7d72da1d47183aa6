"""A ledger whose runs are written down without playing them, for the commands that read it."""

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.cli import main
from pytest_evalharness.league.arms import SIDES, build_arm
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.pool_plan import PoolPlan
from pytest_evalharness.league.roster import Member, Roster
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import arm_key
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.records import ArmSpec
from pytest_evalharness.observatory.resolve import ResolvedPolicy
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.pooling import judge_pool
from pytest_evalharness.verdict.strata import Stratum

_EVIDENCE = {
    "request": {
        "id": "xreq_1",
        "status": "completed",
        "coworld_name": "crewrift",
        "coworld_version": "0.6.2",
    },
    "episodes": [],
}


def field(run):
    members = tuple(Member(f"ply_{i}", f"Player {i}", f"rival-{i}:v{i}", f"id-{i}", 0.5) for i in range(1, 8))
    return Roster(members, "league_1", "div_1", f"2026-09-01T12:00:00Z {run}", 20, "best recent round score")


def policy(label):
    return ResolvedPolicy(
        label, label.partition(":")[0], 1, f"id-{label}", None, owned=True, player_id=None, player_name=None
    )


def played(scores):
    """What a request with one game of these scores left; seat 0 has won."""
    results = {
        "scores": scores,
        "win": [True] + [False] * 7,
        "imposter": [0] * 7 + [1],
        "crew": [1] * 7 + [0],
    }
    episode = {
        "id": "ereq_1", "status": "completed", "error_type": None, "seed": None, "participants": [], "config": None,
        "results": results,
    }  # fmt: skip
    return {**_EVIDENCE, "episodes": [episode]}


def finish(ledger, comparison, evidence=_EVIDENCE):
    for key in comparison.arms.values():
        for block in ledger.blocks(key):
            lease = ledger.acquire(block.block_id)
            if lease is not None:
                with lease:
                    lease.begin_post()
                    lease.posted(f"xreq_{block.block_id}")
                    lease.finish(evidence)


class Book:
    """Writes runs into a home's ledger."""

    def __init__(self, home):
        self.home = home
        self.server = "embedded:2026"

    def _ledger(self):
        return Ledger.open(self.home, clock=SystemClock(), owner=Owner.current("book"))

    def plan(self, *, seat=0, names=("bot:v2", "bot:v1"), opponents=(), aa=False, **declared):
        return ComparisonPlan(
            server=self.server, league="league_1", division=None, backend="k8s", layout_seed=679961, tested_seat=seat,
            candidate={seat: names[0]}, baseline={seat: names[1]}, opponents=opponents, top_n=7, episodes=30,
            ticks=10_000, declaration=Declaration(**{"claim": "better", **declared}), aa=aa,
        )  # fmt: skip

    def run(self, run, *made):
        """Note a run and what it compared: pairs of a case and a call of `one` or `many`."""
        with self._ledger() as ledger:
            ledger.start_run(run, {"server": self.server, "settings": {}})
            for write in made:
                write(ledger, run)
        return run

    def one(self, case, wins=None, *, trust=(), fresh=False, field_of=None, scores=None, **words):
        """A comparison; without wins it is posted and not judged. Its requests have no game, or one of these scores."""
        plan = self.plan(**words)

        def write(ledger, run):
            told = self._open(ledger, run, case, plan, [plan], fresh=fresh, field_of=field_of)
            if wins is not None:
                finish(ledger, told, _EVIDENCE if scores is None else played(scores))
                arms = [ArmEvidence(plan.label(side), won, 30) for side, won in zip(SIDES, wins, strict=True)]
                ledger.record_verdict(
                    told.id, run, judge(plan.declaration, *arms, trust, aa=plan.aa).to_json()
                )

        return write

    def many(self, case, wins, **words):
        """A pool of the crew and the imposter seat."""
        plan = PoolPlan(
            ("crew", "imposter"), tuple(self.plan(seat=seat, secondary=(), **words) for seat in (0, 2))
        )

        def write(ledger, run):
            told = self._open(ledger, run, case, plan, list(plan.plans))
            finish(ledger, told)
            strata = [
                Stratum(name, ArmEvidence("new", won[0], 30), ArmEvidence("old", won[1], 30))
                for name, won in zip(plan.names, wins, strict=True)
            ]
            ledger.record_verdict(told.id, run, judge_pool(plan.declaration, strata).to_json())

        return write

    def again(self, case, run_before):
        """The same comparison read again by another run."""

        def write(ledger, run):
            before = next(one for one in ledger.runs.newest_first() if one.id == run_before)
            for one in before.comparisons:
                if ledger.comparison(one).case_name == case:
                    ledger.record_verdict(one, run, ledger.verdicts(one)[-1].judgement)

        return write

    def _open(self, ledger, run, case, plan, parts, *, fresh=False, field_of=None):
        labels = {label for part in parts for label in (*part.candidate.values(), *part.baseline.values())}
        policies = {label: policy(label) for label in labels}
        asked = {**plan.to_json(), "versions": {label: f"id-{label}" for label in labels}}
        told = ledger.open_comparison(asked, run_id=run, case_name=case, fresh=fresh)
        roster = field(field_of or run)
        strata, laid = [], {}
        for i, part in enumerate(parts):
            arms = {side: build_arm(part, side, roster, policies) for side in SIDES}
            strata.append({"roster": roster.to_json(), "arms": {s: arm.to_json() for s, arm in arms.items()}})
            for side, arm in arms.items():
                bodies = arm.bodies()
                key = arm_key({"roster": roster.to_json(), "bodies": bodies})
                laid[side if len(parts) == 1 else f"{side}.{i}"] = ArmSpec(key, arm.to_json(), bodies)
        return ledger.freeze(told.id, strata[0] if len(parts) == 1 else {"strata": strata}, laid)


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.delenv("EVALHARNESS_HOME", raising=False)
    return Book(tmp_path / "home")


@pytest.fixture
def command(book, capsys):
    """Run a command on the book's home; returns exit code, output and errors."""

    def call(*words):
        capsys.readouterr()
        code = main([*words, "--home", str(book.home)])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call
