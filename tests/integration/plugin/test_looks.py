"""Looks, planned and changed: posted block by block, stopped early, read again, and held to what was declared."""

import json
import sqlite3

import pytest

PLANNED = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=40, claim="better", rule="group_sequential")
def test_crew(ab):
    ab.require()
"""


def looks(project):
    """(position, decided) of every look in the project's ledger."""
    with sqlite3.connect(project.home / "ledger.sqlite") as file:
        return file.execute("SELECT position, decided FROM looks ORDER BY look_id").fetchall()


def states(project):
    with sqlite3.connect(project.home / "ledger.sqlite") as file:
        return [state for (state,) in file.execute("SELECT state FROM blocks ORDER BY block_id")]


def test_a_large_effect_stops_early_and_the_rest_is_never_posted(project, workers):
    project.cases(PLANNED)
    result = project.judge_here(*workers, candidate="keeper:v3")
    assert result.ret == 1
    taken = looks(project)
    assert taken[-1][1] == 1
    assert len(taken) < 3
    assert project.posted == 2 * len(taken)
    assert sorted(set(states(project))) == ["cancelled", "finished"]
    (found,) = project.results()["cases"][0]["results"]
    assert found["judgement"]["rule"] == "group_sequential"
    assert found["judgement"]["look"] == len(taken) - 1
    assert found["judgement"]["candidate"]["requested"] == (12, 24, 40)[len(taken) - 1]
    again = project.judge_here(*workers, candidate="keeper:v3")
    assert again.ret == 1
    assert project.posted == 2 * len(taken)
    assert looks(project) == taken


def test_no_effect_goes_through_every_look(project):
    project.cases(PLANNED.replace("40", "15"))
    result = project.judge_here("--eval-aa")
    assert result.ret in (0, 11)  # an alarm is possible, if rare
    assert [position for position, _ in looks(project)] == [0, 1, 2][: len(looks(project))]
    assert project.posted == 2 * len(looks(project))


def test_looks_that_miss_the_last_game_are_a_usage_error(project):
    project.cases(PLANNED.replace('rule="group_sequential"', 'rule="overlap", looks=[10, 20]'))
    result = project.judge_here()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*the last look must read all 40 episodes, got looks *10, 20*"])
    assert project.posted == 0


def test_looks_under_a_rule_for_one_are_a_usage_error(project):
    project.cases(PLANNED.replace('rule="group_sequential"', "looks=[10, 40]"))
    result = project.judge_here()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*looks need a rule that stands them*"])


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('claim="better"', 'claim="not_worse"', 'claim "better" -> "not_worse"'),
        ('claim="better"', 'claim="better", rule="overlap"', 'rule "score" -> "overlap"'),
        ('claim="better"', 'claim="better", margin=0.2', "margin none -> 0.2"),
        ('claim="better"', 'claim="better", missing="strict"', 'missing none -> "strict"'),
    ],
)
def test_a_declaration_that_changes_after_the_result_is_not_judged(project, before, after, told):
    case = PLANNED.replace(
        'episodes=40, claim="better", rule="group_sequential"', 'episodes=12, claim="better"'
    )
    project.cases(case)
    project.judge_here()
    posted = 2
    assert project.posted == posted
    project.cases(case.replace(before, after))
    for _ in range(2):  # asking twice does not help
        changed = project.judge_here()
        assert changed.ret == 11
        changed.stdout.fnmatch_lines(
            [f"*the declaration was changed after results of the same question were seen: {told}"]
        )
        assert project.posted == posted
    fresh = project.judge_here("--eval-fresh")
    assert fresh.ret != 11
    assert project.posted == 2 * posted
    (found,) = project.results()["cases"][0]["results"]
    assert len(found["earlier"]) == 1  # the other record is shown beside it
    assert project.judge_here().ret == fresh.ret
    assert project.posted == 2 * posted


def test_two_claims_about_one_question_may_be_declared_together(project):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="crew", episodes=12, claim="better")
        def test_better(ab):
            ab.require()

        @pytest.mark.league_ab(role="crew", episodes=12, claim="noninferior", margin=0.3)
        def test_not_hurt(ab):
            ab.require()
    """)
    first = project.judge_here()
    assert first.ret != 11
    assert project.posted == 2  # one pair of arms answers both
    assert project.judge_here().ret == first.ret
    assert json.loads((project.home / "runs" / project.results()["run_id"] / "results.json").read_text())
