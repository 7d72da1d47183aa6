"""`evalharness runs extend`: more games for what could not tell, counted as the look that it is."""

import json
import sqlite3

import pytest

from pytest_evalharness.cli import main
from pytest_evalharness.ledger.looks import Looks

OPEN = """
import pytest

@pytest.mark.league_ab(role="imposter", episodes=10, claim="better"{more})
def test_open(ab):
    ab.require()
"""


@pytest.fixture
def runs(project, capfd):
    def command(*words):
        capfd.readouterr()
        code = main(["runs", *words, "--home", str(project.home)])
        told = capfd.readouterr()
        return code, told.out, told.err

    return command


def run_ids(project):
    """The runs that there are. The names of two that began in one second are in no order."""
    return {path.name for path in (project.home / "runs").iterdir()}


def judged(project, **more):
    """A run of one case that cannot tell; its id."""
    words = "".join(f", {key}={value!r}" for key, value in more.items())
    project.cases(OPEN.format(more=words))
    assert project.judge_here().ret == 10
    return project.results()["run_id"]


def test_more_games_are_judged_with_the_first_by_overlap_for_good(project, runs):
    run_id = judged(project)
    code, out, errors = runs("extend", run_id, "--num", "6")
    assert code == 10
    assert "this is a look, and it is counted" in errors
    assert "/16 vs " in out
    assert "by the overlap rule, not the declared score" in out
    assert "1 unplanned" in out
    assert project.posted == 4
    again = project.judge_here()
    assert again.ret == 10
    assert project.posted == 4
    (found,) = project.results()["cases"][0]["results"]
    assert found["judgement"]["candidate"]["requested"] == 16
    assert found["judgement"]["rule"] == "overlap"
    assert len(found["episodes"]["candidate"]["rows"]) == 16
    code, out, _ = runs("extend", run_id, "--num", "4")
    assert code == 10
    assert "/20 vs " in out
    assert "2 unplanned" in out
    assert project.posted == 6


@pytest.mark.parametrize("rule", ["overlap", "always_valid"])
def test_a_rule_that_stands_looks_stays(project, runs, rule):
    run_id = judged(project, rule=rule)
    code, out, _ = runs("extend", run_id, "--num", "5")
    assert code in (0, 1, 10)
    assert "not the declared" not in out
    assert "/15 vs " in out
    assert project.posted == 4


def test_pairs_are_extended_by_pairs_with_seeds_of_their_own(project, runs):
    run_id = judged(project, pairing="seed")
    code, out, _ = runs("extend", run_id, "--num", "3")
    assert code in (0, 1, 10)
    assert "paired by seed" in out
    assert "/13 vs " in out
    assert project.posted == 26


def test_evidence_of_before_and_after_both_verify(project, runs, capfd):
    run_id = judged(project)
    runs("extend", run_id, "--num", "5")
    runs("export", run_id)
    content = json.loads((project.home / "runs" / run_id / "evidence.json").read_text())
    (one,) = content["comparisons"]
    assert one["judgement"]["candidate"]["requested"] == 10
    (newest,) = run_ids(project) - {run_id}
    runs("export", newest)
    for name in (run_id, newest):
        assert main(["runs", "verify", str(project.home / "runs" / name / "evidence.json")]) == 0


def test_what_could_tell_is_not_extended(project, runs):
    project.judge_here(candidate="keeper:v3")
    run_id = project.results()["run_id"]
    code, _, errors = runs("extend", run_id)
    assert code == 4
    assert "has no inconclusive comparison" in errors
    code, _, errors = runs("extend", run_id, "--case", "test_evals.py::test_crew")
    assert code == 4
    assert "is WORSE: only a comparison that could not tell can be extended" in errors
    assert "--eval-fresh" in errors
    assert project.posted == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--num", "0"), "must"),
        (("--num", "101"), "1 to 100"),
        (("--case", "t.py::none"), "has no case t.py::none"),
    ],
    ids=["0", "101", "case"],
)
def test_what_cannot_be_is_a_usage_error(project, runs, words, told):
    run_id = judged(project)
    try:
        code, _, errors = runs("extend", run_id, *words)
    except SystemExit as left:
        code, errors = left.code, told
    assert code == 4
    assert told in errors
    assert project.posted == 2


# ------------------------------------------------------- what changed since


GONE = "withdrawn=gantry:v4"


def refused(runs, run_id, *words):
    """An extension that is refused with what changed; what it said."""
    code, out, errors = runs("extend", run_id, "--num", "6", *words)
    assert code == 11
    assert out == ""
    assert "EVH218" in errors
    assert "not done: nothing was written down and nothing was submitted" in errors
    return errors


def test_a_field_that_is_gone_is_named_and_a_new_stratum_is_offered(project, runs):
    run_id = judged(project)
    project.league.fault(GONE)
    errors = refused(runs, run_id)
    assert "identical set-up: gantry:v4 (" in errors
    assert ") of its frozen field is no longer live" in errors
    command = f"runs extend {run_id} --num 6 --new-stratum --case test_evals.py::test_open"
    assert f"evalharness {command}: both arms play against the field as it is now" in errors
    assert project.posted == 2
    code, out, errors = runs(*command.removeprefix("runs ").split())
    assert code in (0, 1, 10)
    assert "6 games an arm against the field of " in errors
    assert "a new stratum; this is a look, and it is counted" in errors
    assert "A/B imposter: " in out
    assert out.count("configuration  : field ") == 2
    assert "CMH            : " in out
    assert "at the overlap rule's level, not the declared rule's" in out
    assert "1 unplanned; 2 configurations" in out
    assert project.posted == 4
    report = project.results()  # as its schema says
    (found,) = report["cases"][0]["results"]
    assert len(found["strata"]) == 2
    folder = project.home / "runs" / report["run_id"]
    assert out.rstrip().endswith(f"files: {folder}")
    explain = ["ab", "--explain", report["run_id"], "--home", str(project.home)]
    explained = main(explain)
    (folder / "results.json").unlink()
    assert main(explain) == explained  # from the ledger, the same


@pytest.fixture
def on_two_fields(project, runs):
    """A comparison that was extended by a second field; the id of the run that judged both."""
    run_id = judged(project)
    project.league.fault(GONE)
    code, _, errors = runs("extend", run_id, "--num", "6", "--new-stratum")
    assert code in (0, 1, 10), errors
    (newest,) = run_ids(project) - {run_id}
    return newest


def test_the_case_reads_both_fields_again_as_two_strata(project, on_two_fields):
    project.cases(
        OPEN.format(more="").replace(
            "ab.require()",
            "assert ab.candidate.requested == 16\n"
            "    assert [seat.label for seat in ab.roster.opponents].count('gantry:v4') == 0\n"
            "    assert len(ab.records['candidate'].games) == 16\n"
            "    assert ab.arms['baseline'].episodes == 6\n"
            "    ab.require()",
        )
    )
    again = project.judge_here()
    assert again.ret in (0, 1, 10), again.outlines
    assert project.posted == 4
    report = project.results()
    (found,) = report["cases"][0]["results"]
    judgement = found["judgement"]
    assert judgement["rule"] == "overlap"
    assert judgement["declaration"]["rule"] == "score"
    assert judgement["unplanned_looks"] == 1
    names = [stratum["name"] for stratum in judgement["strata"]]
    assert [name[:9] for name in names] == ["field 1 (", "field 2 ("]
    assert [stratum["candidate"]["requested"] for stratum in judgement["strata"]] == [10, 6]
    first, second = (found["strata"][name]["roster"]["opponents"] for name in names)
    assert {one["label"] for one in first} - {one["label"] for one in second} == {"gantry:v4"}
    assert found["evidence_age_seconds"] is not None
    folder = project.home / "runs" / report["run_id"]
    for name in ("summary.md", "report.html"):
        text = (folder / name).read_text()
        assert all(one.partition(" (")[0] in text for one in names), name
    properties = project.properties()[0]
    assert properties["evalharness.kind"] == "A/B pool"
    assert properties["evalharness.strata"].count("field ") == 2


def test_more_games_go_to_the_latest_field_and_every_state_verifies(project, runs, on_two_fields):
    before = run_ids(project)
    code, out, _ = runs("extend", on_two_fields, "--num", "4")
    assert code in (0, 1, 4, 10)
    if code == 4:  # it could tell by now
        assert project.posted == 4
        return
    assert "2 unplanned; 2 configurations" in out
    (newest,) = run_ids(project) - before
    for name in run_ids(project):
        assert runs("export", name)[0] == 0
        file = project.home / "runs" / name / "evidence.json"
        assert main(["runs", "verify", str(file)]) == 0
    content = json.loads((project.home / "runs" / newest / "evidence.json").read_text())
    strata = content["comparisons"][0]["judgement"]["strata"]
    assert [stratum["candidate"]["requested"] for stratum in strata] == [10, 10]
    block = content["comparisons"][0]["blocks"]["candidate+1"][0]
    for episode in block["evidence"]["episodes"]:
        episode["results"]["win"] = [not won for won in episode["results"]["win"]]
    forged = project.home / "forged.json"
    forged.write_text(json.dumps(content))
    assert main(["runs", "verify", str(forged)]) == 11


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("game-version=0.7.0", "the game was crewrift 0.6.2 (cow_"),
        ("scoring=reward", "scores were 3/1/0 and are reward points now"),
        ("withdrawn=keeper:v2", "nobody can seat keeper:v2 (the candidate) any more"),
    ],
)
def test_what_no_field_makes_comparable_is_refused_even_as_a_new_stratum(project, runs, fault, told):
    run_id = judged(project)
    project.league.fault(fault)
    for words in ((), ("--new-stratum",)):
        errors = refused(runs, run_id, *words)
        assert told in errors
        assert "--new-stratum" not in errors
    project.league.fault(GONE)
    assert told in refused(runs, run_id, "--new-stratum")
    assert project.posted == 2
    code, out, _ = runs("show", run_id)
    assert (code, out.count("A/B: INCONCLUSIVE")) == (0, 1)


def test_nobody_chooses_another_field_while_the_frozen_one_is_there(project, runs):
    run_id = judged(project)
    code, _, errors = runs("extend", run_id, "--num", "6", "--new-stratum")
    assert code == 4
    assert "needs no new stratum: everybody of its frozen field is live" in errors
    assert f"evalharness runs extend {run_id} --num 6: more games on the identical set-up" in errors
    assert project.posted == 2


@pytest.mark.parametrize(
    ("more", "why"),
    [
        pytest.param({"pairing": "seed"}, "pairing 'seed' cannot be pooled", marks=pytest.mark.slow),
        ({"claim": "separated"}, "claim 'separated' is read off one interval an arm"),
        pytest.param({"rule": "bayes"}, "rule 'bayes' never decides", marks=pytest.mark.slow),
    ],
    ids=["pairs", "separated", "bayes"],
)
def test_what_cannot_be_pooled_is_offered_no_new_stratum(project, runs, more, why):
    project.cases(
        OPEN.format(more="".join(f", {key}={value!r}" for key, value in more.items())).replace(
            'claim="better", claim', "claim"
        )
    )
    assert project.judge_here().ret == 10
    run_id = project.results()["run_id"]
    before = project.league.posts
    project.league.fault(GONE)
    errors = refused(runs, run_id)
    assert f"run its case with --eval-fresh; a further field is no way here: {why}" in errors
    code, _, errors = runs("extend", run_id, "--num", "6", "--new-stratum")
    assert code == 4
    assert why in errors
    assert project.league.posts == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "declared"),
    [
        ({"rule": "overlap"}, ""),
        ({"rule": "always_valid"}, ", not the declared rule's"),
        ({"rule": "exact"}, ", not the declared rule's"),
        ({"rule": "group_sequential", "looks": [5, 10]}, ", not the declared rule's"),
    ],
    ids=["overlap", "always_valid", "exact", "group_sequential"],
)
def test_every_rule_that_decides_gives_way_to_the_pooled_test(project, runs, more, declared):
    run_id = judged(project, **more)
    before = project.league.posts
    project.league.fault(GONE)
    code, out, errors = runs("extend", run_id, "--num", "5", "--new-stratum")
    assert code in (0, 1, 10), errors
    assert f"at the overlap rule's level{declared}" in out
    assert ("not the declared" in out) is bool(declared)
    assert project.league.posts == before + 2
    assert project.judge_here().ret == code
    assert project.league.posts == before + 2


# ------------------------------------------------------------ which attempt


def test_the_attempt_that_was_named_is_extended_not_a_later_one(project, runs):
    run_id = judged(project)
    project.judge_here("--eval-fresh")
    assert project.posted == 4
    code, out, _ = runs("extend", run_id, "--num", "6")
    assert code in (0, 1, 10)
    assert "/16 vs " in out
    assert project.posted == 6
    shown = runs("show", run_id)[1]
    assert "  A/B: INCONCLUSIVE, " in shown
    assert "extended since : A/B: " in shown
    assert "other attempt  : A/B: " in shown
    assert "together       : all 2 attempts together: " in shown


def test_planned_looks_that_are_left_come_first_under_the_declared_rule(project, runs, monkeypatch):
    take = Looks.take

    def dies(self, *args, **words):
        take(self, *args, **words)
        raise OSError("the disk is gone")

    monkeypatch.setattr(Looks, "take", dies)
    project.cases(OPEN.format(more=", rule='group_sequential', looks=[5, 10]"))
    assert project.judge_here().ret != 0
    monkeypatch.setattr(Looks, "take", take)
    assert project.posted == 2
    (run_id,) = run_ids(project)
    code, out, errors = runs("extend", run_id, "--num", "5")
    assert code in (0, 1, 10)
    assert "planned looks are left and played first, the declared group_sequential rule stays" in errors
    assert "look 2 of 2" in out
    assert "unplanned" not in out
    assert project.posted == 4
    if code == 10:
        code, out, _ = runs("extend", run_id, "--num", "5")
        assert "by the overlap rule, not the declared group_sequential" in out


@pytest.mark.slow
def test_all_chosen_comparisons_are_extended_or_none(project, runs):
    project.cases(
        OPEN.format(more="")
        + OPEN.format(more=', opponents=["rival:v3"]')
        .replace("test_open", "test_rival")
        .replace("import pytest", "")
    )
    project.judge_here("--eval-multiplicity=none")
    run_id = project.results()["run_id"]
    before = project.league.posts
    project.league.fault("withdrawn=rival:v3")
    code, _, errors = runs("extend", run_id, "--num", "6")
    assert code == 11
    assert "rival:v3" in errors
    assert project.league.posts == before
    assert "unplanned" not in runs("show", run_id)[1]


# ------------------------------------------------- an extension on its way


@pytest.fixture
def waiting(project, runs, unhurried):
    """A comparison whose extension stands in the queue, no longer waited for; its run's id."""
    run_id = judged(project)
    project.league.fault("slow-queue=600")
    with_short_patience(project, run_id)
    code, out, _ = runs("extend", run_id, "--num", "6")
    assert code == 11, out
    return run_id


def with_short_patience(project, run_id):
    """Make the run's own queue budget short, as the commands on it will read it."""
    with sqlite3.connect(project.home / "ledger.sqlite") as file:
        (told,) = file.execute("SELECT info_json FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        info = json.loads(told)
        info["settings"]["queue_budget"] = 0.3
        file.execute("UPDATE runs SET info_json = ? WHERE run_id = ?", (json.dumps(info), run_id))


@pytest.mark.slow
def test_an_unfinished_extension_says_so_and_can_be_looked_at_and_ended(project, runs, waiting):
    assert "extended, not finished" in runs("ls")[1]
    code, _, errors = runs("extend", waiting)
    assert code == 4
    assert "has no inconclusive comparison" in errors
    code, out, _ = runs("look", waiting)
    assert code == 0
    assert "finished games (16 asked for)" in out
    shown = runs("show", waiting)[1]
    assert "/10 vs " in shown
    project.league.heal()
    project.league.fault("withdrawn=keeper:v2")
    code, out, errors = runs("cancel", waiting)
    assert code == 0
    assert out.count(" cancelled\n") == 2
    assert "extended, cancelled" in runs("ls")[1]


def test_a_refused_extension_is_withdrawn_and_the_verdict_stands(project, runs):
    run_id = judged(project)
    project.league.fault("reject-body=422")
    code, out, _ = runs("extend", run_id, "--num", "6")
    assert code == 11
    project.league.heal()
    posts = project.league.posts
    code, out, _ = runs("cancel", run_id)
    assert code == 0
    assert "its extension was not posted and is withdrawn; its earlier verdict stands" in out
    assert "INCONCLUSIVE" in runs("ls")[1]
    again = project.judge_here()
    assert again.ret == 10
    (found,) = project.results()["cases"][0]["results"]
    assert found["judgement"]["candidate"]["requested"] == 10
    assert found["judgement"]["unplanned_looks"] == 1  # whoever extends has seen the results
    assert project.league.posts == posts
