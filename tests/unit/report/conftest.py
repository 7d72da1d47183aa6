"""Comparisons as the league hands them over: plain data."""

from __future__ import annotations

import pytest

from pytest_evalharness.report.model import CaseReport, Report
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.words import Reason

WRONG_SEATS = Finding(Reason.SEATS, "candidate: ereq_1: seat 0 holds rival:v3", "candidate", ("ereq_1",))


@pytest.fixture
def compared():
    def result(wins=(28, 15), games=30, *, trusted=True, label="keeper:v2", claim="better", **declared):
        changes = {
            key: declared.pop(key)
            for key in ("attempt", "earlier", "evidence_age_seconds", "episodes", "roster", "name")
            if key in declared
        }
        aa = declared.pop("aa", False)
        arms = (
            ArmEvidence(label, wins[0], games, games, 0.5, 3, 1, ("xreq_c1", "xreq_c2")),
            ArmEvidence("keeper:v1", wins[1], games, games, 0.5, 3, 1, ("xreq_b",)),
        )
        trust = () if trusted else (WRONG_SEATS,)
        judgement = judge(
            Declaration(claim, **declared), *arms, trust, verified=("seats",) if trusted else (), aa=aa
        )
        return {
            "name": "A/B crew",
            "headline": judgement.headline("A/B crew"),
            "judgement": judgement.to_json(),
            "plan": {"server": "embedded:2026"},
            "roster": {},
            "attempt": 1,
            "earlier": [],
            "evidence_age_seconds": None,
            **changes,
        }

    return result


@pytest.fixture
def report():
    def make(*cases, **changes):
        said = {
            "run_id": "20260901-120000-abc", "server": "embedded:2026", "finished_at": "2026-09-01T12:00:00.000Z",
            "exit_code": 0, "cases": cases, "missing": (), "notices": (), "settings": {"num": 30, "opponent": []},
        }  # fmt: skip
        return Report(**{**said, **changes})

    return make


@pytest.fixture
def case():
    def make(*results, nodeid="evals/test_a.py::test_b", outcome="passed", message=""):
        return CaseReport(nodeid, outcome, message, results)

    return make


@pytest.fixture
def episodes():
    """Both arms' episodes as the league tells them; `changes` is per number, the same for both arms."""

    def make(games=3, changes=None, label="keeper:v2"):
        def row(side, number):
            usual = {
                "id": f"ereq_{side}_{number}", "request": f"xreq_{side}", "seed": 1000 + number, "status": "completed",
                "outcome": "win" if number % 2 else "loss", "score": float(number % 2), "kills": 0, "cause": "",
                "seated": True, "wrong": {},
            }  # fmt: skip
            return {**usual, **(changes or {}).get(number, {})}

        seats = [
            {
                "position": i,
                "label": label if i == 0 else f"rival-{i}:v1",
                "role": "imposter" if i in (2, 3) else "crew",
            }
            for i in range(8)
        ]
        return {
            side: {"tested_seat": 0, "seats": seats, "rows": [row(side, i) for i in range(1, games + 1)]}
            for side in ("candidate", "baseline")
        }

    return make
