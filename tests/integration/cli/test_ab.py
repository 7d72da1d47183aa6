"""`evalharness ab`: one comparison from the command line, on a real server, with the runner, files and exit codes of pytest."""

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import urllib.request
import zlib
from pathlib import Path

import jsonschema
import pytest

from pytest_evalharness.cli import build_parser, main
from pytest_evalharness.cli.ab_flags import DEFAULTS, FLAGS, spelt
from pytest_evalharness.settings import BY_KEY, PAGE_LEAGUE

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parents[3] / "docs/reference/results.schema.json").read_text())
)
GOOD, BAD, SAME = "keeper:v2", "keeper:v3", "keeper:v4"
PAGES_FLAGS = {
    "--role": "crew", "--num": 30, "--top-n": 7, "--maxticks": 10_000, "--league": PAGE_LEAGUE, "--division": None,
    "--opponent": (), "--backend": "k8s", "--notes": "eval.py", "--dry-run": False,
}  # fmt: skip
"""The runbook's flags and their defaults; of `--num` ours, which the documentation explains."""


class League:
    """A running server and its back door."""

    def __init__(self, server):
        self.api = server.api
        self.credentials = server.credentials

    def call(self, path, method="GET", body=None):
        request = urllib.request.Request(
            self.api.removesuffix("/api") + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=300
        ) as answer:
            return json.loads(answer.read() or b"null")

    @property
    def posts(self):
        return self.call("/_arena/counters")["experience_request_posts"]

    def fault(self, spec):
        self.call("/_arena/faults", "POST", {"spec": spec})

    def heal(self):
        self.call("/_arena/faults", "DELETE")


@pytest.fixture(scope="module")
def running_league(start_league):
    return League(start_league())


class User:
    """Somebody who types the command in a folder of their own."""

    def __init__(self, league, folder, capfd, ticks):
        self.league = league
        self.folder = folder
        self.home = folder / ".evalharness"
        self.ticks = ticks
        self._capfd = capfd
        self._before = league.posts

    @property
    def posted(self):
        return self.league.posts - self._before

    def words(self, *more, candidate=GOOD, baseline="keeper:v1"):
        named = [f"--candidate={candidate}"] if candidate else []
        named += [f"--baseline={baseline}"] if baseline else []
        return ["ab", *named, "--server", self.league.api, f"--maxticks={self.ticks}", *more]

    def ab(self, *more, **words):
        return self.run(*self.words(*more, **words))

    def run(self, *words):
        """A command, in this process: its exit code, output and errors."""
        self._capfd.readouterr()
        code = main([str(word) for word in words])
        told = self._capfd.readouterr()
        return code, told.out, told.err

    def runs(self):
        return json.loads(self.run("runs", "ls", "--json")[1])

    def results(self):
        newest = max(self.home.glob("runs/*/results.json"), key=lambda path: path.stat().st_mtime_ns)
        told = json.loads(newest.read_text())
        SCHEMA.validate(told)
        return told


@pytest.fixture
def user(request, running_league, tmp_path, monkeypatch, capfd):
    running_league.heal()
    for name in list(os.environ):
        if name.startswith(("EVALHARNESS_", "PYTEST_ADDOPTS")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SOFTMAX_CONFIG_DIR", str(running_league.credentials))
    monkeypatch.chdir(tmp_path)
    # The league's games follow from what is asked and how often it was: every test gets games of its own.
    ticks = 10_000 + zlib.crc32(request.node.name.encode()) % 5_000
    yield User(running_league, tmp_path, capfd, ticks)
    running_league.heal()


# ---------------------------------------------------------- a whole comparison


def test_a_good_edit_is_told_with_everything_and_asked_again_it_is_read(user):
    code, out, errors = user.ab()
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("A/B crew: BETTER, +")
    assert lines[0].endswith("seats verified")
    for words in (
        f"candidate  {user.results()['cases'][0]['results'][0]['judgement']['candidate']['wins']}/30  ",
        "(95 % Wilson)", "wilson-overlap : ", f"candidate      : {GOOD}, mean seat score ", "baseline       : keeper:v1, mean",
        ", kills ", ", vote timeouts ", "claim          : better: met", "not a league rank; champion is a membership label",
        "success check of A/B crew: 5 of 5 points ok", "  4 ok      enough games: 30 and 30 games", "exit 0: every claim was met",
    ):  # fmt: skip
        assert words in out, words
    report = user.results()
    judged = report["cases"][0]["results"][0]["judgement"]
    requests = [judged[side]["request_ids"][0] for side in ("candidate", "baseline")]
    assert all(f"request {one}" in out for one in requests)
    assert [point["state"] for point in report["cases"][0]["success_check"][0]["points"]] == ["ok"] * 5
    assert "champion is a membership label" in report["scope"]
    assert lines[-1] == f"files: .evalharness/runs/{report['run_id']}"
    assert {path.name for path in (user.home / "runs" / report["run_id"]).iterdir()} == {
        "results.json", "summary.md", "report.html", "events.jsonl",
    }  # fmt: skip
    assert f"evalharness: candidate {GOOD}: posted as {requests[0]}" in errors
    assert user.posted == 2

    code, again, errors = user.ab("--json")
    assert code == 0
    assert user.posted == 2
    told = json.loads(again)
    SCHEMA.validate(told)
    assert told == user.results()
    row = told["cases"][0]["results"][0]
    assert row["judgement"] == judged
    assert row["evidence_age_seconds"] > 0
    assert "posted as" not in errors
    assert told["notices"] == []
    assert "--fresh starts another attempt" in user.ab("-qq")[1]

    assert [one["comparisons"][0]["verdict"] for one in user.runs()] == ["better"] * 3
    assert "A/B: BETTER" in user.run("runs", "show", report["run_id"])[1]
    assert user.run("runs", "export", report["run_id"])[0] == 0
    evidence = user.home / "runs" / report["run_id"] / "evidence.json"
    assert user.run("runs", "verify", evidence)[0] == 0
    for explained in ("with its report", "from the ledger"):
        code, out, errors = user.run("ab", "--explain", report["run_id"])
        assert (code, errors) == (0, ""), explained
        assert [line.split()[:2] for line in out.splitlines()[2:7]] == [[str(i), "ok"] for i in range(1, 6)]
        assert out.splitlines()[-1].endswith("champion is a membership label, not a winner")
        (user.home / "runs" / report["run_id"] / "results.json").unlink(missing_ok=True)
    code, out, _ = user.run("ab", "--explain", report["run_id"], "--json")
    assert code == 0
    assert [point["number"] for point in json.loads(out)["success_check"][0]["points"]] == [1, 2, 3, 4, 5]


def test_pytest_reads_what_the_command_has_played_and_the_other_way_round(user):
    assert user.ab("--num", "4")[0] in {0, 1, 10}
    case = "import pytest\n\n@pytest.mark.league_ab(role='crew', claim='better')\ndef test_a(ab):\n    assert ab.age > 0\n    ab.require_trust()\n    ab.verdict\n"
    (user.folder / "test_evals.py").write_text(case)
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "pytest_evalharness.plugin", f"--candidate={GOOD}", "--baseline=keeper:v1",
            f"--eval-server={user.league.api}", f"--eval-ticks={user.ticks}", "--eval-num=4",
        ],
        cwd=user.folder, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert user.posted == 2
    assert "read again" in user.ab("--num", "4")[1]
    assert user.posted == 2


def test_what_cannot_tell_is_10_unless_it_is_wanted_otherwise_and_can_be_extended(user):
    few = ("--num", "3")
    code, out, _ = user.ab(*few, candidate=SAME)
    assert code == 10
    assert out.startswith("A/B crew: INCONCLUSIVE")
    assert "  next:     --num " in out
    assert "code:     EVH110" in out
    assert "4 not ok  enough games: 3 and 3 games neither separate" in out
    run = user.results()["run_id"]
    assert user.ab(*few, "--inconclusive", "pass", candidate=SAME)[0] == 0
    assert user.ab(*few, "--inconclusive", "fail", candidate=SAME)[0] == 1
    assert user.results()["cases"][0]["outcome"] == "failed"
    assert user.run("ab", "--explain", run)[0] == 1
    assert user.posted == 2
    assert user.run("runs", "extend", run, "--num", "2")[0] in {0, 1, 10}
    assert user.posted == 4
    assert user.run("ab", "--explain", run)[0] == 1  # as it was reported then


def test_a_bad_edit_is_1_and_a_fresh_attempt_is_a_further_look(user):
    code, out, _ = user.ab("--num", "12", candidate=BAD)
    assert code == 1
    assert out.startswith("A/B crew: WORSE")
    assert "do not ship this edit" in out
    code, out, _ = user.ab("--num", "12", "--fresh", candidate=BAD)
    assert code == 1
    assert "attempt 2, a further look at the same question; earlier: worse (attempt 1)" in out
    assert user.posted == 4


def test_the_pages_verdict_is_the_claim_separated(user):
    code, out, _ = user.ab("--claim", "separated")
    assert code == 0
    assert "no overlap -> candidate above" in out
    assert "claim          : separated: met" in out


def test_an_aa_run_meets_itself(user):
    code, out, _ = user.ab("--aa", "--num", "4", candidate="keeper:v1")
    assert code == 0
    assert out.startswith("A/A crew: ")
    assert "note: this is an A/A run (--aa)" in out
    assert "1 not ok  different builds: an A/A run" in out


# ---------------------------------------------------------- what is not believed


def test_of_what_cannot_be_believed_nothing_of_the_effect_is_told(user):
    user.league.fault("shuffled-seats")
    code, out, _ = user.ab("--num", "4")
    assert code == 11
    assert out.startswith("A/B crew: UNTRUSTWORTHY, ")
    assert " pp" not in out
    assert "mean seat score" not in out
    assert "3 not ok  seats verified: players did not sit where they were placed" in out
    assert "run again with --fresh" in out
    assert user.run("ab", "--explain", user.results()["run_id"])[0] == 1


@pytest.mark.parametrize(
    ("more", "names", "code", "told"),
    [
        ((), {"candidate": "keeper:v1"}, "EVH213", "one and the same version"),
        ((), {"candidate": "keeper-alias:v1"}, "EVH213", "the same build under two names"),
        ((), {"candidate": "nope:v1"}, "EVH211", "coworld upload-policy IMAGE --name nope"),
        ((), {"candidate": "keeper"}, "EVH212", "keeper has 4 versions"),
        (("--opponent", "nobody"), {}, "EVH214", "'nobody' is not live"),
        (("--opponent", "fathom"), {}, "EVH214", "'fathom' has 2 live versions: fathom:v4, fathom:v5"),
    ],
    ids=["itself", "alias", "unknown", "ambiguous", "opponent", "player of two"],
)
def test_a_refusal_posts_nothing_and_is_11(user, more, names, code, told):
    for dry in ((), ("--dry-run",)):
        found, out, errors = user.ab(*more, *dry, **names)
        assert found == 11
        said = errors if dry else out
        assert told in said
        assert f"code:     {code}" in said
    report = user.results()
    assert report["cases"][0]["outcome"] == "untrustworthy"
    states = [point["state"] for point in report["cases"][0]["success_check"][0]["points"]]
    assert states == ["not ok" if code == "EVH213" else "unknown", *["unknown"] * 4]
    assert user.run("ab", "--explain", report["run_id"])[0] == 1
    assert user.posted == 0


@pytest.mark.failure_mode(number=42)
def test_one_version_cannot_sit_in_two_seats(user):
    planned = json.loads(user.ab("--dry-run", "--json", "--opponent", "fathom:v5")[1])
    version = planned["roster"]["opponents"][0]["policy_version_id"]
    code, out, _ = user.ab("--opponent", "fathom:v5", "--opponent", version)
    assert code == 11
    assert "two of the named opponents are one and the same live version" in out
    assert "name each opponent once with --opponent" in out
    assert user.posted == 0


def test_without_a_token_nothing_is_played(user, monkeypatch):
    monkeypatch.setenv("SOFTMAX_CONFIG_DIR", str(user.folder))
    code, out, _ = user.ab()
    assert code == 11
    assert "EVH201" in out
    run = user.results()["run_id"]
    assert user.run("ab", "--explain", run)[0] == 1  # the ledger knows nothing of it


# ------------------------------------------------------------------ usage


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--num", "0"], "--num: '0' must be 1 to 100"),
        (["--num", "101"], "--num: '101' must be 1 to 100"),
        (["--num", "-1"], "--num: '-1' must be 1 to 100"),
        (["--num", "many"], "--num: 'many' must be a whole number"),
        (["--maxticks", "0"], "--maxticks: '0' must be 1 or more"),
        (["--top-n", "6"], "--top-n 6 leaves 1 seats empty"),
        (["--top-n", "4", "--opponent", "a", "--opponent", "b"], "--top-n 4 leaves 1 seats empty"),
        (["--role", "imposer"], "did you mean 'imposter'?"),
        (["--claim", "best"], "must be one of better, not_worse"),
        (["--rule", "scor"], "did you mean 'score'?"),
        (["--claim", "noninferior"], "needs a margin"),
        (["--margin", "1.5"], "--margin: '1.5' must be between 0 and 1"),
        (["--opponent", "ember", "--opponent", "ember"], "names 'ember' twice"),
        (["--opponent", "x"] + [w for n in "abcdefg" for w in ("--opponent", n)], "8 opponents were named"),
        (["--rule", "group_sequential", "--claim", "separated"], "tells directions only"),
        (["--backend", "k9s"], "did you mean 'k8s'?"),
        (["--server", "league"], "--server: 'league' must be `embedded` or a URL"),
        (["--candidate", ""], "--candidate: '' must not be empty"),
    ],
)
def test_a_usage_error_is_4_and_makes_nothing(user, more, told):
    code, out, errors = user.ab(*more)
    assert (code, out) == (4, "")
    assert told in errors
    assert "nothing was submitted" in errors
    assert "EVH001" in errors
    assert "--eval-" not in errors
    assert not user.home.exists()


def test_names_and_the_server_must_be_given(user):
    assert "add --candidate NAME:vN" in user.ab(candidate=None)[2]
    assert "add --baseline NAME:vN" in user.ab(baseline=None)[2]
    code, _, errors = user.run("ab", "--candidate", GOOD, "--baseline", "keeper:v1")
    assert code == 4
    assert "--server URL for a hosted league" in errors
    assert not user.home.exists()


@pytest.mark.parametrize("words", [["--nums", "3"], ["--explain"], ["keeper:v2"], ["--role"]])
def test_what_the_parser_refuses_is_4_too(user, words):
    with pytest.raises(SystemExit) as left:
        user.ab(*words)
    assert left.value.code == 4


def test_explain_takes_a_run_and_nothing_of_another_comparison(user):
    code, _, errors = user.run("ab", "--explain", "run-1", "--num", "3")
    assert code == 4
    assert "not --num" in errors
    assert user.run("ab", "--explain", "run-1")[0] == 4  # there is no ledger
    assert user.ab("--dry-run")[0] == 0
    code, _, errors = user.run("ab", "--explain", "run-1")
    assert code == 4
    assert "there is no run 'run-1'" in errors


def test_explain_reads_what_others_played_and_what_is_open(book, command):
    book.run(
        "run-1", book.one("t.py::test_open", seat=4), book.one("t.py::test_told", (28, 15), seat=1),
        book.many("t.py::test_pool", [(22, 13), (20, 12)]),
    )  # fmt: skip
    code, out, errors = command("ab", "--explain", "run-1", "--json")
    assert (code, errors) == (1, "")
    opened, told, pool = json.loads(out)["success_check"]
    assert opened["case"] == "t.py::test_open"
    assert opened["points"][1]["seen"] == "candidate: not posted; baseline: not posted"
    assert told["points"][3]["seen"] == "30 and 30 games: the Wilson intervals separate, candidate above"
    assert pool["points"][3]["seen"] == "60 and 60 games: the score rule tells better"
    assert json.loads(out)["server"] == "embedded:2026"
    assert "note: the field is the embedded league (seed 2026): " in command("ab", "--explain", "run-1")[1]
    # No game is kept in this ledger, and each configuration says so.
    assert "crew: " in pool["points"][1]["seen"]
    assert "imposter: " in pool["points"][1]["seen"]
    book.run("run-2")
    assert command("ab", "--explain", "run-2") == (1, "this run has compared nothing\n", "")


# ----------------------------------------------------------------- dry run


def test_a_dry_run_prints_the_plan_and_leaves_no_run(user):
    code, out, _ = user.ab("--dry-run", "--opponent", "fathom:v5", "--opponent", "drifter:v4", "--top-n", "5")
    assert code == 0
    for words in (
        f"ab: {GOOD} against keeper:v1 as crew:", "claim      better, decided by the score rule", "arms       30 episodes each",
        f"seat 0     crew      {GOOD} against keeper:v1  <- tested", "seat 1     crew      fathom:v5", "seat 2     imposter  drifter:v4",
        "power      from a rate of 0.5: 30 games find a lift of 0.33", "dry run: the plan resolves; nothing was posted",
    ):  # fmt: skip
        assert words in out, words
    code, out, _ = user.ab("--dry-run", "--json", "--opponent", "fathom:v4")
    told = json.loads(out)
    assert (told["dry_run"], told["exit_code"], told["embedded"]) == (True, 0, False)
    assert [seat["slot"] for seat in told["requests"]["candidate"][0]["roster"]] == list(range(8))
    assert len(told["roster"]["opponents"]) == 7
    assert [one["label"] for one in told["roster"]["opponents"]].count("fathom:v4") == 1
    assert told["roster"]["opponents"][0]["label"] == "fathom:v4"
    assert len({one["player_name"] for one in told["roster"]["opponents"]}) == 7
    assert user.posted == 0
    assert user.runs() == []


# ------------------------------------------------------- flags and settings


def test_the_flags_and_defaults_are_the_pages(user):
    parsed = build_parser().parse_args(["ab"])
    spellings = {flag.option: flag.key for flag in FLAGS}
    for option, default in PAGES_FLAGS.items():
        key = spellings[option]
        assert getattr(parsed, key) is None
        assert DEFAULTS.get(key, BY_KEY[key].default) == default
        assert BY_KEY[key].option.startswith("--eval-")
        assert BY_KEY[key].variable.startswith("EVALHARNESS_")
    assert {"--candidate", "--baseline", "--rule", "--margin", "--claim"} <= set(spellings)


def test_help_names_every_flag(capsys):
    with pytest.raises(SystemExit) as left:
        main(["ab", "--help"])
    assert left.value.code == 0
    told = capsys.readouterr().out
    hidden = {"--arena-fault"}
    assert [flag.option for flag in FLAGS if f"  {flag.option} " not in told] == list(hidden)
    assert "--eval-" not in told


def test_command_line_then_environment_then_ini_then_default(user, monkeypatch):
    def planned(*more):
        code, out, errors = user.ab("--dry-run", "--json", *more)
        assert code == 0, errors
        return json.loads(out)["plan"]

    assert planned()["episodes"] == 30
    (user.folder / "pytest.ini").write_text(
        "[pytest]\nevalharness_num = 9\nevalharness_opponent = fathom:v5\n"
    )
    assert planned()["episodes"] == 9
    assert planned()["opponents"] == ["fathom:v5"]
    monkeypatch.setenv("EVALHARNESS_NUM", "8")
    monkeypatch.setenv("EVALHARNESS_ROLE", "imposter")
    assert (planned()["episodes"], planned()["tested_seat"]) == (8, 2)
    assert planned("--num", "7", "--role", "crew") | {"tested_seat": 0, "episodes": 7} == planned(
        "--eval-num", "7", "--eval-role", "crew"
    )
    monkeypatch.setenv("EVALHARNESS_NUM", "many")
    assert "EVALHARNESS_NUM: 'many' must be a whole number" in user.ab()[2]
    monkeypatch.setenv("EVALHARNESS_NUM", "8")
    monkeypatch.setenv("EVALHARNESS_NUMM", "8")
    assert "note: the environment variable EVALHARNESS_NUMM is no setting" in user.ab("--dry-run")[1]


def test_messages_speak_of_flags_as_they_are_typed_here():
    assert spelt("run with --eval-fresh, or --eval-ticks 5, not --eval-multiplicity") == (
        "run with --fresh, or --maxticks 5, not --eval-multiplicity"
    )


# ------------------------------------------------------------- interrupted


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)], ids=["ctrl-c", "term"]
)
def test_an_interrupted_command_prints_the_command_that_goes_on_with_it(user, number):
    user.league.fault("closed-queue")
    words = user.words("--num", "5", "--notes", "it's mine", "--fresh")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_evalharness.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    answered = itertools.islice((line for line in process.stderr if "posted as" in line), 2)
    assert len(list(answered)) == 2
    process.send_signal(number)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 2, errors
    assert out.count("still running on the server: ") == 2
    report = user.results()
    assert (report["exit_code"], report["cases"]) == (2, [])
    assert len(report["still_running"]) == 2
    code, told, _ = user.run("ab", "--explain", report["run_id"])
    assert code == 1
    assert "2 not ok  both arms ended: candidate: running, request xreq_" in told
    user.league.heal()
    again = shlex.split(errors.splitlines()[-1])
    assert again[:2] == ["evalharness", "ab"]
    assert "--fresh" not in again
    assert "it's mine" in again
    code, _, errors = user.run(*again[1:])
    assert code in {0, 1, 10}
    assert errors.count("nothing was posted again") == 2
    assert user.posted == 2
    assert user.run("runs", "resume", report["run_id"])[0] == code


# ------------------------------------------------------------ beside it


def test_the_seat_score_may_decide_and_a_job_of_github_gets_its_summary(user, monkeypatch):
    files = {name: user.folder / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    for name, path in files.items():
        monkeypatch.setenv(name, str(path))
    code, out, _ = user.ab("--metric=seat_score", "--num=10")
    assert code in {0, 1, 10}
    assert "seat score" in out.splitlines()[0]
    assert not any(path.exists() for path in files.values()), "this was no job"
    assert user.results()["cases"][0]["results"][0]["judgement"]["declaration"]["metric"] == "score"

    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert user.ab("--metric=seat_score", "--num=10")[0] == code
    run = user.results()["run_id"]
    summary, output = (path.read_text() for path in files.values())
    assert summary == (user.home / "runs" / run / "summary.md").read_text()
    assert f"exit-code={code}" in output
    assert "--metric seat_score" in output

    files["GITHUB_STEP_SUMMARY"].unlink()
    files["GITHUB_STEP_SUMMARY"].mkdir()
    again, out, errors = user.ab("--metric=seat_score", "--num=10")
    assert again == code
    assert "GITHUB_STEP_SUMMARY was not written: it is no regular file" in errors


def test_a_metric_that_is_none_is_refused_before_anything_is_posted(user):
    code, _, errors = user.ab("--metric=luck")
    assert code == 4
    assert "metric must be 'win rate', 'seat score'" in errors
    assert user.posted == 0
