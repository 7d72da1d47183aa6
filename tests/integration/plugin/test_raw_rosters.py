"""Layouts beyond the pair: rosters as the service takes them, drawn fields, natural roles, and arms that are compared with nothing."""

import json
import sqlite3
from contextlib import closing

import pytest

from pytest_evalharness.cli import main

BODY = {
    "target": {
        "league_id": "league_605ff338-0a2e-4e62-aeda-559df9a9198f",
        "division_id": None, "coworld_id": None, "variant_id": None, "league_name": None, "division_name": None,
    },
    "roster": [
        {"player": {"policy_ref": "rival:v3"}, "slot": 0},
        {"player": {"policy_ref": "RAW"}, "slot": 1},
        {"player": {"top_n": 7}},
        {"player": {"random": True}},
    ],
    "num_episodes": 6,
    "execution_backend": "k8s",
    "game_config_overrides": {
        "maxTicks": 10000, "imposterCount": 2, "autoImposterCount": False, "slots": [{"role": "crew"}],
    },
    "notes": "crux <id> arm A",
}  # fmt: skip
CRUX = """
import copy, json, pathlib

BODY = json.loads(pathlib.Path("body.json").read_text())
OURS = copy.deepcopy(BODY)
OURS["roster"][0]["player"]["policy_ref"] = "keeper:v2"

def test_crux(arm, compare):
    result = compare(arm(BODY), arm(OURS), seat=0, WORDS)
    result.require("better", "worse", "equivalent", "inconclusive")
"""


@pytest.fixture
def crux(project):
    """The page's crux body in both arms, theirs and ours in seat 0; the words of `compare` are still to come."""

    def judge(words, **changes):
        body = json.loads(json.dumps({**BODY, **changes}))
        for entry in body["roster"]:
            if entry["player"].get("policy_ref") == "RAW":
                entry["player"]["policy_ref"] = project.league.version_of("gantry")
        (project.pytester.path / "body.json").write_text(json.dumps(body))
        project.cases(CRUX.replace("WORDS", words))
        return project.judge_here(candidate=None, baseline=None)

    return judge


def bodies(project):
    with closing(sqlite3.connect(project.home / "ledger.sqlite")) as ledger:
        rows = ledger.execute(
            "SELECT side, body_json FROM blocks JOIN comparison_arms USING (arm_key) WHERE request_id IS NOT NULL"
        ).fetchall()
    return {side: json.loads(body) for side, body in rows}


def test_a_drawn_field_is_refused_in_an_ab(crux, project):
    result = crux('claim="better"')
    assert result.ret == 4
    assert (
        "every game draws other opponents, so the two arms would face different fields" in result.stdout.str()
    )
    assert project.posted == 0


def test_pairs_cannot_be_drawn(crux, project):
    result = crux('claim="better", drawn_field=True, pairing="seed"')
    assert result.ret == 4
    assert "drawn seats have others in every game" in result.stdout.str()
    assert project.posted == 0


def test_a_server_that_takes_no_forced_roles_stops_the_run(crux, project):
    """There is no way round it: neither another seed nor natural roles are tried."""
    project.league.fault("reject-body=400")
    result = crux('claim="better", drawn_field=True')
    assert result.ret == 11
    assert "this variant does not take forced roles" in result.stdout.str()
    assert project.posted == 0


def test_the_crux_body_of_the_page_as_it_stands(crux, project):
    result = crux('claim="better", drawn_field=True')
    assert result.ret == 0, result.stdout.str()
    assert project.posted == 2
    assert (
        "every game drew its opponents, so the arms met different fields: the difference may be theirs ("
        in result.stdout.str()
    )
    for body in bodies(project).values():
        players = {entry["slot"]: entry["player"] for entry in body["roster"]}
        assert sorted(players) == list(range(8)), "the service wants one entry a seat"
        assert players[1] == {"policy_ref": project.league.version_of("gantry")}
        assert (players[2], players[3]) == ({"top_n": 7}, {"random": True})
        assert all("policy_ref" in players[seat] for seat in range(4, 8)), (
            "the frozen field has the other seats"
        )
        assert body["excluded_players"], "our own champion is never an opponent"
        assert len(body["game_config_overrides"]["slots"]) == 8
    [found] = project.results()["cases"][0]["results"]
    assert found["plan"]["candidate_drawn"] == {"2": {"top_n": 7}, "3": {"random": True}}
    assert found["plan"]["candidate"]["0"] == "rival:v3"
    [note] = [one for one in found["judgement"]["reasons"] if one["reason"] == "drawn_field"]
    assert "candidate met " in note["detail"]
    assert "versions in seats 2, 3; baseline met " in note["detail"]
    assert found["judgement"]["verified"] == ["seats"]
    assert [len(row["wrong"]) for row in found["episodes"]["candidate"]["rows"]] == [0] * 6


def test_roles_that_contradict_the_layout_are_not_moved(crux, project):
    overrides = {**BODY["game_config_overrides"], "slots": [{"role": "imposter"}]}
    result = crux('claim="better", drawn_field=True', game_config_overrides=overrides)
    assert result.ret == 4
    assert "slots force seat 0 to be imposter; in layout 679961 it is crew" in result.stdout.str()
    assert project.posted == 0


NATURAL = """
def test_natural(arm, compare):
    result = compare(
        arm({0: "keeper:v2"}), arm({0: "keeper:v1"}), seat=0, claim="better", episodes=40, natural_roles=True
    )
    result.require("better", "worse", "equivalent", "inconclusive")
"""


def test_natural_roles_are_read_from_the_results(project):
    project.cases(NATURAL)
    result = project.judge_here(candidate=None, baseline=None)
    assert result.ret == 0, result.stdout.str()
    for body in bodies(project).values():
        assert "slots" not in body["game_config_overrides"]
    [found] = project.results()["cases"][0]["results"]
    assert found["name"] == "A/B natural"
    [note] = [one for one in found["judgement"]["reasons"] if one["reason"] == "natural_roles"]
    for side in ("candidate", "baseline"):
        counts = found["judgement"]["checks"][0]["counts"][side]
        assert counts["crew"] + counts["imposter"] == counts["games"] == 40
        assert 0 < counts["imposter"] < 40
        assert f"/{counts['crew']} as crew, " in note["detail"]
    assert "roles were dealt and not forced" in result.stdout.str()


SINGLE = """
def test_alone(arm, single_arm):
    result = single_arm(arm(ARM), seat=0, episodes=6)
    print("rate", result.evidence.rate, result.by_role, len(result.drawn))
    assert result.evidence.finished == 6
    assert result.seating
    assert not hasattr(result, "verdict")
"""
DRAWING = '[{"player": {"policy_ref": "keeper:v2"}, "slot": 0}, {"player": {"top_n": 5}}, {"player": {"random": True}}]'


def test_a_single_arm_has_results_and_no_verdict(project):
    """Drawn opponents are no trouble where nothing is compared. The same command reads the games again."""
    project.cases(SINGLE.replace("ARM", DRAWING))
    for _ in range(2):
        result = project.judge_here(candidate=None, baseline=None)
        assert result.ret == 0, result.stdout.str()
        assert project.posted == 1
        [told] = [one["evalharness.single_arm"] for one in project.properties()]
        assert told.startswith("single arm: keeper:v2 won ")
        assert told.endswith("; no verdict: it is compared with nothing")


def test_a_single_arm_is_no_comparison_of_its_run(project):
    project.cases(SINGLE.replace("ARM", '{0: "keeper:v2"}'))
    assert project.judge_here(candidate=None, baseline=None).ret == 0
    for words in (["runs", "ls"], ["runs", "show", next(iter((project.home / "runs").iterdir())).name]):
        assert main([*words, "--home", str(project.home)]) == 0


def run_of(project):
    return max((project.home / "runs").iterdir()).name


def test_a_single_arm_is_listed_shown_exported_and_verified(project, capsys, tmp_path):
    project.cases(SINGLE.replace("ARM", '{0: "keeper:v2"}'))
    assert project.judge_here(candidate=None, baseline=None).ret == 0
    run, home = run_of(project), ("--home", str(project.home))
    folder = project.home / "runs" / run
    assert {"results.json", "summary.md", "events.jsonl"} <= {path.name for path in folder.iterdir()}
    capsys.readouterr()

    assert main(["runs", "ls", *home]) == 0
    listed = capsys.readouterr().out
    assert "0 comparisons, 1 single arm" in listed
    assert "single arm     test_evals.py::test_alone arm 1: played" in listed
    assert main(["runs", "ls", "--json", *home]) == 0
    [told] = json.loads(capsys.readouterr().out)[0]["single_arms"]
    assert (told["state"], told["evidence"]["finished"], len(told["requests"])) == ("played", 6, 1)

    assert main(["runs", "show", run, *home]) == 0
    shown = capsys.readouterr().out
    assert f"single arm: keeper:v2 won {told['evidence']['wins']}/6, request {told['requests'][0]}" in shown
    assert "keeper:v2  <- tested" in shown
    assert main(["runs", "cancel", run, *home]) == 0
    assert "nothing to cancel" in capsys.readouterr().out

    file = tmp_path / "evidence.json"
    assert main(["runs", "export", run, "-o", str(file), *home]) == 0
    capsys.readouterr()
    assert main(["runs", "verify", str(file)]) == 0
    assert "the numbers of 1 single arm" in capsys.readouterr().out
    content = json.loads(file.read_text())
    content["single_arms"][0]["numbers"]["evidence"]["wins"] = 5 - told["evidence"]["wins"]
    file.write_text(json.dumps(content))
    assert main(["runs", "verify", str(file)]) == 11
    assert "evidence.wins is" in capsys.readouterr().out


def test_a_single_arm_that_still_queues_is_cancelled(project, capsys):
    project.cases(SINGLE.replace("ARM", '{0: "keeper:v2"}'))
    project.league.fault("closed-queue")
    assert project.judge_here("--eval-queue-budget=0.5", candidate=None, baseline=None).ret == 11
    run, home = run_of(project), ("--home", str(project.home))
    assert main(["runs", "ls", *home]) == 0
    assert "test_alone arm 1: not finished" in capsys.readouterr().out
    assert main(["runs", "resume", run, *home]) == 0
    assert "single arms only" in capsys.readouterr().out
    assert main(["runs", "export", run, *home]) == 4
    assert main(["runs", "cancel", run, *home]) == 0
    assert "single arm xreq_" in capsys.readouterr().out
    project.league.heal()
    assert main(["runs", "show", run, *home]) == 0
    assert "keeper:v2, cancelled, request xreq_" in capsys.readouterr().out


@pytest.mark.parametrize("fault", ["shuffled-seats", "withdrawn=gantry:v4"])
def test_a_single_arm_in_trouble(project, fault):
    """Wrong seats are never read off; a field that has lost somebody is chosen without them."""
    project.cases(SINGLE.replace("ARM", '{0: "keeper:v2"}'))
    project.league.fault(fault)
    result = project.judge_here(candidate=None, baseline=None)
    assert result.ret == (11 if fault == "shuffled-seats" else 0), result.stdout.str()
    assert project.posted == 1
    if fault == "shuffled-seats":
        result.stdout.fnmatch_lines(["*single arm: UNTRUSTWORTHY, keeper:v2*"])


def test_a_single_arm_whose_field_moves_on_before_the_post(project):
    project.cases(SINGLE.replace("ARM", '{0: "keeper:v2"}'))
    project.league.fault("replaced-version=gantry:v4")
    before = project.league.created
    result = project.judge_here(candidate=None, baseline=None)
    assert result.ret == 0, result.stdout.str()
    assert project.league.created - before == 1


SEATING = """
import pytest

from pytest_evalharness.cli import main

@pytest.mark.league_ab(role="crew", episodes=4, claim="not_worse")
def test_seats(seating, request):
    assert seating
    request.getfixturevalue("ab").require("better", "worse", "equivalent", "inconclusive")
"""


@pytest.mark.parametrize("fault", [None, "shuffled-seats"])
def test_the_seating_matrix_as_an_assertion(project, fault):
    project.cases(SEATING)
    if fault:
        project.league.fault(fault)
    result = project.judge_here()
    assert result.ret == (1 if fault else 0), result.stdout.str()
    if fault:
        told = result.stdout.str()
        assert "64 of 64 cells of 8 episodes are not as placed" in told
        assert "seat 0: holds " in told
