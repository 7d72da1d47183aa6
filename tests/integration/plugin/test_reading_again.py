"""A finished comparison is read from the ledger: only what could have changed since is asked of the server."""

import shutil

import pytest

FEW = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=5, claim="better", {more})
def test_crew(ab):
    ab.require()
"""
POOL = """
import pytest

@pytest.mark.league_pool(configs=[{"role": "crew"}, {"role": "imposter"}], episodes=5, claim="not_worse")
def test_pool(pool):
    pool.require()
"""


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


def test_the_embedded_league_is_not_started_to_read_a_finished_comparison(project, monkeypatch, workers):
    monkeypatch.delenv("SOFTMAX_CONFIG_DIR")
    project.cases(FEW.format(more=""))
    first = project.judge_here(server="embedded")
    before = project.results()["cases"]
    arena = project.home / "arena"
    shutil.rmtree(arena)
    again = project.judge_here(*workers, server="embedded")
    assert again.ret == first.ret
    assert not arena.exists()
    assert "nothing was posted; --eval-fresh starts another attempt" in said(again)
    (case,) = project.results()["cases"]
    (found,), (then,) = case["results"], before[0]["results"]
    assert found["judgement"] == then["judgement"]
    assert found["evidence_age_seconds"] > 0


@pytest.mark.slow
def test_the_embedded_league_is_started_for_whatever_is_not_in_the_ledger(project, monkeypatch):
    monkeypatch.delenv("SOFTMAX_CONFIG_DIR")
    project.cases(FEW.format(more=""))
    project.judge_here(server="embedded")
    arena = project.home / "arena"
    for more in (("--eval-fresh",), ("--eval-num=6",), ("--eval-dry-run",)):
        shutil.rmtree(arena)
        project.judge_here(*more, server="embedded")
        assert arena.exists(), more


def asked(league, play):
    """How many requests of the API something takes."""
    before = league._call("/_arena/counters")["requests_total"]
    play()
    return league._call("/_arena/counters")["requests_total"] - before


@pytest.mark.parametrize("source", [FEW.format(more=""), POOL], ids=["comparison", "pool"])
def test_a_hosted_league_is_asked_how_it_is_spoken_to_and_for_the_account_and_nothing_else(project, source):
    project.cases(source)
    first = project.judge_here()
    assert asked(project.league, project.judge_here) == 2
    assert project.judge_here().ret == first.ret
    assert "read again" in said(project.judge_here())


def test_what_could_mean_something_else_by_now_is_resolved_again(project):
    """A name without a number, and somebody else's version, which may leave its league."""
    for words in ({"candidate": "keeper-alias", "baseline": "keeper:v2"}, {"candidate": "rival:v3"}):
        project.cases(FEW.format(more=""))
        project.judge_here(**words)
        assert asked(project.league, lambda words=words: project.judge_here(**words)) > 2
    assert project.posted == 4


def test_another_declaration_after_results_is_refused_as_before(project):
    project.cases(FEW.format(more=""))
    project.judge_here()
    project.cases(FEW.format(more="margin=0.3"))
    again = project.judge_here()
    assert again.ret == 11
    assert "EVH215" in said(again)
    assert project.posted == 2
