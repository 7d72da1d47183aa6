"""Every typed call against the embedded league, which shares no code with the client."""

from __future__ import annotations

import itertools
import time

import pytest

from pytest_evalharness.episodes.results import ScoreRegime, SeatResults, regime_of
from pytest_evalharness.errors import (
    AmbiguousPolicy,
    CredentialsRejected,
    FieldUnavailable,
    NotTheService,
    RequestRefused,
    ServerUnreachable,
    UnknownPolicy,
)
from pytest_evalharness.league.watch import ended
from pytest_evalharness.observatory import AnswerLost, Observatory, Status, Token, resolve_policy
from pytest_evalharness.observatory.dialect import Artifacts, Auth
from pytest_evalharness.observatory.paging import Paging

LEAGUE = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"
PRIME = "league_a12f5172-0907-4d04-8bcb-ca02f5360e3a"


@pytest.fixture
def today(dialect):
    """Whether the league speaks as the service does today."""
    return dialect == "current"


@pytest.fixture
def live(observatory):
    division = observatory.competition_division(LEAGUE)
    return observatory.memberships(league_id=LEAGUE, division_id=division.id)


# -------------------------------------------------------------------- who and what


def test_the_token_of_the_credential_file_is_accepted(observatory):
    assert not observatory.whoami().anonymous


def test_another_token_is_not(arena, observatory):
    with Observatory(arena.api, Token("usr_wrong"), clock=observatory._clock, rng=None) as wrong:
        with pytest.raises(CredentialsRejected, match="does not accept"):
            wrong.whoami()
        with pytest.raises(CredentialsRejected) as caught:
            wrong.create_experience_request({})
    assert caught.value.not_done == "nothing was submitted"


def test_its_description(observatory, today):
    found = observatory.capabilities()
    assert found.known
    assert found.has("POST", "/v2/experience-requests")
    assert found.has("POST", "/v2/experience-requests/{id}/cancel") is today
    assert found.has("GET", "/v2/episode-requests/{id}/artifacts/results") is today
    assert found.has("GET", "/jobs/{id}/artifacts/{kind}") is not today
    assert found.tells_kind is today
    assert found.digest == observatory.capabilities().digest == observatory.dialect.capabilities.digest


def test_what_is_chosen_for_it(observatory, today):
    found = observatory.dialect
    chosen = (found.auth, found.paging, found.artifacts, found.cancels)
    assert chosen == (
        (Auth.BEARER, Paging.CURSOR, Artifacts.EPISODE, True)
        if today
        else (Auth.LEGACY, Paging.OFFSET, Artifacts.JOB, False)
    )


def test_whether_it_knows_idempotency_keys(observatory, again, arena):
    assert observatory.knows_idempotency_keys()
    arena.fault("ignored-key")
    try:
        with again() as other:
            assert not other.knows_idempotency_keys()
        with again() as other:
            other.learn()
            assert not other.knows_idempotency_keys()
    finally:
        _no_faults(arena)


def test_credits(observatory, today):
    found = observatory.credits()
    assert found.status.balance_credits > 0 if today else found is None


# ------------------------------------------------------------------------- the field


def test_the_league(observatory):
    assert observatory.league(LEAGUE).game.coworld_name == "crewrift"


@pytest.mark.parametrize(
    "league", ["league_00000000-0000-4000-8000-000000000000", LEAGUE[7:], "nonsense", "../x"]
)
def test_a_league_that_is_none(observatory, league):
    with pytest.raises((FieldUnavailable, NotTheService)):
        observatory.league(league)


def test_the_competition_division(observatory):
    rows = {row.id: row for row in observatory.divisions(LEAGUE)}
    chosen = observatory.competition_division(LEAGUE)
    assert rows[chosen.id].type == "competition"
    assert not rows[chosen.id].hidden
    assert rows[chosen.id].archived_at is None


def test_the_live_members(observatory, live):
    everybody = observatory.memberships(league_id=LEAGUE, active_only=False)
    assert len({row.player_id for row in live}) >= 20
    assert len(everybody) > len(live)
    assert {row.id for row in live} <= {row.id for row in everybody}
    assert len({row.id for row in everybody}) == len(everybody)


def test_my_members(observatory):
    assert {row.policy_version.name for row in observatory.memberships(league_id=LEAGUE, mine=True)} >= {
        "keeper"
    }


def test_rounds(observatory):
    division = observatory.competition_division(LEAGUE)
    rows = observatory.rounds(division_id=division.id, status="completed", limit=3)
    assert len(rows) == 3
    assert all(row.status is Status.COMPLETED for row in rows)
    results = observatory.round(rows[0].id).results
    assert all(row.score is not None and row.player_id for row in results)


@pytest.mark.failure_mode(number=5)
def test_leaderboards(observatory):
    boards = {
        division.id: observatory.leaderboard(division.id).entries
        for league in (LEAGUE, PRIME)
        for division in observatory.divisions(league)
    }
    [shown] = [rows for rows in boards.values() if rows]
    assert len(boards) > 1
    assert [row.rank for row in shown] == list(range(1, len(shown) + 1))
    scores = [row.score for row in shown]
    assert scores == sorted(scores, reverse=True)
    assert all(row.player_id.startswith("ply_") and row.player_name for row in shown)


# -------------------------------------------------------------------------- policies


def test_owned_policies(observatory, live):
    digests = {}
    for label in ("keeper:v1", "keeper:v2", "keeper:v3", "keeper:v4", "keeper-alias:v1"):
        found = resolve_policy(observatory, label, live=live)
        assert found.owned
        digests[label] = found.image_digest
    assert digests["keeper:v1"] == digests["keeper-alias:v1"] is not None
    assert len(set(digests.values())) == 4


def test_a_swap_arm(observatory, live):
    found = resolve_policy(observatory, "rival:v3", live=live)
    assert not found.owned
    assert resolve_policy(observatory, found.policy_version_id, live=live) == found


def test_an_owned_id(observatory, live):
    found = resolve_policy(observatory, "keeper:v2", live=live)
    assert resolve_policy(observatory, found.policy_version_id, live=live) == found


def test_names_that_are_none(observatory, live):
    with pytest.raises(AmbiguousPolicy, match="v1, v2, v3, v4"):
        resolve_policy(observatory, "keeper", live=live)
    with pytest.raises(UnknownPolicy, match="keeper has v1, v2, v3, v4"):
        resolve_policy(observatory, "keeper:v99", live=live)
    with pytest.raises(UnknownPolicy, match="did you mean keeper:v2"):
        resolve_policy(observatory, "keper:v2", live=live)


@pytest.mark.failure_mode(number=8)
def test_a_retired_version_is_stale(observatory, live):
    seated = {row.policy_version.id for row in live}
    retired = next(
        row.policy_version.id
        for row in observatory.memberships(league_id=LEAGUE, active_only=False)
        if row.policy_version.id not in seated and row.policy_version.name not in {"keeper", "keeper-alias"}
    )
    with pytest.raises(UnknownPolicy, match="neither yours nor a live member"):
        resolve_policy(observatory, retired, live=live)


# -------------------------------------------------------------------------- requests


def finished(observatory, request_id):
    until = time.monotonic() + 300
    while time.monotonic() < until:
        detail = observatory.experience_request(request_id, fresh=True)
        if detail.status.terminal:
            return detail
        time.sleep(0.05)
    raise AssertionError("the request did not end")


@pytest.mark.failure_mode(number=7)
def test_a_request_from_its_creation_to_its_results(observatory, body, today):
    since = time.time()
    made = observatory.create_experience_request(body)
    assert made.status is Status.PENDING
    assert made.episode_count == len(made.episodes) == 2
    detail = finished(observatory, made.id)
    assert detail.status is Status.COMPLETED
    assert detail.coworld_version
    for episode in detail.episodes:
        assert [seat.position for seat in episode.participants] == list(range(8))
        assert episode.participants[0].policy_name == "keeper"
        results = observatory.episode_results(episode.id)
        assert len(results["scores"]) == 8
    found = observatory.find_experience_requests(body["notes"], since)
    assert [row.id for row in found] == [made.id]
    assert observatory.cancel(made.id) is (False if today else None)


def test_what_an_episode_left(observatory, body, today):
    long_enough = {**body, "game_config_overrides": {"maxTicks": 6000}}
    detail = finished(observatory, observatory.create_experience_request(long_enough).id)
    for episode in detail.episodes:
        results = observatory.episode_results(episode.id)
        own = detail.episodes[0].participants[0].policy_version_id
        log = observatory.policy_log(episode.id, own, 0)
        assert len(log) > 100
        assert observatory.policy_artifact(episode.id, own, 0).startswith(b"PK")
        assert (observatory.player_status(episode.id) is not None) is today
        assert observatory.episode_error_info(episode.id, late_seconds=0.0) is None
        assert (regime_of([SeatResults(results)]) is ScoreRegime.REWARD) is not today
        assert {seat.kind for seat in episode.participants} == {"policy"}


def test_why_an_episode_failed(observatory, arena, body):
    arena.fault("fail-games=1:keeper:v2:player_error")
    detail = finished(observatory, observatory.create_experience_request(body).id)
    [failed] = [episode for episode in detail.episodes if episode.status is Status.FAILED]
    told = observatory.episode_error_info(failed.id)
    assert (told["error_type"], told["failed_policy_index"]) == ("player_error", 0)
    assert observatory.episode_results(failed.id, late_seconds=0.0) is None


def test_what_was_never_sent_is_not_found(observatory):
    found = observatory.find_experience_requests("never sent by anybody", time.time())
    assert not found
    assert found.conclusive


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"roster": [{"player": {"policy_ref": "keeper:v2"}, "slot": 0}]}, "8 seats"),
        ({"num_episodes": 101}, "num_episodes: "),
        ({"bogus": 1}, "bogus: "),
        ({"game_config_overrides": {"gravity": 1}}, "gravity"),
    ],
)
def test_a_body_that_the_server_refuses(observatory, arena, body, change, said):
    before = arena.creations()
    with pytest.raises(RequestRefused, match=said) as caught:
        observatory.create_experience_request({**body, **change})
    assert caught.value.not_done == "nothing was submitted"
    assert arena.creations() == before


# ---------------------------------------------------------------------------- faults


@pytest.mark.failure_mode(number=1)
def test_an_accepted_request_whose_answer_is_lost_is_found(observatory, arena, body):
    arena.fault("reset-after-post=1")
    since, before = time.time(), arena.creations()
    with pytest.raises(AnswerLost):
        observatory.create_experience_request(body)
    assert arena.creations() > before
    until = time.monotonic() + 60
    while not (found := observatory.find_experience_requests(body["notes"], since)):
        assert time.monotonic() < until, "the accepted request is not listed"
        time.sleep(0.05)
    assert len(found) == 1
    # The same key is answered with the same request.
    assert observatory.create_experience_request(body).id == found[0].id


def test_a_cancelled_request(observatory, again, arena, body, today):
    """Who cannot cancel is not asked; who does not know that asks, and is told."""
    arena.fault("slow-queue=600")
    try:
        made = observatory.create_experience_request(body)
        observatory.experience_request(made.id, fresh=True)
        said = True if today else None
        assert observatory.cancel(made.id) is said
        assert observatory.cancel(made.id) is said
        with again() as unlearnt:
            assert unlearnt.cancel(made.id) is said
        status = observatory.experience_request(made.id).status
        assert status is (Status.CANCELLED if today else Status.PENDING)
    finally:
        _no_faults(arena)


def test_a_server_that_is_silent_now_and_then(again, arena):
    arena.fault("silent-get=1")
    # On a busy machine more than one answer may come later than so short a silence is borne.
    with again(read=0.5, total=1000.0, tries=1000) as client:
        assert not client.whoami().anonymous


def test_a_server_that_stays_silent(again, arena):
    arena.fault("silent-get=2")
    try:
        with again(read=0.3, tries=2) as client, pytest.raises(ServerUnreachable, match="tried 2 times"):
            client.whoami()
    finally:
        _no_faults(arena)  # on a busy machine it may have been given up before the server was silent


def test_a_captive_portal(observatory, arena):
    arena.fault("html=1")
    with pytest.raises(NotTheService, match="text/html"):
        observatory.whoami()


@pytest.mark.failure_mode(number=3)
def test_a_burst_of_errors_is_outlived(observatory, arena):
    for spec in ("server-errors=1:500", "rate-limited=1", "throttled=1"):
        arena.fault(spec)
    assert not observatory.whoami().anonymous


@pytest.mark.failure_mode(number=3)
def test_a_creation_that_was_rejected_is_sent_again_and_made_once(observatory, arena, body):
    before = arena.creations()
    arena.fault("rate-limited=1")
    made = observatory.create_experience_request(body)
    assert made.status is Status.PENDING
    assert arena.creations() == before + 1


@pytest.mark.failure_mode(number=2)
@pytest.mark.failure_mode(number=3)
@pytest.mark.parametrize("fault", ["throttled=1", "server-errors=1:500", "server-errors=1:503"])
def test_a_creation_of_which_nobody_says_whether_it_was_made_is_not_sent_again(
    observatory, arena, body, fault
):
    since, before = time.time(), arena.creations()
    body = {key: value for key, value in body.items() if key != "idempotency_key"}
    body["notes"] += fault
    arena.fault(fault)
    with pytest.raises(AnswerLost):
        observatory.create_experience_request(body)
    assert arena.creations() == before + 1
    until = time.monotonic() + 60
    while not (found := observatory.find_experience_requests(body["notes"], since)):
        assert time.monotonic() < until, "the accepted request is not listed"
        time.sleep(0.05)
    assert len(found) == 1


@pytest.mark.failure_mode(number=17)
def test_a_failed_episode_counts_once_its_request_ended(observatory, arena, body):
    arena.fault("retried-episodes=1")
    try:
        early, keys, until = [], itertools.count(), time.monotonic() + 300
        while not early:  # it has failed for half a second only, in which a busy machine may not look
            made = observatory.create_experience_request(
                {**body, "idempotency_key": f"evh-retried-{next(keys)}"}
            )
            seen = []
            while not seen or not ended(seen[-1]):
                assert time.monotonic() < until, "no episode was seen to fail, or the request did not end"
                seen.append(observatory.experience_request(made.id, fresh=True))
                time.sleep(0.05)
            early = [one for one in seen[:-1] if Status.FAILED in {each.status for each in one.episodes}]
        assert not any(ended(one) for one in early)
        assert {each.status for each in seen[-1].episodes} == {Status.COMPLETED}
    finally:
        _no_faults(arena)


@pytest.mark.failure_mode(number=14)
def test_scores_of_a_row_are_too_few_and_results_have_one_a_seat(observatory, body):
    """A version in two seats has one score in its row: what a seat did is told by the results only."""
    roster = [dict(entry) for entry in body["roster"]]
    roster[1] = {"player": {"policy_ref": "keeper:v2"}, "slot": 1}
    detail = finished(observatory, observatory.create_experience_request({**body, "roster": roster}).id)
    for episode in detail.episodes:
        assert len(episode.scores) == 7
        results = SeatResults(observatory.episode_results(episode.id))
        assert [results.score(seat) is not None for seat in range(8)] == [True] * 8


def _no_faults(arena):
    import urllib.request

    request = urllib.request.Request(f"{arena.url}/_arena/faults", method="DELETE")
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).close()
