"""A player that breaks unnoticed, and what a policy uploads of its own play."""

import io
import json
import zipfile
from dataclasses import replace

import pytest

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.hosted import MISHAPS, Order
from pytest_evalharness.arena.game.match import play
from pytest_evalharness.arena.game.telemetry import COLOURS, archive, telemetry
from pytest_evalharness.arena.league.referee import play as played
from pytest_evalharness.arena.league.referee import record

SEEDS = range(6)


@pytest.fixture
def broken(forced, seated):
    """The same match with one player gone from tick 1000 on."""

    def match(seed, seat, **words):
        seats = seated("keeper-2")
        seats[seat] = replace(seats[seat], crashes_at=1_000)
        return play(forced, seats, seed, **words)

    return match


def test_a_crash_is_no_timeout_and_the_match_goes_on(broken, forced, seated):
    for seed in SEEDS:
        whole, without = play(forced, seated("keeper-2"), seed), broken(seed, 1)
        assert not any(without.results["connect_timeout"] + without.results["disconnect_timeout"])
        assert without.ending in {"time limit", "imposters reached parity", "all imposters ejected"}
        assert without.digest != whole.digest
        assert without.ticks > 1_000


def test_who_is_gone_does_nothing_more(broken):
    for seed in SEEDS:
        match = broken(seed, 1, record=True)
        assert [row for row in match.inputs if row.seat == 1 and row.tick > 1_000] == []
        assert match.results["tasks"][1] < 8


def test_a_match_without_crashes_keeps_its_digest(forced, seated):
    seats = seated("keeper-2")
    assert (
        play(forced, seats, 3).digest == play(forced, [replace(s, crashes_at=None) for s in seats], 3).digest
    )


@pytest.mark.parametrize("mishap", MISHAPS)
def test_every_mishap_reaches_the_match(mishap):
    seats = [(f"p{seat}", "keeper-2") for seat in range(8)]
    results = played(Order("crewrift", {}, seats, 7, mishaps=[(4, mishap)])).results
    for kind in ("connect", "disconnect"):
        flags = [int(kind == mishap and seat == 4) for seat in range(8)]
        assert results[f"{kind}_timeout"] == flags
    assert any(results["win"]) is (mishap == "crash")
    assert GAMES["crewrift"].gone_at == 1_000


# ---------------------------------------------------------------- telemetry


@pytest.fixture(scope="module")
def recorded(request):
    from pytest_evalharness.arena.game.config import parse_config
    from pytest_evalharness.arena.game.match import SeatEntry

    seats = [SeatEntry(f"p{seat}", "keeper-1") for seat in range(8)]
    matches = (play(parse_config({}), seats, seed, record=True) for seed in range(50))
    return next(match for match in matches if sum(match.results["vote_players"]) > 3)


def of_kind(rows, kind):
    return [row for row in rows if row.get("event", "").endswith(kind)]


def test_an_adviser_decides_every_vote_that_the_match_counted(recorded):
    for seat in range(8):
        rows = telemetry(recorded.events, seat, fires=True)
        votes = [row["data"]["decision"]["vote"] for row in of_kind(rows, "llm_decision")]
        assert sum(vote != "skip" for vote in votes) == recorded.results["vote_players"][seat]
        assert sum(vote == "skip" for vote in votes) == recorded.results["vote_skip"][seat]
        assert set(votes) <= {*COLOURS, "skip"}
        assert of_kind(rows, "llm_fallback") == []


def test_one_whose_calls_fail_decides_nothing(recorded):
    for seat in range(8):
        fired, silent = (telemetry(recorded.events, seat, fires=fires) for fires in (True, False))
        assert len(of_kind(silent, "llm_fallback")) == len(of_kind(fired, "llm_decision"))
        assert of_kind(silent, "llm_decision") == []
        assert len(of_kind(silent, "task_completed")) == recorded.results["tasks"][seat]


def test_an_upload_is_the_same_bytes_whenever_it_is_made(recorded):
    rows = telemetry(recorded.events, 0, fires=True)
    data = archive(rows, "keeper-1")
    assert data == archive(rows, "keeper-1")
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        assert made.namelist() == ["manifest.json", "telemetry.jsonl"]
        assert [json.loads(line) for line in made.read("telemetry.jsonl").splitlines()] == rows


def test_the_record_of_a_match_has_an_upload_a_seat():
    found = record(Order("crewrift", {"maxTicks": 2000}, [(f"p{seat}", "keeper-1") for seat in range(8)], 5))
    assert len(found.uploads) == len(found.silent_uploads) == len(found.seat_logs) == 8
