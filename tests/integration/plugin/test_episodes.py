"""A case reads what its own games left, and names the folders where it fails."""

SEEN = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=3, claim="better")
def test_crew(ab, episodes):
    assert len(episodes.candidate) == len(episodes.baseline) == 3
    for mine in episodes.candidate:
        assert mine.seat_results.score(0) is not None
        assert mine.replay.kind == "embedded"
        assert list(mine.log_lines(ab.plan.tested_seat))
    assert episodes.complete
    assert ab.candidate.finished == 3
    {end}
"""
WITHOUT = """
def test_unmarked(episodes):
    pass
"""


def folders(project):
    return sorted(path.name for path in (project.home / "episodes").iterdir())


def test_a_case_that_fails_names_where_its_games_are(project):
    done = project.cases(SEEN.format(end="assert False, 'look at the games'")).judge_here()

    done.assert_outcomes(failed=1)
    names = folders(project)
    assert len(names) == 2
    text = done.stdout.str()
    assert "Captured episodes call" in text
    assert all(f".evalharness/episodes/{name}" in text for name in names)
    assert all((project.home / "episodes" / name / "index.json").is_file() for name in names)
    (found,) = project.properties()
    told = [found[f"evalharness.episodes_{side}"] for side in ("candidate", "baseline")]
    assert sorted(told) == [f".evalharness/episodes/{name}" for name in names]
    assert all(
        found[f"evalharness.request_{side}"] in told[at] for at, side in enumerate(("candidate", "baseline"))
    )


def test_what_was_downloaded_is_not_downloaded_again(project):
    case = project.cases(SEEN.format(end="assert ab.verdict is not None"))
    case.judge_here().assert_outcomes(passed=1)
    before = {path: path.stat().st_mtime_ns for path in (project.home / "episodes").rglob("*.log")}
    assert before

    case.judge_here().assert_outcomes(passed=1)

    assert {path: path.stat().st_mtime_ns for path in (project.home / "episodes").rglob("*.log")} == before
    assert len(folders(project)) == 2


def test_a_case_without_the_mark_is_told(project):
    done = project.cases(WITHOUT).judge_here()

    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*the episodes fixture needs @pytest.mark.league_ab*"])
