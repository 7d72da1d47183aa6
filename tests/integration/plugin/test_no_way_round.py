"""Ways round the rules that somebody tried: each is closed, or told where it cannot be."""

import pytest

from pytest_evalharness.cli import main


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


def test_what_cannot_be_believed_shows_no_win_in_any_file(project, monkeypatch, tmp_path):
    summary = tmp_path / "summary"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="crew", episodes=13, claim="better")
        def test_ab(ab):
            ab.require()

        @pytest.mark.league_pool(configs=[{"role": "crew"}, {"role": "imposter"}], episodes=11, claim="better")
        def test_pool(pool):
            pool.require()
    """)
    project.league.fault("shuffled-seats")
    result = project.judge_here()
    assert result.ret == 11
    for text in (
        said(result),
        summary.read_text(),
        *(p.read_text() for p in project.home.glob("runs/*/summary.md")),
    ):
        assert "/13" not in text
        assert "/11" not in text
    for properties in project.properties():
        assert properties["evalharness.wins_candidate"] == properties["evalharness.wins_baseline"] == ""
        assert properties["evalharness.strata"] == ""


def test_a_seed_that_was_fixed_and_not_played_is_no_way_to_have_copies_counted(project):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="crew", episodes=6, claim="better", config={"seed": 7})
        def test_crew(ab):
            ab.require()
    """)
    project.league.fault("ignored-seed")
    result = project.judge_here()
    assert result.ret == 11
    assert "were not played with the seeds that were asked for" in said(result)
    project.league.heal()
    copies = project.judge_here("--eval-fresh")
    assert copies.ret == 11
    assert 'pairing="seed" gives each pair one of its own' in said(copies)


def test_a_guard_with_a_margin_nothing_could_miss_gives_no_direction_by_itself(project):
    case = """
@pytest.mark.league_ab(role="crew", episodes={n}, claim="noninferior", margin=0.9)
def test_{n}(ab):
    ab.require("better")
"""
    project.cases("import pytest\n" + "".join(case.format(n=n) for n in (5, 6, 7, 8, 9, 10)))
    project.judge_here()
    for one in project.results()["cases"]:
        (found,) = one["results"]
        judged = found["judgement"]
        assert judged["decision"] == "met"  # the margin, by itself
        assert judged["family"] == 6
        assert (judged["verdict"] == "better") == (judged["p_adjusted"] <= 0.05)


def test_another_ranking_depth_is_no_other_question_and_another_number_is_told(project):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="imposter", claim="better")
        def test_imposter(ab):
            ab.require()
    """)
    assert project.judge_here("--eval-num=8").ret == 10
    assert project.judge_here("--eval-num=8", "--eval-top-n=12").ret == 10
    assert project.posted == 2
    another = project.judge_here("--eval-num=9")
    assert project.posted == 4
    (found,) = project.results()["cases"][0]["results"]
    assert len(found["elsewhere"]) == 1
    assert "by other questions: inconclusive (8 episodes, run " in said(another)


def test_an_expected_failure_does_not_make_evidence_of_none(project):
    project.cases("""
        import pytest

        @pytest.mark.xfail
        @pytest.mark.league_ab(role="crew", episodes=6, claim="better")
        def test_crew(ab):
            ab.require()
    """)
    project.league.fault("shuffled-seats")
    assert project.judge_here().ret == 11


def test_an_arm_that_never_played_is_no_evidence(project):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="crew", episodes=6, claim="better")
        def test_crew(ab):
            ab.require()
    """)
    project.league.fault("fail-games=6:keeper:v1:player_error")
    result = project.judge_here()
    assert result.ret == 11
    assert "0 of 6 finished, 6 lost by its own failure" in said(result)


def test_games_lost_by_a_failure_stand_in_the_first_line(project):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="crew", episodes=6, claim="better")
        def test_crew(ab):
            ab.require()
    """)
    project.league.fault("fail-games=2:keeper:v1:player_error")
    assert "/6 (2 lost by its own failure)" in said(project.judge_here("-v"))


@pytest.mark.parametrize("option", ["test_evals.py::test_one", "--ignore=test_other.py", "--lf"])
def test_a_narrower_collection_is_told_even_where_one_claim_is_left(project, option):
    project.pytester.makepyfile(
        test_evals="import pytest\n"
        "@pytest.mark.league_ab(role='crew', episodes=5, claim='better')\ndef test_one(ab):\n    ab.require()\n",
        test_other="import pytest\n"
        "@pytest.mark.league_ab(role='imposter', episodes=5, claim='better')\ndef test_two(ab):\n    ab.require()\n",
    )
    if option == "--lf":
        project.pytester.makepyfile(
            test_evals="import pytest\n"
            "@pytest.mark.league_ab(role='crew', episodes=5, claim='better')\ndef test_one(ab):\n    assert False\n"
        )
        project.judge_here("--eval-home=elsewhere")
    text = said(project.judge_here(option))
    assert "a narrower path is a narrower family" in text
    assert "(1 claim)" in text


def test_a_look_shows_nothing_of_games_that_cannot_be_believed(project, capfd, monkeypatch):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="crew", episodes=8, claim="better")
        def test_crew(ab):
            ab.require()
    """)
    project.league.fault("shuffled-seats")
    project.judge_here("--eval-queue-budget=0.1")
    run_id = project.results()["run_id"]
    capfd.readouterr()
    main(["runs", "look", run_id, "--yes", "--home", str(project.home)])
    told = capfd.readouterr()
    assert " won " not in told.out


def test_a_fresh_attempt_shows_all_of_them_together(project):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="imposter", episodes=8, claim="better")
        def test_imposter(ab):
            ab.require()
    """)
    assert "attempts together" not in said(project.judge_here())
    text = said(project.judge_here("--eval-fresh"))
    assert "attempt 2, a further look at the same question; earlier: inconclusive (attempt 1)" in text
    assert "all 2 attempts together: " in text
    assert "CMH p=" in text
    assert "all 3 attempts together: " in said(project.judge_here("--eval-fresh"))
