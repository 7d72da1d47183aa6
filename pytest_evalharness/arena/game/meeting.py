"""A meeting: statements, votes until all have voted or the timer ends, an ejection, and back to play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalharness.arena.game import station
from pytest_evalharness.arena.game.actions import NOBODY, SAY, VOTE
from pytest_evalharness.arena.game.policies.observation import Ballot, Statement
from pytest_evalharness.arena.game.policies.suspicion import GROUNDS, VENTED

if TYPE_CHECKING:
    from pytest_evalharness.arena.game.simulation import Simulation

_TALK_SHARE: Final = 0.5  # of its voting time, a seat takes before it speaks


def hold(match: Simulation, caller: int, body: tuple[int, int] | None) -> None:
    """Hold the meeting a seat called now, about a body (victim, room) or at the emergency button.

    Play stands still meanwhile: kill cooldowns do not run, ghosts wait, task attempts and walks are broken off. A
    deadline that falls into the meeting ends the match there.
    """
    start = match.tick
    closing = min(start + match.config.vote_timer_ticks, match.deadline)
    match.meetings += 1
    match.look_around()
    _announce(match, caller, body)
    living = [seat for seat in range(match.players) if match.alive[seat]]
    for seat in living:
        seen = match.seen[seat]
        seen.tick = start
        seen.body = body
        seen.living[:] = match.alive  # whoever does not come to the table is dead
    spoken = _talk(match, living, closing)
    ballots, end = _ballot(match, living, spoken, closing)
    if end >= match.deadline:
        match.expire()
        return
    ejected = _tally(match, ballots)
    resume = end + match.config.vote_result_ticks
    _close(match, living, ballots, ejected)
    match.tick = end
    if ejected != NOBODY:
        match.recorder.event(end, ejected, "died", "cause", "ejected")
    match.check_ejection(ejected)
    if match.ending is None:
        _restart_cooldowns(match, start, resume, button=body is None)
        match.resume(resume, resume - start)


def _announce(match: Simulation, caller: int, body: tuple[int, int] | None) -> None:
    if body is None:
        match.recorder.event(match.tick, caller, "vote_called_button", "slot", caller)
    else:
        match.recorder.event(match.tick, caller, "vote_called_body", "victim_slot", body[0])
    match.recorder.event(match.tick, NOBODY, "phase", "phase", "meeting")


def _talk(match: Simulation, living: list[int], closing: int) -> dict[int, int]:
    """Everybody speaks once, in the order of their delays; the tick at which each spoke."""
    start, policies = match.tick, match.policies
    due = sorted(
        (start + policies[seat].delay(policies[seat].skill.vote_delay * _TALK_SHARE), seat) for seat in living
    )
    due = [(tick, seat) for tick, seat in due if tick < min(closing, match.drops[seat])]
    statements: list[Statement] = []
    for seen in match.seen:
        seen.statements = statements
    for tick, seat in due:
        said = policies[seat].speak(match.seen[seat])
        statements.append(said)
        code = said.ground * len(station.ROOMS) + said.room
        match.recorder.inputs += (tick, seat, SAY, said.accused, code)
        if match.recorder.wants_events:
            match.recorder.event(tick, seat, "chat", "text", _words(said))
    return {seat: tick for tick, seat in due}


def _words(said: Statement) -> str:
    where = f"i was in {station.ROOMS[said.room]}"
    return where if said.accused == NOBODY else f"{where}. {GROUNDS[said.ground]}: slot {said.accused}"


def _ballot(
    match: Simulation, living: list[int], spoken: dict[int, int], closing: int
) -> tuple[list[Ballot], int]:
    """The votes cast before voting closes, by the timer or the deadline, and the tick at which it ended."""
    cast = []
    for seat in living:
        policy = match.policies[seat]
        if seat not in spoken or not policy.votes_at_all():
            continue
        tick = spoken[seat] + match.config.message_cooldown_ticks + policy.delay(policy.skill.vote_delay)
        if tick < min(closing, match.drops[seat]):
            cast.append((tick, seat, policy.vote(match.seen[seat])))
    cast.sort()
    for tick, seat, target in cast:
        match.recorder.inputs += (tick, seat, VOTE, target, 0)
        (match.vote_skip if target == NOBODY else match.vote_players)[seat] += 1
        if target == NOBODY:
            match.recorder.event(tick, seat, "vote_cast", "target", "skip")
        else:
            match.recorder.event(tick, seat, "vote_cast", "target_slot", target)
    complete = len(cast) == len(living)
    end = max((tick for tick, _, _ in cast), default=closing) if complete else closing
    if not complete and end < match.deadline:
        for seat in set(living) - {seat for _, seat, _ in cast}:
            match.vote_timeout[seat] += 1
    return [Ballot(seat, target) for _, seat, target in cast], end


def _tally(match: Simulation, ballots: list[Ballot]) -> int:
    """The seat with the most votes, if it has more than any other and than the skips; else nobody."""
    counts = [0] * (match.players + 1)  # the last one counts skips, which are votes for -1
    for ballot in ballots:
        counts[ballot.target] += 1
    most = max(counts)
    leader = counts.index(most)
    return leader if counts.count(most) == 1 and leader < match.players else NOBODY


def _close(match: Simulation, living: list[int], ballots: list[Ballot], ejected: int) -> None:
    """Reveal the votes, who is alive, and the role of whoever was ejected."""
    if ejected != NOBODY:
        match.dies(ejected, match.tick)  # its ghost waits like all others until play goes on
    liars = set()
    if ejected != NOBODY and ejected not in match.imposters:
        liars = {
            said.speaker
            for said in match.seen[ejected].statements
            if said.accused == ejected and said.ground >= VENTED
        }
    votes = tuple(ballots)
    for seat in living:
        seen = match.seen[seat]
        seen.ballots = votes
        seen.living[:] = match.alive
        seen.liars |= liars - {seat}
        if ejected != NOBODY:
            seen.witnessed.pop(ejected, None)


def _restart_cooldowns(match: Simulation, start: int, resume: int, *, button: bool) -> None:
    """Cooldowns stood still during the meeting; after a button call they may start afresh."""
    for seat in match.imposters:
        seen = match.seen[seat]
        if button and match.config.button_resets_kill_cooldowns:
            seen.ready_at = resume + match.config.kill_cooldown_ticks
        elif seen.ready_at > start:
            seen.ready_at += resume - start
