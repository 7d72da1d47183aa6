"""Bad input: one clear message, exit 4 or 11, nothing posted, the command to go on."""

import pytest

SERIAL_AND_WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--eval-num=0"], ["--eval-num", "must be 1 to 100"]),
        (["--eval-num=101"], ["--eval-num", "must be 1 to 100"]),
        (["--eval-num=many"], ["--eval-num", "must be a whole number"]),
        (["--eval-top-n=3"], ["--eval-top-n 3", "4 seats empty"]),
    ],
    ids=["0", "101", "many", "top-n"],
)
def test_a_bad_number_is_a_usage_error(project, workers, arguments, words):
    result = project.judge_here(*workers, *arguments)
    assert result.ret == 4
    for word in [*words, "nothing was submitted", "EVH001"]:
        assert word in said(result)
    assert project.posted == 0


@SERIAL_AND_WORKERS
def test_a_typo_in_a_mark_gets_a_suggestion(project, workers):
    project.cases("import pytest\n@pytest.mark.league_ab(epsodes=3)\ndef test_typo(ab):\n    ab.require()\n")
    result = project.judge_here(*workers)
    assert result.ret == 4
    assert "did you mean 'episodes'?" in said(result)
    assert project.posted == 0


def test_a_missing_name_is_told_with_the_option(project, workers):
    result = project.judge_here(*workers, candidate=None)
    assert result.ret == 4
    assert "--candidate=NAME:vN" in said(result)


def test_names_are_needed_only_by_the_selected_cases(project):
    project.cases(
        "import pytest\n@pytest.mark.league_ab(claim='better')\ndef test_mine(ab):\n    ab.require()\n"
        "@pytest.mark.league_ab(candidate_seats={0: 'rival:v3'}, claim='better')\n"
        "def test_swap(ab):\n    ab.require()\n"
    )
    assert project.judge_here("-k", "swap", candidate=None).ret == 0
    assert project.posted == 2


def test_no_server_was_named(project, workers):
    arguments = [a for a in project.command(*workers) if not a.startswith("--eval-server")]
    result = project.pytester.runpytest_subprocess(*arguments, timeout=300)
    assert result.ret == 4
    assert "--eval-server embedded" in said(result)


def test_a_setting_from_the_environment_is_named_by_its_variable(project, monkeypatch):
    monkeypatch.setenv("EVALHARNESS_NUM", "many")
    result = project.judge_here()
    assert result.ret == 4
    assert "EVALHARNESS_NUM: 'many' must be a whole number" in said(result)


def test_an_unknown_policy_names_the_upload_command(project):
    result = project.judge_here(candidate="nope:v1")
    assert result.ret == 11
    assert "coworld upload-policy IMAGE --name nope" in said(result)
    assert project.posted == 0


@pytest.mark.failure_mode(number=9)
def test_an_ambiguous_name_lists_the_versions(project):
    result = project.judge_here(candidate="keeper")
    assert result.ret == 11
    assert "v1" in said(result)
    assert "EVH212" in said(result)
    assert project.posted == 0


def test_an_opponent_who_is_not_live(project):
    result = project.judge_here("--eval-opponent=nobody")
    assert result.ret == 11
    assert "'nobody' is not live" in said(result)
    assert project.posted == 0


def test_an_opponent_by_name_takes_the_first_open_seat(project):
    project.cases(
        "import pytest\n@pytest.mark.league_ab(claim='better')\n"
        "def test_seat(roster):\n    assert roster.opponents[0].player_name == 'rival'\n"
    )
    result = project.judge_here("--eval-opponent=rival:v3", "--eval-num=1")
    assert "nothing was judged" in said(result)  # the roster was as asserted, and the claim was not looked at
    assert result.ret == 11


def test_a_league_with_too_few_live_players(project):
    empty = project.league.empty_division()
    result = project.judge_here(f"--eval-division={empty}")
    assert result.ret == 11
    assert "0 live players" in said(result)
    assert project.posted == 0


def test_collecting_posts_nothing_and_writes_nothing(project):
    result = project.pytester.runpytest_subprocess(*project.command("--collect-only", "-q"), timeout=300)
    assert result.ret == 0
    assert project.posted == 0
    assert not project.home.exists()


@SERIAL_AND_WORKERS
def test_a_collection_error_posts_nothing(project, workers):
    project.pytester.makepyfile(test_broken="import no_such_module_anywhere\n")
    result = project.judge_here(*workers)
    assert result.ret == 2
    assert project.posted == 0


def test_a_dry_run_prints_the_plan_and_posts_nothing(project, workers):
    result = project.judge_here("--eval-dry-run", *workers)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "test_evals.py::test_crew:",
            "*30 episodes each*",
            "*seat 0*keeper:v2 against keeper:v1*tested*",
            "*seat 3*imposter*",
            "*power*80 % power*",
            "*chances*under no effect*",
            "dry run: 1 case planned, 0 unresolved; nothing was posted, no case ran",
        ]
    )
    assert project.posted == 0


def test_a_dry_run_that_cannot_resolve_exits_11(project):
    result = project.judge_here("--eval-dry-run", candidate="nope:v1")
    assert result.ret == 11
    assert "1 unresolved" in said(result)


def test_the_command_line_wins_over_the_mark_and_says_so(project):
    result = project.judge_here("--eval-num=12")
    result.stdout.fnmatch_lines(["note: --eval-num 12 overrides episodes=30 of test_evals.py::test_crew"])
    assert project.results()["cases"][0]["results"][0]["plan"]["episodes"] == 12


def test_the_umbrella_mark_selects_every_eval_case(project):
    project.pytester.makepyfile(test_plain="def test_plain():\n    pass\n")
    project.judge_here("-m", "eval").assert_outcomes(passed=1, deselected=1)


def test_a_hostile_player_name_never_reaches_the_terminal_raw(project):
    names = project.league.player_names()
    hostile = [name for name in names if "\x1b" in name]
    assert hostile, "the league should have a player whose name is hostile"
    result = project.judge_here("--eval-dry-run", f"--eval-opponent={project.league.version_of(hostile[0])}")
    assert result.ret == 0
    assert "\x1b[" not in said(result).replace("\x1b[0m", "").replace("\x1b[1m", "")


@pytest.mark.parametrize("where", ["environment", "ini"])
def test_a_dry_run_from_anywhere_has_no_workers(project, monkeypatch, where):
    if where == "environment":
        monkeypatch.setenv("EVALHARNESS_DRY_RUN", "true")
    more = ["-o", "evalharness_dry_run=true"] if where == "ini" else []
    result = project.judge("-n", "2", *more)
    assert result.ret == 0
    assert "dry run: 1 case planned, 0 unresolved" in said(result)
    assert project.posted == 0


def test_a_home_that_cannot_be_written_is_told_before_anything_is_posted(project, workers):
    blocked = project.pytester.path / "blocked"
    blocked.write_text("a file, not a folder")
    result = project.judge(*workers, f"--eval-home={blocked}")
    assert result.ret == 11
    assert "EVH241" in said(result)
    assert "Traceback" not in said(result)
    assert project.posted == 0


@pytest.mark.parametrize(
    "url", ["http://", "http://[::1/api", "http://127.0.0.1:99999/api", "https://h/api?token=s3cret"]
)
def test_an_address_that_cannot_be_used(project, url):
    result = project.judge_here(server=url)
    assert result.ret == 4
    assert "nothing was submitted" in said(result)
    assert not project.home.exists()


def test_the_ab_fixture_without_a_mark_is_a_usage_error(project):
    project.cases("def test_unmarked(ab):\n    ab.require()\n")
    result = project.judge_here()
    assert result.ret == 4
    assert "needs @pytest.mark.league_ab" in said(result)
