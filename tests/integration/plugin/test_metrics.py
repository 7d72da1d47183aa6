"""Other metrics than the win rate, end to end: seat scores and functions of one's own."""

import json

import pytest

from pytest_evalharness.cli import main

SCORE = """
import pytest

@pytest.mark.league_ab(role="imposter", episodes=20, claim="noninferior", margin=2.5, metric="seat score")
def test_imposter(ab):
    ab.require()
"""
TASKS = """
import pytest

def tasks_done(game):
    return game.own("tasks")

@pytest.mark.league_ab(role="crew", episodes=20, claim="better", metric=tasks_done)
def test_tasks(ab):
    ab.require()
"""


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


def judged(project, place=0):
    return project.results()["cases"][place]["results"][0]["judgement"]


def rows(project, side):
    return project.results()["cases"][0]["results"][0]["episodes"][side]["rows"]


def exported(project, tmp_path):
    out = tmp_path / "evidence.json"
    run = project.results()["run_id"]
    assert main(["runs", "export", run, "--home", str(project.home), "--output", str(out)]) == 0
    return out


def test_the_seat_score_decides_in_its_own_units(project, tmp_path):
    result = project.cases(SCORE).judge_here()
    told = judged(project)
    means = {side: [row["score"] for row in rows(project, side)] for side in ("candidate", "baseline")}
    assert told["measure"]["candidate"] == pytest.approx(sum(means["candidate"]) / 20)
    assert told["diff"] == pytest.approx((sum(means["candidate"]) - sum(means["baseline"])) / 20)
    assert told["declaration"]["metric"] == "score"
    assert result.ret in {0, 10}
    first = next(line for line in said(result).splitlines() if "A/B imposter" in line)
    assert "seat score" in first
    assert " pp" not in first
    assert (project.properties()[0]["evalharness.metric"]) == "seat score"
    summary = next(project.home.glob("runs/*/summary.md")).read_text()
    assert "seat score" in summary
    assert main(["runs", "verify", str(exported(project, tmp_path))]) == 0


def test_a_function_of_the_case_decides_and_its_numbers_are_evidence(project, tmp_path, capsys):
    """Offline, without the function: the numbers that it said are in the file."""
    result = project.cases(TASKS).judge_here()
    assert result.ret in {0, 10}
    told = judged(project)
    assert told["declaration"]["metric"] == "test_evals:tasks_done"
    assert 0 <= told["measure"]["baseline"] <= 8
    assert "tasks_done" in said(result)
    out = exported(project, tmp_path)
    content = json.loads(out.read_text())
    block = content["comparisons"][0]["blocks"]["candidate"][0]
    by_hand = {one["id"]: one["results"]["tasks"][0] for one in block["evidence"]["episodes"]}
    assert block["values"] == by_hand
    assert main(["runs", "verify", str(out)]) == 0
    block["values"][next(iter(by_hand))] += 3
    out.write_text(json.dumps(content))
    capsys.readouterr()
    assert main(["runs", "verify", str(out)]) == 11
    assert "measure.candidate is" in capsys.readouterr().out


def test_what_a_function_said_first_is_what_counts(project):
    project.cases(TASKS).judge_here()
    before = judged(project)
    project.cases(TASKS.replace('game.own("tasks")', '100 - game.own("tasks")'))
    project.judge("-p", "no:cacheprovider")
    assert project.posted == 2
    assert judged(project)["measure"] == before["measure"]


def test_a_function_that_fails_costs_no_game(project):
    broken = TASKS.replace('game.own("tasks")', 'game.own("luck")')
    result = project.cases(broken).judge_here()
    assert result.ret == 4
    assert "the metric test_evals:tasks_done failed with KeyError: 'luck'" in said(result)
    assert "the games that were played are kept" in said(result)
    mended = project.cases(TASKS).judge("-p", "no:cacheprovider")
    assert mended.ret in {0, 10}
    assert project.posted == 2, "nothing is posted twice"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ('metric="nowhere.at_all:f"', "the metric nowhere.at_all:f cannot be had: ModuleNotFoundError"),
        ('metric="json:nothing"', "the metric json:nothing cannot be had: AttributeError"),
        ("metric=lambda game: 1.0", "has no name by which another process could find it"),
        ('metric="luck"', "metric must be 'win rate', 'seat score', or a function's name"),
        ('metric="seat score", rule="overlap"', "rule 'overlap' is for win rates"),
    ],
)
def test_a_metric_that_cannot_be_had_stops_the_run_before_anything_is_posted(project, words, message):
    result = project.cases(TASKS.replace("metric=tasks_done", words)).judge_here()
    assert result.ret == 4
    assert message in said(result)
    assert project.posted == 0


@pytest.mark.slow
def test_workers_find_the_function_too(project):
    alone = project.cases(TASKS).judge()
    told = judged(project)
    workers = project.judge("-n", "2", "--eval-fresh")
    assert workers.ret in {0, 1, 10}
    assert judged(project)["measure"]["test"] == told["measure"]["test"] == "Welch"
    assert alone.ret in {0, 10}


@pytest.mark.slow
def test_pairs_and_compare_take_a_metric_too(project):
    result = project.cases("""
        import pytest

        def tasks_done(game):
            return game.own("tasks")

        @pytest.mark.league_ab(role="crew", episodes=6, claim="better", metric=tasks_done, pairing="seed")
        def test_pairs(ab):
            ab.require()

        def test_compared(arm, compare):
            found = compare(arm({0: "keeper:v2"}), arm({0: "keeper:v1"}), seat=0, episodes=7, metric=tasks_done, claim="not_worse")
            found.require()
    """).judge("--eval-dry-run")
    assert "tasks_done by Student's t" in said(result)
    assert project.judge().ret in {0, 1, 10}
    assert judged(project)["measure"]["test"] == "paired t"
    assert judged(project, 1)["measure"]["test"] == "Welch"


def test_a_crash_counts_as_the_least_that_a_game_brought(project):
    project.league.fault("fail-players=1:keeper:v2:crash")
    project.cases(TASKS).judge_here()
    told = judged(project)
    assert told["candidate"]["charged"] == 1
    assert told["measure"]["candidate"] < 8
    assert told["candidate"]["finished"] == 20


def test_a_pool_has_no_metric_but_wins(project):
    result = project.cases("""
        import pytest

        @pytest.mark.league_pool(configs=[{"role": "crew"}, {"role": "imposter"}], episodes=5, metric="seat score")
        def test_pool(pool):
            pool.require()
    """).judge_here()
    assert result.ret == 4
    assert "metric 'seat score' has no way to pool" in said(result)
