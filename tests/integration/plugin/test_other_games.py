"""Games beside Crewrift on a real server: their seats, sides, settings and wins, as their manifests tell them."""

import json
import sqlite3
from contextlib import closing

import pytest

from pytest_evalharness.cli import main

AB = """
import pytest

@pytest.mark.league_ab(WORDS)
def test_edit(ab):
    ab.require()
"""
PAINT = {"candidate": "painter:v2", "baseline": "painter:v1"}
FLAGS = {"candidate": "warden:v2", "baseline": "warden:v1"}


@pytest.fixture
def leagues(league):
    """League ids by the name of their game."""
    found = {}
    for row in league.read("/v2/leagues"):
        found.setdefault(row["game"]["coworld_name"] or row["game"]["name"], row["id"])
    return found


@pytest.fixture
def judge(project, leagues):
    """Runs a marked case of a game in this process: `judge("paintarena", 'episodes=60')`."""

    def run(game, words, *more, source=AB, **names):
        project.cases(source.replace("WORDS", f'league="{leagues[game]}", {words}'))
        command = [one for one in project.command(*more, **names) if not one.startswith("--eval-ticks")]
        return project.pytester.runpytest_inprocess(*command, syspathinsert=True)

    return run


def bodies(project):
    with closing(sqlite3.connect(project.home / "ledger.sqlite")) as ledger:
        rows = ledger.execute(
            "SELECT side, body_json FROM blocks JOIN comparison_arms USING (arm_key) WHERE request_id IS NOT NULL"
        ).fetchall()
    return {side: json.loads(body) for side, body in rows}


def the_result(project):
    [found] = project.results()["cases"][0]["results"]
    return found


# ------------------------------------------------------------- two seats


def test_a_game_of_two_seats_is_won_by_the_strictly_highest_score(judge, project):
    result = judge("paintarena", 'episodes=60, claim="better"', **PAINT)
    assert result.ret == 0, result.stdout.str()
    assert project.posted == 2
    for body in bodies(project).values():
        assert [entry["slot"] for entry in body["roster"]] == [0, 1]
        assert body["game_config_overrides"] == {}, (
            "no limit was asked for, and nothing of Crewrift's is sent"
        )
    found = the_result(project)
    assert found["judgement"]["verdict"] == "better"
    assert found["judgement"]["verified"] == ["seats"]
    assert found["name"] == "A/B paintarena"
    assert found["plan"]["game"]["sides"] == [0, 1]
    assert found["judgement"]["declaration"]["win"] == "highest"
    checks = {one["name"]: one for one in found["judgement"]["checks"]}
    assert "strictly highest score, a tie is no win" in checks["wins"]["seen"]
    assert not {"roles", "votes", "timeouts"} & set(checks)
    for side in ("candidate", "baseline"):
        won = [row for row in found["episodes"][side]["rows"] if row["outcome"] == "win"]
        assert len(won) == found["judgement"][side]["wins"]
    [properties] = project.properties()
    assert properties["evalharness.win"] == "highest"
    assert "mean score" in result.stdout.str() or found["lines"]
    assert not any("vote timeouts" in line for line in found["lines"])

    again = judge("paintarena", 'episodes=60, claim="better"', **PAINT)
    assert again.ret == 0, again.stdout.str()
    assert project.posted == 2, "the same question is read again"


@pytest.mark.slow
def test_one_build_against_itself_is_no_better(judge, project):
    same = {"candidate": "painter:v1", "baseline": "painter:v1"}
    # Games follow from how often they were asked for before. One A/A run in twenty is an alarm, so this one has games that no
    # other test asks for.
    words = 'episodes=30, config={"max_ticks": 101}'
    assert judge("paintarena", words, **same).ret == 11
    assert project.posted == 0
    result = judge("paintarena", words, "--eval-aa", **same)
    assert result.ret == 0, result.stdout.str()
    assert the_result(project)["judgement"]["verdict"] in {"inconclusive", "equivalent"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ('config={"maxTickz": 50}', "config sets 'maxTickz', and paintarena has no such setting; did you mean 'max_ticks'?"),
        ('config={"killRange": 9}', "and paintarena has no such setting; it has height, max_ticks"),
        ('role="crew"', "role='crew' was said, and paintarena has no roles: leave role out"),
        ('role="natural"', "role='natural' was said, and paintarena has no roles"),
        ("ticks=900", "paintarena has no setting maxTicks: leave ticks out, or set its own in config"),
        ("seats=3", "paintarena has 2 to 2 seats, and 3 were asked for"),
        ('teams="blocks/3"', "2 seats cannot be shared out to 3 sides"),
        ("side=2", "side must be a whole number from 0 to 1 in paintarena, got 2"),
        ('candidate_seats={4: "painter:v2"}', "seat 4 does not exist; seats are 0 to 1"),
        ('win="best"', "win must be 'win'"),
        ('win="score > much"', "win must be 'win'"),
        ('pairing="seed"', "paintarena has no setting seed"),
    ],
)  # fmt: skip
def test_what_the_game_does_not_have_is_refused_before_anything_is_posted(judge, project, words, told):
    result = judge("paintarena", words, **PAINT)
    assert result.ret == 4, result.stdout.str()
    assert told in result.stderr.str()
    assert project.posted == 0


def test_crewrifts_settings_are_checked_too(judge, project):
    result = judge("crewrift", 'config={"killrange": 21}', candidate="keeper:v2", baseline="keeper:v1")
    assert result.ret == 4
    assert "and crewrift has no such setting; did you mean 'killRange'?" in result.stderr.str()
    assert project.posted == 0


@pytest.mark.slow
def test_another_side_and_a_threshold_are_declared_before(judge, project):
    result = judge("paintarena", 'episodes=20, side=1, win="score > 40", claim="not_worse"', **PAINT)
    assert result.ret == 0, result.stdout.str()
    found = the_result(project)
    assert found["plan"]["tested_seat"] == 1
    assert found["plan"]["declaration"]["win"] == "score > 40.0"
    for side in ("candidate", "baseline"):
        for row in found["episodes"][side]["rows"]:
            assert (row["outcome"] == "win") is (row["score"] > 40)
    changed = judge("paintarena", 'episodes=20, side=1, win="score > 30", claim="not_worse"', **PAINT)
    assert changed.ret == 11, "a win that is chosen to fit results proves nothing"
    assert 'win "score > 40.0" -> "score > 30.0"' in changed.stdout.str()


FUNCTION = """
import pytest

def tiles(game):
    return game.own("painted_tiles") > THRESHOLD

@pytest.mark.league_ab(win=tiles, WORDS)
def test_edit(ab):
    ab.require("better", "worse", "equivalent", "inconclusive")
"""


@pytest.mark.slow
def test_a_function_says_who_won_and_what_it_said_first_counts(judge, project, tmp_path):
    first = judge("paintarena", "episodes=20", source=FUNCTION.replace("THRESHOLD", "40"), **PAINT)
    assert first.ret == 0, first.stdout.str()
    then = the_result(project)
    assert then["plan"]["declaration"]["win"] == "test_evals:tiles"
    for row in then["episodes"]["candidate"]["rows"]:
        assert (row["outcome"] == "win") is (row["score"] > 40)
    again = judge("paintarena", "episodes=20", source=FUNCTION.replace("THRESHOLD", "-1"), **PAINT)
    assert again.ret == 0, again.stdout.str()
    assert the_result(project)["judgement"]["candidate"]["wins"] == then["judgement"]["candidate"]["wins"]
    assert project.posted == 2
    run, file = project.results()["run_id"], tmp_path / "evidence.json"
    home = f"--home={project.home}"
    assert main(["runs", "export", run, "--output", str(file), home]) == 0
    assert main(["runs", "verify", str(file)]) == 0
    told = json.loads(file.read_text())
    block = told["comparisons"][0]["blocks"]["candidate"][0]
    assert set(block["won"].values()) <= {True, False}
    block["won"] = {game: not won for game, won in block["won"].items()}
    file.write_text(json.dumps(told))
    assert main(["runs", "verify", str(file)]) == 11, "who won is part of the evidence"


# ------------------------------------------------------------------- sides

SEATED = """
import pytest

@pytest.mark.league_ab(WORDS)
def test_edit(ab, seating):
    assert seating
    assert len(seating.cells) == 2 * ab.plan.episodes * 4
    ab.require()
"""


def test_a_side_is_one_observation_and_its_clones_may_be_fillers(judge, project):
    result = judge("capture-the-flag", 'episodes=100, claim="better"', source=SEATED, **FLAGS)
    assert result.ret == 0, result.stdout.str()
    assert project.posted == 2
    for body in bodies(project).values():
        seated = [entry["player"]["policy_ref"] for entry in body["roster"]]
        assert seated[0] == seated[2] != seated[1] == seated[3]
        assert body["game_config_overrides"] == {"teamCount": 2, "teamLayout": "interleaved"}, (
            "what the sides follow from is sent, whichever variant the league plays"
        )
    found = the_result(project)
    assert found["judgement"]["verdict"] == "better"
    assert found["judgement"]["candidate"]["finished"] == 100, "one game is one observation, not one a seat"
    assert found["plan"]["candidate"] == {"0": "warden:v2", "2": "warden:v2"}
    seats = {seat["position"]: seat.get("captain") for seat in found["episodes"]["candidate"]["seats"]}
    assert seats == {0: None, 1: None, 2: 0, 3: 1}
    row = project.league.read(f"/v2/episode-requests/{found['episodes']['candidate']['rows'][0]['id']}")
    assert [one["is_filler"] for one in row["participants"]] == [False, False, True, True]


@pytest.mark.slow
def test_sides_follow_the_settings_that_are_sent(judge, project):
    result = judge(
        "capture-the-flag",
        'episodes=10, claim="not_worse", config={"teamLayout": "blocks", "capturesToWin": 1}',
        **FLAGS,
    )
    assert result.ret in {0, 10}, result.stdout.str()
    found = the_result(project)
    assert found["plan"]["game"]["sides"] == [0, 0, 1, 1]
    assert found["plan"]["candidate"] == {"0": "warden:v2", "1": "warden:v2"}
    assert found["judgement"]["verified"] == ["seats"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ('candidate_seats={0: "warden:v2"}', "seats 0 and 2 are one side, which wins or loses as a whole"),
        ('candidate_seats={0: "warden:v2", 1: "warden:v2"}', "a mark tests one side"),
        ('teams="blocks"', "teams='blocks', and the settings of capture-the-flag say 'parity/2'"),
        ('role="crew"', "capture-the-flag has no roles"),
    ],
)
def test_a_policy_has_all_seats_of_its_side_or_none(judge, project, words, told):
    result = judge("capture-the-flag", words, **FLAGS)
    assert result.ret == 4, result.stdout.str()
    assert told in result.stderr.str()
    assert project.posted == 0


BY_HAND = """
def test_edit(arm, compare):
    compare(arm(OURS), arm(THEIRS), seat=0, episodes=10, claim="not_worse").require("better", "inconclusive", "worse")
"""


def by_hand(project, leagues, ours, theirs):
    project.cases(BY_HAND.replace("OURS", repr(ours)).replace("THEIRS", repr(theirs)))
    command = project.command(f"--eval-league={leagues['capture-the-flag']}", candidate=None, baseline=None)
    return project.pytester.runpytest_inprocess(
        *[one for one in command if not one.startswith("--eval-ticks")], syspathinsert=True
    )


def test_a_single_seat_of_a_side_is_explained_and_a_roster_by_hand_is_played(project, leagues):
    result = by_hand(project, leagues, {0: "warden:v2"}, {0: "warden:v1"})
    assert result.ret != 0
    assert (
        "seats 0 and 2 of capture-the-flag are one side, which wins or loses as a whole"
        in result.stdout.str()
    )
    assert project.posted == 0
    roster = [{"player": {"policy_ref": f"warden:v{n}"}, "slot": slot} for n in (2, 1) for slot in (0, 2)]
    result = by_hand(project, leagues, roster[:2], roster[2:])
    assert result.ret == 0, result.stdout.str()
    assert project.posted == 2


POOL = """
import pytest

@pytest.mark.league_pool(configs=[{"side": 0}, {"side": 1}], WORDS)
def test_both_sides(pool):
    pool.require()
"""


@pytest.mark.slow
def test_both_sides_of_a_game_are_pooled(judge, project):
    result = judge("paintarena", 'episodes=40, claim="better"', source=POOL, **PAINT)
    assert result.ret == 0, result.stdout.str()
    assert project.posted == 4
    found = the_result(project)
    assert list(found["strata"]) == ["side 0", "side 1"]
    assert [one["plan"]["tested_seat"] for one in found["strata"].values()] == [0, 1]
    assert found["judgement"]["declaration"]["win"] == "highest"
    assert found["judgement"]["verdict"] == "better"


# ---------------------------------------------------------- whom to ask


def test_a_manifest_that_tells_no_seats_asks_for_them(judge, project):
    result = judge("heartleaf", "episodes=2", **PAINT)
    assert result.ret == 4
    assert "the manifest of heartleaf does not tell how many seats a game has" in result.stderr.str()
    assert "seats=N in the mark, or --eval-seats N" in result.stderr.str()
    told = judge("heartleaf", "episodes=2, seats=9", **PAINT)
    assert told.ret == 11, "nobody has entered that league"
    assert "8 are needed to fill the other seats" in told.stdout.str()
    assert project.posted == 0


def test_a_league_that_does_not_exist_keeps_its_case_from_running(project, leagues):
    project.cases(AB.replace("WORDS", 'league="league_00000000-0000-4000-8000-000000000000"'))
    result = project.judge_here()
    assert result.ret == 11, result.stdout.str()
    assert "cannot read the league" in result.stdout.str()
    dry = project.judge_here("--eval-dry-run")
    assert dry.ret == 11
    assert "1 case planned, 1 unresolved" in dry.stdout.str()
    assert project.posted == 0


def test_a_dry_run_tells_the_game(judge, project):
    result = judge("capture-the-flag", "episodes=30", "--eval-dry-run", **FLAGS)
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines([
        "*game       capture-the-flag, 4 seats in 2 sides; won: strictly highest score, a tie is no win",
        "*seat 0     *warden:v2 against warden:v1  <- tested",
        "*seat 2     *warden:v2 against warden:v1  <- tested",
    ])  # fmt: skip
    assert project.posted == 0


# ------------------------------------------------------------- the commands


@pytest.fixture
def ab(project, leagues, capfd):
    """Runs `evalharness ab` on a game: its exit code, and what it told."""

    def run(game, *words, **names):
        named = [word for side, label in names.items() for word in (f"--{side}", label)]
        where = ["--league", leagues[game], "--server", project.league.api, "--home", str(project.home)]
        code = main(["ab", *named, *where, *words])
        told = capfd.readouterr()
        return code, told.out + told.err

    return run


@pytest.mark.parametrize(
    ("game", "names"),
    [pytest.param("paintarena", PAINT, marks=pytest.mark.slow), ("capture-the-flag", FLAGS)],
)
def test_the_command_asks_the_question_of_the_mark(judge, project, ab, game, names):
    declared = 'episodes=10, claim="not_worse", win="score >= 2"'
    marked = judge(game, declared, **names)
    assert marked.ret in {0, 10}, marked.stdout.str()
    code, told = ab(game, "--num", "10", "--claim", "not_worse", "--win", "score >= 2", **names)
    assert code == marked.ret
    assert "score >= 2" in told
    assert project.posted == 2, "one question is played once, whoever asks it"


def test_the_command_refuses_what_the_game_does_not_have(project, ab):
    code, told = ab("capture-the-flag", "--role", "crew", **FLAGS)
    assert code == 4
    assert "capture-the-flag has no roles: leave role out" in told
    code, told = ab("capture-the-flag", "--teams", "blocks/3", **FLAGS)
    assert code == 4
    assert "teams='blocks/3', and the settings of capture-the-flag say 'parity/2'" in told
    assert project.posted == 0


def test_the_command_lets_the_game_deal_the_roles(project, ab):
    names = {"candidate": "keeper:v2", "baseline": "keeper:v1"}
    code, told = ab("crewrift", "--role", "natural", "--dry-run", **names)
    assert code == 0
    assert "seat 0     natural   keeper:v2 against keeper:v1  <- tested" in told


@pytest.mark.slow
def test_more_games_of_sides_are_judged_with_the_first(judge, project, capfd):
    """On the same set-up: the same sides, and what counts as a win is read as it was declared."""
    first = judge("capture-the-flag", 'episodes=4, claim="better"', **FLAGS)
    assert first.ret == 10, first.stdout.str()
    run, home = project.results()["run_id"], f"--home={project.home}"
    capfd.readouterr()
    code = main(["runs", "extend", run, "--num", "6", home])
    assert code in {0, 10}
    assert "/10 vs " in capfd.readouterr().out
    assert project.posted == 4


# ------------------------------------------------------------ natural roles


@pytest.mark.slow
def test_natural_roles_are_a_word_of_the_mark(judge, project):
    names = {"candidate": "keeper:v2", "baseline": "keeper:v1"}
    result = judge("crewrift", 'role="natural", episodes=40, claim="better"', **names)
    assert result.ret in {0, 10}, result.stdout.str()
    found = the_result(project)
    assert found["name"] == "A/B natural"
    assert found["plan"]["natural_roles"] is True
    for body in bodies(project).values():
        assert "slots" not in body["game_config_overrides"]
    [note] = [one for one in found["judgement"]["reasons"] if one["reason"] == "natural_roles"]
    assert "as crew, " in note["detail"]
    assert "as imposter" in note["detail"]


def test_natural_roles_fill_in_from_the_command_line(judge, project):
    result = judge(
        "crewrift",
        "episodes=4",
        "--eval-role=natural",
        "--eval-dry-run",
        candidate="keeper:v2",
        baseline="keeper:v1",
    )
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*seat 0     natural   keeper:v2 against keeper:v1  <- tested"])
