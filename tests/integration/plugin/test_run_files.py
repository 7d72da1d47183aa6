"""`evalharness runs show | report | export | verify`: a finished run read again."""

import json

import pytest

from pytest_evalharness.cli import main

CASES = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=12, claim="better")
def test_better(ab):
    ab.require()

@pytest.mark.league_pool(configs=[{"role": "crew"}, {"role": "imposter"}], episodes=10, claim="not_worse")
def test_pool(pool):
    pool.require()
"""


@pytest.fixture
def finished(project, capfd):
    """A finished run of two cases, and the command on its home."""
    project.cases(CASES)
    project.judge_here()
    capfd.readouterr()

    class Finished:
        run_id = project.results()["run_id"]
        home = project.home
        folder = project.home / "runs" / run_id

        def command(self, *words):
            code = main(["runs", *words, *(["--home", str(self.home)] if words[0] != "verify" else [])])
            told = capfd.readouterr()
            return code, told.out, told.err

    return Finished()


def test_show_prints_every_number_of_the_run(finished, project):
    code, out, _ = finished.command("show", finished.run_id)
    assert code == 0
    assert out.startswith(f"{finished.run_id}  {project.league.api}")
    assert "A/B: " in out
    assert "configuration  : imposter" in out
    assert "family         : " in out
    for case in project.results()["cases"]:
        for result in case["results"]:
            assert result["judgement"]["verdict"].upper() in out


def test_the_reports_are_written_again_as_they_were(finished):
    before = {name: (finished.folder / name).read_text() for name in ("summary.md", "report.html")}
    for name in before:
        (finished.folder / name).unlink()
    code, out, _ = finished.command("report", finished.run_id)
    assert code == 0
    assert {name: (finished.folder / name).read_text() for name in before} == before
    assert out.split() == [str(finished.folder / name) for name in before]


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"schema": 99}', '{"schema": 1, "cases": 3}'], ids=range(5)
)
def test_a_report_that_is_none_is_a_usage_error(finished, content):
    (finished.folder / "results.json").write_text(content)
    (finished.folder / "summary.md").write_text("kept")
    code, _, errors = finished.command("report", finished.run_id)
    assert code == 4
    assert "not done: " in errors
    assert (finished.folder / "summary.md").read_text() == "kept"


def test_what_is_exported_verifies_offline(finished, tmp_path):
    code, out, _ = finished.command("export", finished.run_id)
    path = finished.folder / "evidence.json"
    assert (code, out.strip()) == (0, str(path))
    other = tmp_path / "elsewhere.json"
    assert finished.command("export", finished.run_id, "-o", str(other))[0] == 0
    assert other.read_bytes() == path.read_bytes()
    code, out, _ = finished.command("verify", str(other))
    assert code == 0
    assert out.startswith("identical: 2 verdicts and every number follow from the evidence (sha256 ")


def test_what_was_changed_is_named_and_exits_with_11(finished, tmp_path):
    finished.command("export", finished.run_id)
    content = json.loads((finished.folder / "evidence.json").read_text())
    for one in content["comparisons"]:
        one["judgement"]["verdict"] = "equivalent"
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(content))
    code, out, _ = finished.command("verify", str(forged))
    assert code == 11
    assert 'verdict is "equivalent" in the file' in out
    assert "do not rely on it" in out


@pytest.mark.parametrize(
    "words", [("show", "run-x"), ("export", "run-x"), ("report", "run-x")], ids=lambda w: w[0]
)
def test_a_run_that_does_not_exist_is_a_usage_error(finished, words):
    code, _, errors = finished.command(*words)
    assert code == 4
    assert "next:" in errors


@pytest.mark.parametrize("content", [None, "no json", "{}"])
def test_a_file_that_cannot_be_verified_is_a_usage_error(finished, tmp_path, content):
    path = tmp_path / "file.json"
    if content is not None:
        path.write_text(content)
    code, _, errors = finished.command("verify", str(path))
    assert code == 4
    assert "not done: " in errors


def test_a_place_that_cannot_be_written_is_a_usage_error(finished, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, errors = finished.command("export", finished.run_id, "-o", str(tmp_path / "file" / "e.json"))
    assert code == 4
    assert "cannot be written" in errors


def test_refuted_edits_are_listed_with_numbers_builds_and_notes(project, capfd):
    project.judge_here("--eval-notes=tried a longer memory", candidate="keeper:v3")
    project.judge_here(candidate="keeper:v3")  # read again: no further refuted edit
    project.judge_here(candidate="keeper:v2")
    capfd.readouterr()
    assert main(["runs", "ls", "--verdict", "worse", "--home", str(project.home)]) == 0
    out = capfd.readouterr().out
    assert out.count("WORSE") == 2  # the word and the headline, of one comparison
    assert "A/B: WORSE, -" in out
    assert "keeper:v3 against keeper:v1" in out
    assert "notes: tried a longer memory" in out
    assert "keeper:v2" not in out
    assert main(["runs", "ls", "--verdict", "worse", "--json", "--home", str(project.home)]) == 0
    (run,) = json.loads(capfd.readouterr().out)
    (refuted,) = run["comparisons"]
    assert run["notes"] == "tried a longer memory"
    assert refuted["interval"][1] < 0 > refuted["difference"]
    assert [refuted["builds"][0][side]["label"] for side in ("candidate", "baseline")] == [
        "keeper:v3",
        "keeper:v1",
    ]
    assert main(["runs", "ls", "--verdict", "equivalent", "--home", str(project.home)]) == 0
    assert capfd.readouterr().out == "no comparison is EQUIVALENT\n"
