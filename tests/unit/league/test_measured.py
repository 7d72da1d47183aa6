"""What was measured: every check's line, and what makes it ok, noted, unknown or failed."""

from dataclasses import replace

import pytest

from pytest_evalharness.episodes.results import ScoreRegime
from pytest_evalharness.league import advisers
from pytest_evalharness.league.measured import measured, remarkable
from pytest_evalharness.league.records import LOG, STATUS, TELEMETRY
from pytest_evalharness.league.trust import findings
from pytest_evalharness.verdict.words import Reason

END, EARLY = 1000.0, 700.0
ALL_ENDED = [
    {"slot": slot, "state": "exited", "exit_code": 0, "reason": "Completed", "finished_at": END}
    for slot in range(8)
]
FIRED = {"decisions": 3, "fallbacks": 1, "disabled": 0, "malformed": 0}
SILENT = {"decisions": 0, "fallbacks": 4, "disabled": 0, "malformed": 0}
REACHLESS = {"decisions": 0, "fallbacks": 0, "disabled": 1, "malformed": 0}
NOTHING = {"decisions": 0, "fallbacks": 0, "disabled": 0, "malformed": 0}


def ended(**changes):
    """Everybody's process ended with the game, but for the tested seat."""
    return [{**ALL_ENDED[0], **changes}, *ALL_ENDED[1:]]


@pytest.fixture
def looked(make):
    """Both arms' checks by name; `games` changes the candidate's games by number."""
    arms = make.arms()

    def look(games=None, *, everywhere=None, baseline=None, least=None, role=0, **record):
        seated = make.arms(make.plan(tested_seat=role)) if role else arms
        changed = {"players": ALL_ENDED, "adviser": FIRED, "ballots": [2, 3, 5], **(everywhere or {})}
        records = {}
        for side, arm in seated.items():
            own = (games or {}) if side == "candidate" else (baseline or {})
            episodes = [
                replace(make.episode(arm, i), **{**changed, **own.get(i, {})}) for i in range(arm.episodes)
            ]
            records[side] = make.record(arm, episodes, **(record if side == "candidate" else {}))
        found = findings(seated, records, min_fire_rate=least)
        failed = {one.reason for one in found}
        checks = {one.name: one for one in measured(seated, records, failed, min_fire_rate=least)}
        return checks, found, list(remarkable(seated, records))

    return look


def drawn(make, **timeouts):
    """Results of a game that a timeout ended."""
    results = make.episode(make.arms()["candidate"]).results
    return {"results": {**results, "win": [False] * 8, "scores": [0] * 8, **timeouts}}


def test_a_sound_run_is_ok_in_every_line(looked):
    checks, found, notes = looked()
    assert {name: str(check.state) for name, check in checks.items()} == dict.fromkeys(
        ["roles", "timeouts", "crashes", "errors", "game version", "adviser", "votes"], "ok"
    )
    assert found == notes == []
    assert checks["roles"].seen == "crew in seat 0, all as forced in 4 of 4 games"
    assert checks["timeouts"].seen == "none in 4 games"
    assert checks["crashes"].seen == "none in 4 games"
    assert checks["errors"].seen == "none"
    assert checks["game version"].seen == "crewrift 1.2.0"
    assert checks["adviser"].seen == "decided 12 of 16 times (75 %), in 4 of 4 games"
    assert checks["votes"].seen == "8 of 12 at an imposter (67 %), in 4 games"
    assert checks["votes"].counts["baseline"] == {"games": 4, "votes": 12, "hits": 8}


@pytest.mark.failure_mode(number=26)
def test_two_arms_that_differ_are_both_told(looked):
    checks, *_ = looked({0: {"adviser": SILENT}})
    assert checks["adviser"].seen == (
        "decided 9 of 16 times (56 %), in 4 of 4 games / decided 12 of 16 times (75 %), in 4 of 4 games"
    )


# -------------------------------------------------------------------- roles


def test_roles_that_were_not_forced_fail_their_line(looked, make):
    wrong = make.episode(make.arms()["candidate"]).results
    checks, found, _ = looked({1: {"results": {**wrong, "crew": [0] * 8, "imposter": [0] * 8}}})
    assert checks["roles"].state == "failed"
    assert checks["roles"].seen.startswith("crew in seat 0, all as forced in 3 of 4 games / ")
    assert Reason.ROLES in {one.reason for one in found}


def test_without_a_game_nothing_proves_a_role(looked):
    checks, *_ = looked({i: {"results": None, "status": "failed"} for i in range(4)})
    assert checks["roles"].state == "unknown"


# ----------------------------------------------------------------- timeouts


@pytest.mark.parametrize("kind", ["connect_timeout", "disconnect_timeout"])
def test_whose_timeout_it_was_decides_between_lost_and_missing(looked, make, kind):
    ours, theirs = drawn(make, **{kind: [1] + [0] * 7}), drawn(make, **{kind: [0, 0, 0, 1, 0, 0, 0, 0]})
    checks, *_ = looked({0: ours, 2: theirs})
    check = checks["timeouts"]
    assert check.state == "noted"
    assert check.seen == (
        "1 lost by the tested seat's own (ereq_candidate_0), 1 missing by another seat's (ereq_candidate_2) / none in 4 games"
    )
    assert check.counts["candidate"] == {"games": 4, "tested_seat": 1, "other_seats": 1, "untold": 0}


def test_a_game_that_tells_no_timeouts_leaves_it_unknown(looked, make):
    results = {
        key: value
        for key, value in make.episode(make.arms()["candidate"]).results.items()
        if "time" not in key
    }
    checks, *_ = looked({3: {"results": results}})
    assert checks["timeouts"].state == "unknown"
    assert checks["timeouts"].seen.startswith("not told in 1 of 4 games / ")


# ------------------------------------------------------------------ crashes


@pytest.mark.failure_mode(number=23)
def test_a_crash_inside_a_completed_game_is_counted_and_named(looked):
    checks, _, notes = looked({2: {"players": ended(exit_code=137, reason="OOMKilled", finished_at=EARLY)}})
    assert checks["crashes"].state == "noted"
    assert checks["crashes"].seen == (
        "1 counted as lost (ereq_candidate_2: exit code 137 OOMKilled) / none in 4 games"
    )
    (note,) = notes
    assert (note.reason, note.arm, note.episodes) == (Reason.CRASHES, "candidate", ("ereq_candidate_2",))
    assert not note.reason.forbids_trust


def test_a_process_that_failed_with_the_game_did_not_crash_in_it(looked):
    checks, _, notes = looked({2: {"players": ended(exit_code=1, reason="Error")}})
    assert checks["crashes"].state == "ok"
    assert notes == []


def test_a_game_that_a_timeout_ended_hides_no_crash(looked, make):
    gone = {**drawn(make, disconnect_timeout=[1] + [0] * 7), "players": ended(exit_code=1, finished_at=EARLY)}
    checks, _, notes = looked({1: gone})
    assert checks["crashes"].seen == "none in 3 games / none in 4 games"
    assert checks["timeouts"].state == "noted"
    assert notes == []


def test_what_nobody_tells_is_unknown_and_the_log_gives_a_hint(looked):
    untold = {"players": None, "untold": {STATUS: "absent"}}
    checks, _, notes = looked({0: untold, 1: {**untold, "last_words": "panic: index out of range"}})
    assert checks["crashes"].state == "unknown"
    assert checks["crashes"].seen.startswith(
        "none in 2 games, not told in 2 of 4 games (absent), "
        "logs that end with an error: ereq_candidate_1: panic: index out of range / "
    )
    assert notes == []


def test_a_collectors_complaint_is_told(looked):
    untold = {"players": None, "untold": {STATUS: "not permitted", LOG: "collector: No logs collected"}}
    checks, *_ = looked(dict.fromkeys(range(4), untold))
    assert checks["crashes"].seen.startswith(
        "not told in 4 of 4 games (not permitted, 4 logs are a collector's complaint) / "
    )


def test_another_seats_crash_is_how_the_field_plays(looked):
    broken = [*ALL_ENDED[:5], {**ALL_ENDED[5], "exit_code": 1, "finished_at": EARLY}, *ALL_ENDED[6:]]
    checks, *_ = looked({1: {"players": broken}})
    assert checks["crashes"].state == "ok"
    assert checks["crashes"].seen.startswith("none in 4 games, another seat's process broke in 1 / ")


# ------------------------------------------------------------------- errors


def failed(error_type, seat=None):
    return {"status": "failed", "results": None, "error_type": error_type, "failed_seat": seat}


def test_every_error_is_told_with_whose_it_is(looked):
    checks, *_ = looked(
        {
            0: failed("player_error", 0),
            1: failed("player_error", 3),
            2: failed("episode_timeout"),
            3: failed("worker_oom"),
        }
    )
    assert checks["errors"].state == "noted"
    assert checks["errors"].seen == (
        "1 player_error (the tested policy's: lost), 1 player_error (another seat's: missing), "
        "1 episode_timeout (the game's: missing), 1 worker_oom (infrastructure: missing) / none"
    )


@pytest.mark.parametrize("word", ["gremlins", "\x1b[2Jgremlins", None])
def test_a_word_that_nobody_knows_is_not_counted_and_told(looked, word):
    checks, *_ = looked({0: failed(word), 1: failed("platform_error")})
    assert checks["errors"].state == "unknown"
    assert (
        "(unknown: not counted), 1 platform_error (infrastructure: missing) / none" in checks["errors"].seen
    )
    assert "\x1b" not in checks["errors"].seen
    assert checks["errors"].counts["candidate"] == {"failed": 2, "unknown": 1}


# ------------------------------------------------------------------ version


def test_versions_that_differ_between_the_arms(looked):
    checks, found, _ = looked(coworlds=("crewrift 1.3.0",))
    assert checks["game version"].state == "failed"
    assert checks["game version"].seen == "crewrift 1.3.0 / crewrift 1.2.0"
    assert [one.reason for one in found] == [Reason.VERSIONS]


def test_a_version_that_rolled_while_an_arm_was_played(looked):
    rolled = {i: {"coworld_version": "1.2.0" if i < 2 else "1.2.1"} for i in range(4)}
    checks, found, _ = looked(rolled)
    assert checks["game version"].state == "failed"
    assert checks["game version"].seen == "crewrift 1.2.0 and crewrift 1.2.1 / crewrift 1.2.0"
    assert found[0].detail == "candidate crewrift 1.2.0 and crewrift 1.2.1, baseline crewrift 1.2.0"


def test_a_version_that_is_not_told_is_unknown_and_another_game_is_not(looked):
    checks, found, _ = looked(coworlds=("crewrift None",))
    assert checks["game version"].state == "unknown"
    assert found == []
    checks, found, _ = looked(coworlds=("paintarena None",))
    assert [one.reason for one in found] == [Reason.VERSIONS]


def test_scores_that_do_not_mean_the_same_are_never_compared(looked, make):
    results = make.episode(make.arms()["candidate"]).results
    reward = {i: {"results": {**results, "scores": [110, -10, 0, 0, 0, 0, 0, 7]}} for i in range(4)}
    outcome = {0: {"results": make.episode(make.arms()["candidate"], win=False).results}}
    checks, found, _ = looked(reward, baseline=outcome)
    assert checks["game version"].state == "failed"
    ours, theirs = ScoreRegime.REWARD.value, ScoreRegime.OUTCOME.value
    assert checks["game version"].seen == f"crewrift 1.2.0, scores by {ours} / by {theirs}"
    assert [one.detail for one in found] == [
        f"scores do not mean the same: candidate by {ours}, baseline by {theirs}"
    ]


# ------------------------------------------------------------------ adviser


def test_an_adviser_that_decided_often_enough(looked):
    checks, found, _ = looked(least=0.75)
    assert checks["adviser"].state == "ok"
    assert checks["adviser"].seen.endswith("(75 %), in 4 of 4 games, 75 % asked for")
    assert found == []


def test_an_adviser_that_did_not(looked):
    checks, found, _ = looked({0: {"adviser": SILENT}}, least=0.75)
    assert checks["adviser"].state == "failed"
    (finding,) = found
    assert (finding.reason, finding.arm) == (Reason.ADVISER, "candidate")
    assert finding.detail == "decided 9 of 16 times (56 %), in 4 of 4 games; at least 75 % was asked for"


def test_a_silent_adviser_is_told_even_where_nobody_asked(looked):
    checks, found, notes = looked({i: {"adviser": SILENT} for i in range(4)})
    assert checks["adviser"].state == "noted"
    assert found == []
    assert [(note.reason, note.arm) for note in notes] == [(Reason.ADVISER_SILENT, "candidate")]


def test_an_adviser_out_of_reach(looked):
    checks, found, notes = looked({i: {"adviser": REACHLESS} for i in range(4)}, least=0.1)
    assert checks["adviser"].state == "failed"
    assert found[0].detail.startswith("decided nothing, in 4 of 4 games, out of reach in 4")
    assert notes[0].reason is Reason.ADVISER_SILENT


def test_games_without_reach_count_against_the_rate(looked):
    one_of_four = {0: {"adviser": REACHLESS}}
    assert looked(one_of_four, everywhere={"adviser": {**FIRED, "fallbacks": 0}}, least=0.75)[1] == []
    assert looked(one_of_four, everywhere={"adviser": {**FIRED, "fallbacks": 0}}, least=0.8)[1] != []


@pytest.mark.parametrize("adviser", [None, NOTHING])
def test_nothing_that_tells_of_an_adviser_is_unknown_and_fails_only_where_it_was_asked_for(looked, adviser):
    untold = {"adviser": adviser, "untold": {} if adviser else {TELEMETRY: "not permitted"}}
    checks, found, notes = looked(everywhere=untold)
    assert checks["adviser"].state == "unknown"
    assert found == notes == []
    checks, found, _ = looked(everywhere=untold, least=0.5)
    assert checks["adviser"].state == "failed"
    assert {one.arm for one in found} == {"candidate", "baseline"}
    if adviser is None:
        assert found[0].detail.startswith("no telemetry was read, in 0 of 4 games (not permitted)")
    else:
        assert found[0].detail.startswith("telemetry tells of no adviser, in 4 of 4 games")


def test_telemetry_of_too_few_games_is_none_where_it_was_asked_for(looked):
    untold = {0: {"adviser": None, "untold": {TELEMETRY: "absent"}}}
    assert looked(untold)[1] == []
    (finding,) = looked(untold, least=0.5)[1]
    assert finding.detail == "telemetry was read of only 3 of 4 games (absent); at least 50 % was asked for"


def test_games_that_were_not_looked_into_are_no_games_without_telemetry(looked):
    checks, found, notes = looked({i: {"adviser": None} for i in (1, 2, 3)})
    assert checks["adviser"].state == "ok"
    assert checks["adviser"].seen.startswith("decided 3 of 4 times (75 %), in 1 of 4 games / ")
    assert checks["adviser"].counts["candidate"]["looked_into"] == 1
    assert found == notes == []


# -------------------------------------------------------------------- votes


def test_votes_are_of_games_that_tell_them(looked):
    checks, *_ = looked({0: {"ballots": None}, 1: {"ballots": []}})
    assert checks["votes"].counts["candidate"] == {"games": 3, "votes": 6, "hits": 4}
    assert looked({i: {"ballots": None} for i in range(4)})[0]["votes"].state == "unknown"
    skipped = looked({i: {"ballots": [-1]} for i in range(4)})[0]["votes"]
    assert (skipped.state, skipped.seen.partition(" / ")[0]) == ("ok", "none at a player in 4 games")
    skipped = looked({i: {"ballots": [-1]} for i in range(4)})[0]["votes"]
    assert (skipped.state, skipped.seen.partition(" / ")[0]) == ("ok", "none at a player in 4 games")


def test_an_imposters_votes_are_not_held_against_it(looked):
    checks, *_ = looked(role=2, everywhere={"adviser": None, "ballots": None})
    assert checks["votes"].state == "ok"
    assert checks["votes"].seen == "the tested seat is an imposter, whose votes aim at crew"


def test_an_empty_arm_has_no_rate(make):
    arm = make.arms()["candidate"]
    assert advisers.of(make.record(arm, [])).rate is None
    assert advisers.votes_of(make.record(arm, [])).votes == 0
