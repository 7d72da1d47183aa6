"""The benchmark: its verdicts, its own checks, and what it says of support."""

import json
from pathlib import Path

import numpy as np
import pytest

from pytest_evalharness.engines.benchmark import checks, rendering, support
from pytest_evalharness.engines.benchmark.leaderboard import Resampling
from pytest_evalharness.engines.benchmark.report import Report
from pytest_evalharness.engines.benchmark.run import benchmark
from pytest_evalharness.engines.benchmark.verdicts import EngineVerdict, Head, caveat, decide
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.engines.evidence.words import Words
from pytest_evalharness.engines.ope.scoring import score
from pytest_evalharness.engines.ope.target import Target
from pytest_evalharness.errors import (
    BadPolicy,
    ConditionNotMet,
    EvidenceContradicted,
    EvidenceUnreadable,
    Inconclusive,
    NotEnoughEvidence,
    UsageError,
)
from pytest_evalharness.verdict.words import Verdict

GOLDEN = Path(__file__).parents[2] / "golden" / "engines"
TABLE = json.loads((GOLDEN / "expected.json").read_text())["verdict_table"]
KEYS = {
    "ahead": Head.AHEAD,
    "behind": Head.BEHIND,
    "same": Head.SAME,
    "disagree": Head.DISAGREE,
    "cant_tell": Head.CANNOT_TELL,
}
SHARES = {"greet": 0.5, "offer": 0.3, "close": 0.2}


def rows(calls=400, *, seed=0, better="offer", by=0.6):
    """One-turn and two-turn calls in which one move wins oftener."""
    rng = np.random.default_rng(seed)
    found = []
    for call in range(calls):
        length = int(rng.integers(1, 3))
        moves = rng.choice(list(SHARES), size=length, p=list(SHARES.values()))
        won = bool(rng.random() < 0.2 + by * np.mean([move == better for move in moves]))
        for turn, move in enumerate(map(str, moves)):
            last = turn == length - 1
            found.append(
                {
                    "episode_id": f"c{call:04}",
                    "t": turn,
                    "state": f"{turn}:5:none",
                    "move": move,
                    "propensity": SHARES[move],
                    "terminal": 100.0 * won * last,
                    "ret": 100.0 * won,
                    "done": last,
                }
            )
    return found


def evidence(told=None, **more):
    return Evidence.from_dict(
        {"kind": "real", "moves": list(SHARES), "transitions": rows() if told is None else told, **more}
    )


OFFER = {"0:5:none": "offer", "1:5:none": "offer"}
QUICK = Resampling(bootstrap=60)


class Engine:
    """Somebody's engine."""

    code = "of a test"

    def __init__(self, name, found=None, why_not_on_a_log=None):
        self.name, self.label, self.why_not_on_a_log, self._found = (
            name,
            name.title(),
            why_not_on_a_log,
            found,
        )

    def run(self, evidence, params=None):
        if isinstance(self._found, Exception):
            raise self._found
        return self._found(evidence, params)


# ------------------------------------------------------------------ verdicts


@pytest.mark.parametrize("row", TABLE)
def test_the_table_of_verdicts(row):
    asked = row["in"]
    ci = asked["ci"] and tuple(asked["ci"])
    found = decide(
        calls=asked["n"],
        ess=asked["ess"],
        lift=asked["lift"],
        interval=ci,
        model_lift=asked["model_lift"],
    )
    assert found is KEYS[row["key"]]


@pytest.mark.parametrize(
    ("head", "verdict", "reasons"),
    [
        (Head.AHEAD, Verdict.BETTER, []),
        (Head.BEHIND, Verdict.WORSE, []),
        (Head.SAME, Verdict.INCONCLUSIVE, ["spans_zero"]),
        (Head.DISAGREE, Verdict.INCONCLUSIVE, ["estimators_disagree"]),
        (Head.CANNOT_TELL, Verdict.INCONCLUSIVE, ["effective_n"]),
    ],
)
def test_the_shared_vocabulary(head, verdict, reasons):
    found = EngineVerdict.of(head, line="Why.", caveat=caveat(3))
    assert (found.head, found.verdict, found.reasons) == (head.value, verdict.value, reasons)
    assert caveat(3) in str(found)
    assert caveat(3) in repr(found)
    assert "3 tables were compared" in caveat(3)
    assert "compared" not in caveat(1)


def test_no_difference_within_a_margin_is_shown_equivalence():
    assert EngineVerdict.of(Head.SAME, line="", caveat="", equivalent=True).verdict == Verdict.EQUIVALENT
    assert EngineVerdict.of(Head.AHEAD, line="", caveat="", equivalent=True).verdict == Verdict.BETTER


# --------------------------------------------------------------------- a run


@pytest.fixture(scope="module")
def report():
    engines = [
        Engine("clone", lambda evidence, params: {"policy": {"0:5:none": "greet"}, "diagnostics": {"n": 1}}),
        Engine("dreamer", why_not_on_a_log="it learns by acting"),
        Engine("broken", RuntimeError("no \x1b[31mluck")),
        Engine("shy", NotEnoughEvidence("shy learns from preferences, and there are none")),
        Engine("wild", BadPolicy("wild: 'x' is not a state")),
    ]
    tables = {"offer": OFFER, "nothing": {"9:9:none": "close"}}
    return benchmark(evidence(rows(1500)), engines, tables=tables, how=QUICK)


def test_the_better_table_is_ahead_and_says_what_that_proves(report):
    row = report["offer"]
    assert row.verdict.head == Head.AHEAD
    assert row.vs_today.pdwis.ci[0] > 0
    assert row.vs_today.pdwis.simultaneous[0] < row.vs_today.pdwis.ci[0]
    assert row.estimates.dm_fit.estimate == pytest.approx(row.estimates.dm.estimate, abs=15)
    row.require()
    row.require(Verdict.BETTER)
    row.require("Ahead of today on held-out calls")
    assert "canary beside a control group" in str(row.verdict)
    assert [one.alpha for one in row.lean] == [0.1, 0.25, 0.5]
    assert row.lean[0].ess > row.lean[-1].ess > row.ess


def test_a_table_that_decides_nothing_changes_nothing(report):
    row = report["nothing"]
    assert row.vs_today.pdwis.lift == 0.0
    assert row.vs_today.pdwis.ci == (0.0, 0.0)
    assert row.verdict.head == Head.SAME
    assert row.ess == pytest.approx(report.info["held_out_calls"])
    with pytest.raises(Inconclusive, match="No detectable difference"):
        row.require()
    row.require(Verdict.INCONCLUSIVE)


def test_baselines(report):
    held = evidence(rows(1500)).part("held_out")
    mean = np.mean([call[-1].terminal for call in held.by_episode()])
    assert report.baselines["today"].pdwis.estimate == pytest.approx(mean)
    assert report.baselines["today"].ess == pytest.approx(len(held.by_episode()))
    assert report.baselines["random"].ess < report.baselines["today"].ess


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("dreamer", "simulator only", "it learns by acting"),
        ("broken", "failed", "RuntimeError: no "),
        ("shy", "not enough evidence", "there are none"),
        ("wild", "failed", "is not a state"),
    ],
)
def test_an_engine_without_a_table_costs_the_others_nothing(report, name, status, reason):
    row = report[name]
    assert (row.status, row.verdict) == (status, None)
    assert reason in row.reason
    assert "\x1b" not in row.reason
    with pytest.raises(Inconclusive, match=status):
        row.require()


def test_a_claim_that_is_not_met(report):
    row = report["clone"]
    if row.verdict.verdict == Verdict.INCONCLUSIVE:
        with pytest.raises(Inconclusive):
            row.require(Verdict.BETTER)
    with pytest.raises(ConditionNotMet, match=r"Ahead of today.*canary"):
        report["offer"].require(Verdict.WORSE)
    with pytest.raises(UsageError, match="'splendid' is no verdict"):
        row.require("splendid")
    with pytest.raises(UsageError, match="no engine 'nobody'"):
        report["nobody"]


def test_a_report_survives_its_file(report, tmp_path):
    again = Report.load(report.save(tmp_path / "report.json"))
    assert again == report
    plain = json.loads((tmp_path / "report.json").read_text())
    row = next(row for row in plain["rows"] if row["engine"] == "offer")
    assert set(row["estimates"]) >= {"pdwis", "dm", "dr", "ess"}
    assert set(plain["baselines"]["today"]) >= {"pdwis", "ess"}
    assert row["verdict"]["caveat"] == plain["caveat"]
    (tmp_path / "none.json").write_text("{")
    for path in ("none.json", "absent.json"):
        with pytest.raises(EvidenceUnreadable, match="is no report"):
            Report.load(tmp_path / path)


def test_the_leaderboard_in_a_terminal(report):
    lines = list(rendering.leaderboard(report))
    names = [
        line.split()[0] for line in lines if line and not line.startswith((" ", "note", report.caveat[:9]))
    ]
    assert names[1:4] == ["today", "random", "offer"]
    assert names[-4:] == ["dreamer", "broken", "shy", "wild"]
    assert lines[-1] == report.caveat
    assert not any("\x1b" in line for line in lines)
    assert rendering.summary(report).endswith("ahead of today: offer")


def test_one_row_opened(report):
    text = "\n".join(rendering.opened(report, report["offer"]))
    assert "in “turn 0, lukewarm, none” the table says “offer”, which the agent did in" in text
    assert "turn 1, lukewarm, none: offer" in text
    assert "50% of the time: lift over today" in text
    assert report.caveat in text
    assert "it learns by acting" in "\n".join(rendering.opened(report, report["dreamer"]))


def test_the_same_question_has_the_same_answer_whoever_is_beside(report):
    alone = benchmark(evidence(rows(1500)), [], tables={"offer": OFFER}, how=QUICK)
    again = benchmark(evidence(rows(1500)), [], tables={"offer": OFFER}, how=QUICK)
    assert alone == again
    assert alone["offer"].estimates == report["offer"].estimates
    assert alone["offer"].vs_today.dm == report["offer"].vs_today.dm
    assert alone.benchmark_id != report.benchmark_id


def test_engines_are_fitted_on_fit_calls_with_their_params():
    seen = []

    def learns(part, params):
        seen.append(({row.episode_id for row in part.transitions()}, params))
        return {"policy": OFFER}

    told = evidence()
    benchmark(told, [Engine("it", learns)], params={"it": {"alpha": 2}}, how=Resampling(bootstrap=2))
    ((fitted_on, params),) = seen
    held = {row.episode_id for row in told.part("held_out").transitions()}
    assert params == {"alpha": 2}
    assert fitted_on
    assert not fitted_on & held


def test_a_margin():
    wide = benchmark(evidence(), [], tables={"n": {}}, how=Resampling(bootstrap=20, margin=1.0))
    assert wide["n"].verdict.verdict == Verdict.EQUIVALENT
    wide["n"].require(Verdict.EQUIVALENT)


# ----------------------------------------------------------------- refusals


def test_evidence_that_was_edited():
    told = evidence().to_dict()
    told["manifest"] = {"content_hash": evidence().content_hash()}
    benchmark(Evidence.from_dict(told), [], tables={}, how=Resampling(bootstrap=2))
    told["transitions"][3]["terminal"] += 1.0
    with pytest.raises(EvidenceUnreadable, match="changed after it was built"):
        benchmark(Evidence.from_dict(told), [])


def one_side(name):
    return [{**row, "split": name} for row in rows(20)]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (one_side("fit"), "the held-out side has no call"),
        (one_side("held_out"), "the fit side has no call"),
        ([{**row, "move": "unknown"} for row in rows(60)], "the fit side has no call with a labelled turn"),
        ([{**row, "propensity": None} for row in rows(60)], "no held-out call has the propensities"),
    ],
)
def test_evidence_that_is_not_enough(told, why):
    with pytest.raises(NotEnoughEvidence, match=why):
        benchmark(evidence(told), [])


def test_calls_without_propensities_are_left_out_and_counted():
    told = rows(200)
    for row in told[:60]:
        row["propensity"] = None
    report = benchmark(evidence(told), [], tables={"offer": OFFER}, how=Resampling(bootstrap=5))
    (notice,) = [one for one in report.notices if "left out" in one]
    left = int(notice.split()[0])
    assert 0 < left < 40
    assert report.info["held_out_calls"] == len(evidence(told).part("held_out").by_episode()) - left


@pytest.mark.parametrize(
    ("more", "notice"),
    [
        ({"synthetic": "made by a test"}, "synthetic calls: made by a test"),
        ({"kind": "simulated"}, "the evidence is simulated"),
        ({"tagger": {"kind": "rule"}}, "read by cue phrases"),
    ],
)
def test_what_a_reader_must_know(more, notice):
    report = benchmark(evidence(rows(80), **more), [], how=Resampling(bootstrap=2))
    assert any(one.startswith(notice) for one in report.notices)
    assert notice in "\n".join(rendering.leaderboard(report))


# --------------------------------------------------------- its own checks


def calls_of(told):
    from pytest_evalharness.engines.benchmark.sides import Sides

    return Sides(evidence(told)).calls


def test_checks_hold_and_fail_loudly():
    calls = calls_of(rows())
    today = score(calls, {"today": Target.today(calls)}, resamples=0)["today"]
    assert checks.hold(calls, today, Target.table(calls, OFFER)) == []
    wrong = [
        ("pdwis", {**today.values, "pdwis": 1.0}, 1.0),
        ("dm", {**today.values, "dm": None}, 1.0),
        ("average 2.0", today.values, 2.0),
    ]
    for why, values, mean_weight in wrong:
        spoilt = type(today)(**{**vars(today), "values": values, "mean_weight": mean_weight})
        with pytest.raises(EvidenceContradicted, match=why):
            checks.hold(calls, spoilt, None)


def test_propensities_that_cannot_be_the_agents():
    told = [{**row, "propensity": row["propensity"] / 4} for row in rows()]
    with pytest.raises(EvidenceContradicted, match="propensities are not those of the agent"):
        benchmark(evidence(told), [], how=Resampling(bootstrap=2))
    slightly = [{**row, "propensity": row["propensity"] / 1.4} for row in rows(2000)]
    report = benchmark(evidence(slightly), [], how=Resampling(bootstrap=2))
    assert any("the propensities may be wrong" in one for one in report.notices)


def test_an_order_of_calls_that_matters_is_found(monkeypatch):
    calls = calls_of(rows(60))
    today = score(calls, {"today": Target.today(calls)}, resamples=0)["today"]
    turned = checks._reversed(calls)
    monkeypatch.setattr(checks, "_reversed", lambda _: with_rewards(turned, turned.reward + 1.0))
    with pytest.raises(EvidenceContradicted, match="read backwards"):
        checks.hold(calls, today, Target.table(calls, OFFER))


def with_rewards(calls, reward):
    from dataclasses import replace

    return replace(calls, reward=reward)


# ------------------------------------------------------------------ support


@pytest.mark.parametrize(
    ("calls", "ess", "more"),
    [(100, 30.0, None), (100, 0.0, None), (100, 15.0, 200), (100, 7.0, 429), (10_000, 20.0, None)],
)
def test_how_many_more_calls(calls, ess, more):
    assert support.more_calls(calls, ess) == more


def test_the_states_that_cost_the_overlap():
    told = [
        *rows_of("a", ("0:5:none", "greet"), ("1:5:none", "close")),
        *rows_of("b", ("0:5:none", "offer"), ("1:5:none", "close")),
        *rows_of("c", ("0:5:none", "offer"), ("1:5:none", "offer")),
        *rows_of("d", ("0:5:none", "offer"), ("1:5:none", "greet")),
    ]
    calls = calls_of(told + [{**row, "split": "fit", "episode_id": "f"} for row in told[:1]])
    found = support.states(calls, Target.table(calls, OFFER), Words())
    assert [(one.state, one.move, one.visits, one.tried, one.lost_calls) for one in found] == [
        ("1:5:none", "offer", 4, 1, 2),
        ("0:5:none", "offer", 4, 3, 1),
    ]


def rows_of(name, *turns):
    return [
        {
            "episode_id": name,
            "t": at,
            "state": state,
            "move": move,
            "propensity": SHARES[move],
            "split": "held_out",
        }
        for at, (state, move) in enumerate(turns)
    ]


# --------------------------------------------------------- what is kept


def test_a_table_that_is_added_refits_and_redraws_nothing(tmp_path, monkeypatch):
    from pytest_evalharness.engines.benchmark import leaderboard

    fitted = []

    def learns(part, params):
        fitted.append(1)
        return {"policy": OFFER}

    told, engine = evidence(rows(300)), Engine("it", learns)
    first = benchmark(told, [engine], tables={"close": {"0:5:none": "close"}}, how=QUICK, keep=tmp_path)
    drawn = []
    real = leaderboard.score
    monkeypatch.setattr(leaderboard, "score", lambda *a, **k: drawn.append(sorted(a[1])) or real(*a, **k))
    again = benchmark(told, [engine], tables={"close": {"0:5:none": "close"}}, how=QUICK, keep=tmp_path)
    assert again == first
    assert (fitted, drawn) == ([1], [])
    more = {"close": {"0:5:none": "close"}, "new": {"0:5:none": "offer"}}
    added = benchmark(told, [engine], tables=more, how=QUICK, keep=tmp_path)
    assert (fitted, drawn) == ([1], [["new"]])
    assert added["it"].estimates == first["it"].estimates
    assert added == benchmark(told, [engine], tables=more, how=QUICK)


def test_what_is_kept_belongs_to_its_evidence_its_code_and_its_knobs(tmp_path):
    fitted = []

    def learns(part, params):
        fitted.append(params)
        return {"policy": OFFER}

    told, engine = evidence(rows(120)), Engine("it", learns)
    few = Resampling(bootstrap=3)
    benchmark(told, [engine], how=few, keep=tmp_path)
    benchmark(told, [engine], how=few, keep=tmp_path, params={"it": {"alpha": 1}})
    benchmark(evidence(rows(121)), [engine], how=few, keep=tmp_path)
    engine.code = "edited"
    benchmark(told, [engine], how=few, keep=tmp_path)
    assert len(fitted) == 4
    for path in tmp_path.rglob("*.json"):
        path.write_text("{spoilt")
    assert benchmark(told, [engine], how=few, keep=tmp_path)["it"].status == "done"
    assert len(fitted) == 5


# ------------------------------------------------------------ later calls


def test_the_time_split_fits_on_earlier_calls_and_scores_later_ones():
    seen = []

    def learns(part, params):
        seen.append({row.episode_id for row in part.transitions()})
        return {"policy": OFFER}

    told = evidence(rows(500), manifest={"sample": "uniform; in the order of the export"})
    report = benchmark(told, [Engine("it", learns)], tables={"mine": OFFER}, how=QUICK)
    ids = list(dict.fromkeys(row.episode_id for row in told.transitions()))
    assert seen[1] == set(ids[:400])
    late = report["it"].time_split
    assert late.lift > 0
    assert late.ci[0] < late.lift < late.ci[1]
    assert report["mine"].time_split is None  # nobody knows on which calls it was fitted
    assert "on the last fifth of the calls" in "\n".join(rendering.opened(report, report["it"]))
    unordered = benchmark(evidence(rows(500)), [Engine("it", learns)], how=QUICK)
    assert unordered["it"].time_split is None
