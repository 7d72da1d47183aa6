"""`evalharness ab --bisect-wedge`: whichever of eight seats hang on a real server, they are named."""

import json
import os
import urllib.request

import pytest

from pytest_evalharness.cli import main
from pytest_evalharness.league.poll import Poller

GOOD = "keeper:v1"


@pytest.fixture(scope="module")
def server(start_league):
    return start_league()


class User:
    def __init__(self, server, folder, capfd):
        self.server = server
        self.home = folder / ".evalharness"
        self._capfd = capfd
        self._wedged = []

    def call(self, path, method="GET", body=None):
        request = urllib.request.Request(
            self.server.api.removesuffix("/api") + path,
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

    def heal(self):
        self.call("/_arena/faults", "DELETE")
        self._wedged.clear()

    def fault(self, spec):
        self.call("/_arena/faults", "POST", {"spec": spec})
        seat, _, label = spec.removeprefix("wedged-seat=").partition(":")
        self._wedged.append((int(seat), label))

    def wedges(self, arm):
        """Whether somebody in an arm hangs. Of two arms that do it is told of the candidate's: the first one ends the run."""
        if arm.side == "baseline":
            return False
        seated = {(seat.position, label) for seat in arm.seats for label in (seat.label, "")}
        return not seated.isdisjoint(self._wedged)

    def run(self, *words):
        self._capfd.readouterr()
        code = main([str(word) for word in words])
        told = self._capfd.readouterr()
        return code, told.out, told.err

    def ab(self, *more):
        return self.run(
            "ab",
            "--candidate=keeper:v2",
            "--baseline=keeper:v3",
            "--server",
            self.server.api,
            "--num=2",
            *more,
        )

    def seats(self):
        """Who sits where in the candidate's arm."""
        told = json.loads(self.ab("--dry-run", "--json")[1])
        ids = [one["player"]["policy_ref"] for one in told["requests"]["candidate"][0]["roster"]]
        labels = {one["policy_version_id"]: one["label"] for one in told["roster"]["opponents"]}
        return [labels.get(version, "keeper:v2") for version in ids]

    def wedged_run(self, *seats, stall="0.4"):
        """A run that these seats' policies have made hang; returns its id."""
        labels = self.seats()
        for seat in seats:
            self.fault(f"wedged-seat={seat}:{labels[seat]}")
        code, out, _ = self.ab("--stall-grace", stall)
        assert code == 11, out
        return json.loads(self.run("runs", "ls", "--json")[1])[0]["run"]

    def bisect(self, run, *more):
        return self.run("ab", "--bisect-wedge", run, "--stall-grace=0.4", *more)


@pytest.fixture
def user(server, tmp_path, monkeypatch, capfd):
    for name in list(os.environ):
        if name.startswith(("EVALHARNESS_", "PYTEST_ADDOPTS")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SOFTMAX_CONFIG_DIR", str(server.credentials))
    monkeypatch.chdir(tmp_path)
    made = User(server, tmp_path, capfd)
    made.heal()
    hangs = Poller._hangs
    # On a busy machine no game of an arm that is well may have finished either by the end of a grace as short as here.
    monkeypatch.setattr(
        Poller, "_hangs", lambda self, standing: made.wedges(self.arm) and hangs(self, standing)
    )
    yield made
    made.heal()


def test_an_opponent_that_hangs_is_named_and_asking_again_posts_nothing(user):
    run = user.wedged_run(5)
    label = user.seats()[5]
    before = user.posts

    code, out, _ = user.bisect(run, "--known-good", GOOD, "--dry-run")
    assert code == 0
    assert "games      at most 10, one a request, 1000 ticks" in out
    assert f"known good {GOOD}" in out
    assert "before the search" in out
    assert user.posts == before

    code, out, _ = user.bisect(run, "--known-good", GOOD)
    assert code == 0, out
    assert f"wedged: seat 5, {label} (policy version " in out
    assert out.count("wedged: ") == 1
    assert "it is the policy, not the seat" in out
    assert f"next: {label} is an opponent" in out
    played = user.posts - before
    assert out.count("  game ") == played <= 6
    for line in (
        f"game 1: {GOOD} in every seat: finishes",
        "game 2: seats 0, 1, 2, 3, 4, 5, 6, 7 as they were: hangs",
    ):
        assert line in out

    code, again, _ = user.bisect(run, "--known-good", GOOD, "--json")
    (search,) = json.loads(again)["searches"]
    assert (code, search["outcome"], [one["seat"] for one in search["wedged"]]) == (0, "named", [5])
    assert user.posts - before == played, "its answers are read again"


def test_a_seat_of_a_game_of_teams_is_named_and_no_role_is_told(user):
    flags = "league_5f9ee780-5929-52ec-8214-86ce6e70cd42"
    user.fault("wedged-seat=1:bulwark:v2")
    words = ("--server", user.server.api, "--league", flags, "--num=2", "--opponent", "bulwark:v2")
    code, out, _ = user.run(
        "ab", "--candidate=warden:v2", "--baseline=warden:v1", *words, "--stall-grace=0.4"
    )
    assert code == 11, out
    run = json.loads(user.run("runs", "ls", "--json")[1])[0]["run"]
    code, out, _ = user.bisect(run, "--known-good", "warden:v3")
    assert code == 0, out
    assert "  seat 3     bulwark:v2\n" in out
    assert out.count("wedged: ") == 1
    assert "wedged: seat 1, bulwark:v2 (policy version " in out


@pytest.mark.slow
@pytest.mark.parametrize("seats", [(0,), (1,), (2,), (3,), (4,), (6,), (7,), (0, 7), (3, 4), (1, 6)])
def test_any_one_of_eight_and_two_of_eight_are_named(user, seats):
    run = user.wedged_run(*seats)
    before = user.posts
    code, out, _ = user.bisect(run, "--known-good", GOOD, "--json")
    searches = json.loads(out)["searches"]
    assert code == 0
    assert {one["seat"] for row in searches for one in row["wedged"]} == set(seats)
    assert user.posts - before <= 10 * len(searches)


@pytest.mark.slow
def test_a_small_budget_ends_the_search_and_a_larger_one_goes_on(user):
    run = user.wedged_run(0)
    before = user.posts
    code, out, _ = user.bisect(run, "--known-good", GOOD, "--bisect-budget", "3")
    assert code == 1
    assert "the budget of 3 games is spent; still suspected: seats " in out
    assert user.posts - before == 3
    code, out, _ = user.bisect(run, "--known-good", GOOD)
    assert code == 0
    assert "wedged: seat 0, keeper:v2" in out
    assert "next: keeper:v2 is what was tested: do not ship it" in out
    assert out.count("  game ") == user.posts - before


@pytest.mark.slow
def test_a_seat_that_hangs_whoever_sits_there_blames_no_policy(user):
    user.fault("wedged-seat=3")
    run = user.wedged_run()
    code, out, _ = user.bisect(run, "--known-good", GOOD, "--known-good", "keeper:v4")
    assert code == 11
    assert "no policy of this roster is to blame alone" in out
    assert "A seat hangs whoever sits there" in out
    assert "wedged:" not in out


@pytest.mark.slow
def test_what_does_not_hang_again_is_told(user):
    run = user.wedged_run(2)
    user.heal()
    code, out, _ = user.bisect(run, "--known-good", GOOD)
    assert code == 1
    assert "the very roster that hung finishes now" in out


@pytest.mark.slow
def test_who_finished_earlier_is_known_good_and_suspected_last(user):
    assert user.ab()[0] in {0, 1, 10}
    user.fault("wedged-seat=0:keeper:v4")
    code, _, _ = user.run(
        "ab", "--candidate=keeper:v4", "--baseline=keeper:v3", "--server", user.server.api, "--num=2", "--stall-grace=0.4"
    )  # fmt: skip
    assert code == 11
    run = json.loads(user.run("runs", "ls", "--json")[1])[0]["run"]
    code, out, _ = user.bisect(run)
    assert code == 0, out
    assert "wedged: seat 0, keeper:v4" in out
    assert "known good keeper:v" in out
    assert out.count("it has finished games in this seat: suspected last") == 7
    assert "game 3: seats 0 as they were: hangs" in out
    assert out.count("  game ") == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--bisect-wedge", "nobody"), "there is no folder"),
        (("--known-good", GOOD), "--known-good belongs to --bisect-wedge RUN"),
        (("--bisect-budget", "3"), "--bisect-budget belongs to --bisect-wedge RUN"),
        (("--bisect-wedge", "r", "--bisect-budget", "0"), "--bisect-budget must be a whole number from 1 to 100, got 0"),
        (("--bisect-wedge", "r", "--num", "3"), "not --num"),
        (("--bisect-wedge", "r", "--explain", "r"), "not --explain"),
    ],
)  # fmt: skip
def test_wrong_words_are_usage(user, words, told):
    code, _, errors = user.run("ab", *words)
    assert code == 4
    assert told in errors


def test_a_run_without_a_wedge_and_one_without_anybody_known_to_be_good(user):
    run = user.wedged_run(1)
    code, _, errors = user.bisect(run)
    assert code == 4
    assert "nobody is known to be good" in errors
    assert "--known-good NAME:vN" in errors
    user.heal()
    assert user.ab("--fresh")[0] in {0, 1, 10}
    finished = json.loads(user.run("runs", "ls", "--json")[1])[0]["run"]
    code, _, errors = user.bisect(finished, "--known-good", GOOD)
    assert code == 4
    assert "was found wedged" in errors


@pytest.mark.slow
def test_credits_bound_a_search_a_larger_budget_goes_on_and_a_fresh_one_asks_anew(user):
    run = user.wedged_run(0)
    before = user.posts
    code, out, errors = user.bisect(run, "--known-good", GOOD, "--budget", "0.001")
    assert code == 11
    assert "budget     0.001 credits for all of them" in out
    assert "the budget is 0.001" in errors
    assert "goes on with this search" in errors
    assert user.posts - before == 1, "the price of the first game was told with it"

    code, out, _ = user.bisect(run, "--known-good", GOOD, "--budget", "1e6")
    assert code == 0, out
    assert "wedged: seat 0, keeper:v2" in out
    played = user.posts - before
    assert user.bisect(run, "--known-good", GOOD)[0] == 0
    assert user.posts - before == played, "its answers are read again"

    code, out, _ = user.bisect(run, "--known-good", GOOD, "--fresh")
    assert code == 0, out
    fresh = user.posts - before - played
    assert fresh == out.count("  game ") > 0
    assert user.bisect(run, "--known-good", GOOD)[0] == 0
    assert user.posts - before == played + fresh, "who does not ask for a fresh one goes on with the latest"
