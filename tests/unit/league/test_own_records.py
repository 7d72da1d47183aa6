"""Optional artifacts: read where they are, and where they are not, no game is lost and the reason is kept."""

import io
import json
import threading
import zipfile
from dataclasses import asdict

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.errors import CredentialsRejected, NotTheService, ServerUnreachable
from pytest_evalharness.league.attribution import attribution
from pytest_evalharness.league.harvest import harvest
from pytest_evalharness.league.own_records import PATIENCE, Looking
from pytest_evalharness.league.records import LOG, STATUS, TELEMETRY, EpisodeRecord
from pytest_evalharness.verdict.words import Attribution

DECIDED = {"kind": "trace", "event": "domain.meeting_llm_decision", "data": {"decision": {"vote": "green"}}}
FELL_BACK = {"kind": "trace", "event": "domain.meeting_llm_fallback", "data": {"reason": "call_failed"}}
FINE = [
    {"slot": slot, "state": "exited", "exit_code": 0, "finished_at": "2026-09-01T12:10:00Z"}
    for slot in range(8)
]
BROKE = {
    "slot": 0,
    "state": "exited",
    "exit_code": 137,
    "reason": "OOMKilled",
    "finished_at": "2026-09-01T12:02:00Z",
}


def archive(*rows):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("telemetry.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return out.getvalue()


def players(*others):
    changed = {player["slot"]: player for player in others}
    return {"schema_version": "1", "players": [changed.get(player["slot"], player) for player in FINE]}


class Served:
    """As much of the client as a harvest asks for; an exception in place of an answer is raised."""

    def __init__(self, results, **answers):
        self.answers = {"results": results, STATUS: players(), TELEMETRY: None, LOG: None, **answers}
        self.asked = []

    def _answer(self, kind, episode):
        self.asked.append((kind, episode))
        answer = self.answers[kind]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def episode_results(self, episode, *, late_seconds):
        del late_seconds
        return self._answer("results", episode)

    def episode_error_info(self, episode, *, late_seconds):
        del late_seconds, episode

    def player_status(self, episode, *, deadline):
        assert deadline.remaining <= PATIENCE
        return self._answer(STATUS, episode)

    def policy_artifact(self, episode, version, seat, *, deadline):
        assert (version, seat) == ("id-bot:v2", 0)
        assert deadline.remaining <= PATIENCE
        return self._answer(TELEMETRY, episode)

    def policy_log(self, episode, version, seat, *, deadline):
        assert (version, seat) == ("id-bot:v2", 0)
        assert deadline.remaining <= PATIENCE
        return self._answer(LOG, episode)


@pytest.fixture
def read(make):
    """Harvest some games, and read them back from what the journal keeps."""
    won = make.episode(make.arms()["candidate"]).results

    def harvested(*states, deep=None, row=None, results=None, **answers):
        served = Served(
            {**won, "vote_players": [1] + [0] * 7, "vote_skip": [0] * 8, **(results or {})}, **answers
        )
        detail = make.request("completed", *(states or ("completed",)))
        if row:
            rows = tuple(episode.model_copy(update=row) for episode in detail.episodes)
            detail = detail.model_copy(update={"episodes": rows})
        looking = Looking(served, 0, "id-bot:v2", SystemClock())
        found = harvest(
            served,
            detail,
            lambda _: None,
            threading.Event(),
            clock=SystemClock(),
            looking=looking,
            deep=deep,
        )
        told = json.loads(json.dumps(found, allow_nan=False))["episodes"]
        return [EpisodeRecord.from_json(one) for one in told], served.asked

    return harvested


def asked_for(asked):
    return sorted({kind for kind, _ in asked})


def test_every_played_game_is_asked_what_became_of_its_players(read):
    (record,), asked = read(deep=0, **{STATUS: players(BROKE)})
    assert asked_for(asked) == [STATUS, "results"]
    assert record.crashed(0) is True
    assert record.crashed(1) is False
    assert attribution(record, 0) is Attribution.POLICY
    assert attribution(record, 1) is None, "a crash of another seat is how the field plays"
    assert record.untold == {}


def test_only_so_many_games_are_looked_into(read):
    _, asked = read(*["completed"] * 5, deep=2, **{TELEMETRY: archive(DECIDED)})
    assert [episode for kind, episode in sorted(asked) if kind == TELEMETRY] == ["ereq_0", "ereq_1"]
    _, asked = read(*["failed", "completed", "completed"], deep=1, **{TELEMETRY: archive(DECIDED)})
    assert [episode for kind, episode in asked if kind == TELEMETRY] == ["ereq_1"], "a game that was played"


def test_telemetry_tells_of_the_adviser_and_of_the_votes(read):
    (record,), asked = read(**{TELEMETRY: archive(DECIDED, FELL_BACK)})
    assert record.adviser == {"decisions": 1, "fallbacks": 1, "disabled": 0, "malformed": 0}
    assert record.ballots == [2]
    assert LOG not in asked_for(asked), "nothing is left to ask the log for"


def test_the_log_is_read_where_telemetry_tells_no_votes(read):
    (record,), asked = read(**{TELEMETRY: archive(FELL_BACK), LOG: b"voting for green\n"})
    assert asked_for(asked) == sorted([TELEMETRY, LOG, STATUS, "results"])
    assert record.ballots == [2]


def test_votes_that_the_game_did_not_count_are_not_taken(read):
    (record,), _ = read(**{LOG: b"voting for green\n" * 9})
    assert record.ballots is None
    assert record.untold == {TELEMETRY: "absent"}


def test_the_log_is_read_where_nobody_knows_what_became_of_the_process(read):
    end = b"Traceback (most recent call last):\nKeyError: 'x'\n"
    (record,), _ = read(**{STATUS: None, TELEMETRY: archive(DECIDED), LOG: end})
    assert record.last_words == "Traceback (most recent call last):"
    assert record.untold == {STATUS: "absent"}
    assert attribution(record, 0) is None, "many break once their game has ended"


def test_a_collectors_complaint_is_kept_and_is_no_log(read):
    (record,), _ = read(**{LOG: b"No logs collected for pod p-1 container player: gone.\n"})
    assert record.untold[LOG].startswith("collector: No logs collected")


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (CredentialsRejected("not yours"), "not permitted"),
        (ServerUnreachable("503"), "the server did not give it"),
        (NotTheService("400 Unknown artifact type"), "the server did not give it"),
    ],
)
@pytest.mark.parametrize("kind", [STATUS, TELEMETRY, LOG])
def test_whoever_refuses_once_is_not_asked_again_and_costs_no_game(read, problem, why, kind):
    records, asked = read(*["completed"] * 40, **{kind: problem})
    assert {record.untold.get(kind) for record in records} == {why}
    assert all(record.outcome(0).value == "win" for record in records)
    assert sum(one == kind for one, _ in asked) <= 8, "those that were under way at the same time"


@pytest.mark.parametrize("kind", [STATUS, TELEMETRY])
def test_a_broken_artifact_costs_no_game(read, kind):
    broken = {"schema_version": "9"} if kind == STATUS else b"no zip"
    (record,), _ = read(**{kind: broken})
    assert "cannot be read" in record.untold[kind]
    assert record.outcome(0).value == "win"


def test_malformed_results_lose_only_what_is_malformed(read):
    (record,), _ = read(results={"kills": "many", "names": ["x"] * 8})
    assert record.malformed == ("kills",)
    assert record.count("kills", 0) == 0
    assert record.outcome(0).value == "win"
    assert "names" not in record.results


def test_the_rows_version_is_kept(read):
    (record,), _ = read(row={"coworld_version": "1.2.1"})
    assert record.coworld_version == "1.2.1"


def test_without_anything_to_look_with_nothing_optional_is_asked(make):
    served = Served(make.episode(make.arms()["candidate"]).results)
    detail = make.request("completed", "completed")
    harvest(served, detail, lambda _: None, threading.Event(), clock=SystemClock())
    assert asked_for(served.asked) == ["results"]


# ---------------------------------------------------------------- attribution


def failed(read, error_type, status):
    (record,), asked = read("failed", row={"error_type": error_type}, **{STATUS: status})
    return record, asked_for(asked)


def test_a_players_error_without_a_name_is_that_of_the_only_process_that_failed(read):
    record, asked = failed(read, "player_error", players(BROKE))
    assert asked == [STATUS]
    assert attribution(record, 0) is Attribution.POLICY
    assert attribution(record, 4) is Attribution.INFRASTRUCTURE


def test_where_several_failed_or_none_nobody_knows(read):
    two, _ = failed(read, "player_error", players(BROKE, {**BROKE, "slot": 5}))
    none, _ = failed(read, "player_error", players())
    untold, _ = failed(read, "player_error", None)
    assert {attribution(one, 0) for one in (two, none, untold)} == {Attribution.UNKNOWN}


def test_an_error_that_blames_no_player_costs_no_request(read):
    record, asked = failed(read, "worker_oom", players(BROKE))
    assert asked == []
    assert attribution(record, 0) is Attribution.INFRASTRUCTURE


def test_a_process_that_never_started_did_not_play(read):
    never = {"slot": 0, "state": "not_started", "exit_code": None, "finished_at": None}
    (record,), _ = read(**{STATUS: players(never)})
    assert attribution(record, 0) is Attribution.UNKNOWN


def test_an_old_journal_is_read_as_before(make):
    old = asdict(make.episode(make.arms()["candidate"]))
    for key in ("coworld_version", "malformed", "players", "adviser", "ballots", "last_words", "untold"):
        del old[key]
    record = EpisodeRecord.from_json(json.loads(json.dumps(old)))
    assert record.outcome(0).value == "win"
    assert record.crashed(0) is None
