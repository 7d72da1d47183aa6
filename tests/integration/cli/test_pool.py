"""`evalharness pool`: all finished comparisons of two builds, or none."""

import json

import pytest

from pytest_evalharness.stats import pooled
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.words import Reason

SEATS = Finding(Reason.SEATS, "ereq_1: seat 0 holds a filler", "candidate")


def test_it_judges_all_configurations_of_two_builds(book, command):
    book.run("run-1", book.one("t.py::test_crew", (22, 13)))
    book.run("run-2", book.one("t.py::test_imposter", (20, 12), seat=2))
    code, out, errors = command("pool", "run-1", "run-2")
    assert (code, errors) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("A/B pool of bot:v2 against bot:v1: BETTER, +28.3 pp [")
    assert lines[1:3] == [
        "  configuration  : t.py::test_crew  22/30 vs 13/30  +0.300",
        "  configuration  : t.py::test_imposter  20/30 vs 12/30  +0.267",
    ]
    assert lines[-2:] == [
        "  note           : the pool was declared after its results were seen: exploratory",
        "note: the field is the embedded league (seed 2026): real games, invented players",
    ]
    told = json.loads(command("pool", "run-1", "run-2", "--json")[1])
    assert told["exit_code"] == 0
    assert told["judgement"]["p"] == pytest.approx(pooled.cmh([(22, 30, 13, 30), (20, 30, 12, 30)])[1])
    assert [len(one["comparisons"]) for one in told["strata"]] == [1, 1]
    assert told["servers"] == ["embedded:2026"]


def test_a_hosted_league_is_no_embedded_one(book, command):
    book.server = "https://league.test/api"
    book.run(
        "run-1", book.one("t.py::test_crew", (22, 13)), book.one("t.py::test_imposter", (20, 12), seat=2)
    )
    code, out, errors = command("pool", "run-1")
    assert (code, errors) == (0, "")
    assert "embedded" not in out


@pytest.mark.parametrize(
    ("wins", "code", "word"),
    [((12, 22), 1, "WORSE"), ((15, 14), 10, "INCONCLUSIVE"), ((22, 12), 0, "BETTER")],
)
def test_exit_codes(book, command, wins, code, word):
    book.run("run-1", book.one("t.py::test_crew", wins), book.one("t.py::test_imposter", wins, seat=2))
    found, out, _ = command("pool", "run-1")
    assert found == code
    assert f": {word}, " in out.splitlines()[0]


# ------------------------------------------------------------ one score regime

POINTS, OUTCOMES = [108, 7, 6, 8, 8, 3, 5, 20], [1, 0, 0, 0, 0, 0, 0, 0]


def test_games_of_two_score_regimes_are_never_pooled(book, command):
    """One run before the service changed what a score means, one after it."""
    book.run("run-1", book.one("t.py::test_crew", (22, 13), scores=POINTS))
    book.run("run-2", book.one("t.py::test_imposter", (20, 12), seat=2, scores=OUTCOMES))
    code, out, _ = command("pool", "run-1", "run-2")
    assert code == 11
    assert (
        "scores do not mean the same: t.py::test_crew by reward points, t.py::test_imposter by 1/0 or 3/1/0"
        in out
    )
    assert " pp" not in out


@pytest.mark.parametrize("scores", [POINTS, OUTCOMES])
def test_games_of_one_regime_are(book, command, scores):
    book.run("run-1", book.one("t.py::test_crew", (22, 13), scores=scores))
    book.run("run-2", book.one("t.py::test_imposter", (20, 12), seat=2, scores=scores))
    assert command("pool", "run-1", "run-2")[0] == 0


# ------------------------------------------------------------- all, or none


def test_a_comparison_that_was_not_named_makes_it_untrustworthy_and_is_named(book, command):
    book.run("run-1", book.one("t.py::test_crew", (22, 13)))
    book.run("run-2", book.one("t.py::test_imposter", (20, 12), seat=2))
    book.run("run-3", book.one("t.py::test_map", (10, 16), opponents=("ember",)))
    book.run("run-4", book.one("t.py::test_other", (10, 16), names=("bot:v3", "bot:v1")))
    code, out, errors = command("pool", "run-1", "run-2")
    assert code == 11
    assert "UNTRUSTWORTHY, judged comparisons of the same two builds are left out of the pool" in out
    assert "(t.py::test_map of run run-3)" in out
    assert " pp" not in out
    assert errors == f"  next:     evalharness pool run-1 run-2 run-3 --home {book.home}\n"
    assert command("pool", "run-1", "run-2", "run-3")[0] in (0, 10)


def test_an_earlier_attempt_is_not_forgotten(book, command):
    book.run("run-1", book.one("t.py::test_crew", (12, 15)))
    book.run(
        "run-2", book.one("t.py::test_crew", (22, 13), fresh=True), book.one("t.py::test_i", (20, 12), seat=2)
    )
    code, out, _ = command("pool", "run-2")
    assert code == 11
    assert "t.py::test_crew of run run-1" in out
    code, out, _ = command("pool", "run-1", "run-2")
    assert code in (0, 10)
    assert "t.py::test_crew  12/30 vs 15/30" in out
    assert "t.py::test_crew (attempt 2)  22/30 vs 13/30" in out


def test_what_was_read_again_by_another_run_is_one_configuration(book, command):
    book.run("run-1", book.one("t.py::test_crew", (22, 13)), book.one("t.py::test_i", (20, 12), seat=2))
    book.run("run-2", book.again("t.py::test_crew", "run-1"))
    told = json.loads(command("pool", "run-1", "run-2", "--json")[1])
    assert len(told["strata"]) == 2
    assert command("pool", "run-1")[0] == 0  # nothing is left out: run-2 has no games of its own
    assert command("pool", "run-2")[0] == 4


def test_two_claims_about_the_same_arms_are_one_configuration(book, command):
    book.run(
        "run-1",
        book.one("t.py::test_better", (22, 13)),
        book.one("t.py::test_not_worse", (22, 13), claim="not_worse"),
        book.one("t.py::test_i", (20, 12), seat=2),
    )
    told = json.loads(command("pool", "run-1", "--json")[1])
    assert [len(one["comparisons"]) for one in told["strata"]] == [2, 1]
    assert told["exit_code"] == 0


def test_declared_pools_bring_their_configurations(book, command):
    book.run("run-1", book.many("t.py::test_pool", [(22, 13), (20, 12)]))
    book.run("run-2", book.one("t.py::test_map", (21, 14), opponents=("ember",)))
    code, out, _ = command("pool", "run-1", "run-2")
    assert code == 0
    assert "  configuration  : t.py::test_pool [crew]  22/30 vs 13/30" in out
    assert "  configuration  : t.py::test_pool [imposter]  20/30 vs 12/30" in out
    assert "3 configurations" in out
    assert command("pool", "run-2")[0] == 4


def test_members_that_are_not_finished_or_not_to_be_trusted_are_named(book, command):
    book.run("run-1", book.one("t.py::test_crew", (22, 13)), book.one("t.py::test_open", seat=2))
    code, out, _ = command("pool", "run-1")
    assert code == 11
    assert "an arm had not finished when it was read (t.py::test_open, not posted)" in out
    book.run("run-2", book.one("t.py::test_bad", (22, 13), trust=[SEATS], opponents=("ember",)))
    code, out, _ = command("pool", "run-1", "run-2")
    assert code == 11
    assert (
        "players did not sit where they were placed (candidate: t.py::test_bad, ereq_1: seat 0 holds a filler)"
        in out
    )


def test_an_aa_run_judges_no_edit_and_is_no_member(book, command):
    book.run("run-1", book.one("t.py::test_crew", (22, 13)), book.one("t.py::test_i", (20, 12), seat=2))
    book.run("run-2", book.one("t.py::test_crew", (15, 15), aa=True))
    assert command("pool", "run-1")[0] == 0
    code, _, errors = command("pool", "run-2")
    assert code == 4
    assert "none that judges an edit" in errors


# ------------------------------------------------------------------ the claim


@pytest.mark.parametrize(
    "words", [("--claim", "not_worse"), ("--claim", "noninferior", "--margin", "0.2"), ("--margin", "0.1")]
)
def test_another_claim_than_the_declared_one_is_untrustworthy(book, command, words):
    book.run("run-1", book.one("t.py::test_crew", (22, 13)), book.one("t.py::test_i", (20, 12), seat=2))
    code, out, _ = command("pool", "run-1", *words)
    assert code == 11
    assert (
        "the declaration was changed after results could be seen (t.py::test_crew declared better by the score"
        in out
    )


def test_the_rule_is_part_of_what_was_declared(book, command):
    book.run(
        "run-1",
        book.one("t.py::test_crew", (29, 13), rule="overlap"),
        book.one("t.py::test_i", (20, 12), seat=2),
    )
    code, out, _ = command("pool", "run-1")
    assert code == 11
    assert (
        "t.py::test_crew declared better by the overlap rule, the pool is asked for better by the score rule"
        in out
    )


def test_a_claim_that_all_declared_is_taken(book, command):
    words = {"claim": "noninferior", "margin": 0.2}
    book.run("run-1", book.one("t.py::a", (22, 13), **words), book.one("t.py::b", (20, 12), seat=2, **words))
    code, out, _ = command("pool", "run-1")
    assert code == 0
    assert "noninferior within 0.20 met" in out


def test_a_margin_is_asked_for(book, command):
    book.run("run-1", book.one("t.py::a", (22, 13)), book.one("t.py::b", (20, 12), seat=2))
    code, _, errors = command("pool", "run-1", "--claim", "noninferior")
    assert code == 4
    assert "needs a margin" in errors
    code, _, errors = command("pool", "run-1", "--effects", "random")
    assert code == 4
    assert "at least 4 configurations" in errors


def test_an_unplanned_look_at_a_member_asks_more_of_the_pool(book, command):
    book.run("run-1", book.one("t.py::a", (19, 13)), book.one("t.py::b", (18, 12), seat=2))
    assert command("pool", "run-1")[0] == 0
    with book._ledger() as ledger:
        ledger.looks.unplanned(ledger.runs.newest_first()[0].comparisons[0], {}, run_id="run-1")
    code, out, _ = command("pool", "run-1")
    assert code == 10
    assert "the overlap rule decides for good (once)" in out


# ----------------------------------------------------------------- usage


def test_a_run_that_does_not_exist_lists_the_latest(book, command):
    for number in range(1, 8):
        book.run(f"run-{number}")
    code, _, errors = command("pool", "run-1", "run-99")
    assert code == 4
    assert "there is no run 'run-99'" in errors
    assert "the latest are: run-7, run-6, run-5, run-4, run-3\n" in errors


def test_several_pairs_of_builds_must_be_told_apart(book, command):
    book.run("run-1", book.one("t.py::a", (22, 13)), book.one("t.py::b", (20, 12), seat=2))
    book.run("run-2", book.one("t.py::c", (10, 13), names=("bot:v3", "bot:v1")))
    code, _, errors = command("pool", "run-1", "run-2")
    assert code == 4
    assert (
        "several pairs of builds are compared in these runs: bot:v2 against bot:v1; bot:v3 against bot:v1"
        in errors
    )
    assert "--candidate NAME:vN" in errors
    assert command("pool", "run-1", "run-2", "--candidate", "bot:v2")[0] == 0
    assert command("pool", "run-1", "run-2", "--candidate", "id-bot:v2", "--baseline", "bot:v1")[0] == 0
    code, _, errors = command("pool", "run-1", "run-2", "--candidate", "bot:v9")
    assert code == 4
    assert "no such builds" in errors


def test_one_configuration_is_no_pool_and_the_rest_is_named(book, command):
    book.run("run-1", book.one("t.py::a", (22, 13)))
    code, _, errors = command("pool", "run-1")
    assert code == 4
    assert "play another configuration" in errors
    book.run("run-2", book.one("t.py::b", (20, 12), seat=2))
    code, _, errors = command("pool", "run-1")
    assert code == 4
    assert "these runs have 1 of bot:v2 against bot:v1; 1 more is in runs that were not named" in errors
    assert "next:     evalharness pool run-1 run-2" in errors


def test_names_from_outside_steer_no_terminal(book, command):
    book.run("run-1", book.one("t.py::a[\x1b[31m]", (22, 13)), book.one("t.py::b", (20, 12), seat=2))
    code, out, _ = command("pool", "run-1")
    assert code == 0
    assert "\x1b" not in out
