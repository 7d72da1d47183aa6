"""Every episode of a comparison as a row of plain data: what it says, and who sat where they should not. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.league.arms import Arm, Seat
from pytest_evalharness.league.attribution import COMPLETED, attribution
from pytest_evalharness.league.records import ArmRecord, EpisodeRecord, Outcome, SeatedAs
from pytest_evalharness.league.trust import plays_its_role
from pytest_evalharness.verdict.words import Attribution

_LONGEST = 80
_BLAME = {
    Attribution.POLICY: "the tested policy's own failure",
    Attribution.INFRASTRUCTURE: "infrastructure",
    Attribution.UNKNOWN: "unknown cause",
}


def episodes_view(arms: Mapping[str, Arm], records: Mapping[str, ArmRecord]) -> dict[str, Any]:
    """The rows of both arms, by side; of an arm without a record there are none.

    Each arm has `tested_seat`, `seats` (who was placed where: `position`, `label`, `role`, empty in a game without roles, and of a
    clone its side's first seat, `captain`) and `rows`. A row has `id`,
    `request`, `seed`, `status`, `outcome`, `score`, `kills`, `cause` (why it was not played to its end, and who is to blame; else empty),
    `seated` (whether anybody ever sat in it) and `wrong`: position → who sat there instead, of wrong seats only.

    Args:
        arms: the arms as they were frozen.
        records: what their episodes left.
    """
    return {side: _arm(arm, records[side]) for side, arm in arms.items() if side in records}


def _arm(arm: Arm, record: ArmRecord) -> dict[str, Any]:
    return {
        "tested_seat": arm.tested_seat,
        "seats": [
            {
                "position": s.position,
                "label": printable(s.label, _LONGEST),
                "role": s.role,
                **({} if s.captain is None else {"captain": s.captain}),
            }
            for s in arm.seats
        ],
        "rows": [
            _row(arm, e, request) for e, request in zip(record.episodes, _requests(record), strict=False)
        ],
    }


def _row(arm: Arm, episode: EpisodeRecord, request: str) -> dict[str, Any]:
    seat = arm.tested_seat
    outcome = episode.outcome(seat)
    told = outcome is not Outcome.MISSING
    return {
        "id": printable(episode.id, _LONGEST),
        "request": request,
        "seed": episode.seed,
        "status": printable(episode.status, _LONGEST),
        "outcome": outcome.value,
        "score": episode.score(seat) if told else None,
        "kills": episode.count("kills", seat) if told else None,
        "cause": cause_of(episode, seat),
        "seated": episode.results is not None or bool(episode.participants),
        "wrong": wrong_seats(arm, episode),
    }


def _requests(record: ArmRecord) -> Iterator[str]:
    """Each episode's request, in the order of the episodes; empty where nobody knows which of several it was."""
    ids = [printable(request, _LONGEST) for request in record.request_ids]
    if len(ids) == 1:
        return repeat(ids[0])
    listed = [request.listed for request in record.requests]
    known = (repeat(request, times) for request, times in zip(ids, listed, strict=False))
    return chain(chain.from_iterable(known), repeat(""))


def cause_of(episode: EpisodeRecord, seat: int) -> str:
    """Why an episode was not played to its end, in the server's own words, and who is to blame; empty if it was."""
    blame = attribution(episode, seat)
    if blame is None:
        return ""
    if episode.status != COMPLETED:
        words = [episode.status, episode.error_type or ""]
    elif episode.results and episode.anyone_dropped:
        words = ["a connection timed out"]
    elif episode.crashed(seat):
        words = ["its process broke while the game went on"]
    else:
        words = ["no result for the tested seat"]
    told = ": ".join(printable(word, _LONGEST) for word in words if word)
    return f"{told} ({_BLAME[blame]})"


def wrong_seats(arm: Arm, episode: EpisodeRecord) -> dict[str, str]:
    """Position → who really sat there, or in which role, for every seat that is not as it was placed.

    Empty for an episode in which nobody ever sat: it is missing, and not misplaced.
    """
    if episode.results is None and not episode.participants:
        return {}
    labels = {seat.policy_version_id: seat.label for seat in arm.seats if seat.draw is None}
    seated: dict[int, list[SeatedAs]] = {}
    for participant in episode.participants:
        seated.setdefault(participant.position, []).append(participant)
    wrong = {}
    for seat in arm.seats:
        there = seated.pop(seat.position, [])
        if not _as_placed(seat, there):
            wrong[str(seat.position)] = _named(there, labels)
        elif episode.results is not None and not plays_its_role(seat, episode):
            wrong[str(seat.position)] = f"as {episode.role(seat.position) or 'no role'}"
    return wrong | {str(position): _named(there, labels) for position, there in seated.items()}


def _as_placed(wanted: Seat, there: list[SeatedAs]) -> bool:
    if wanted.draw is not None:
        return [(one.kind, one.is_filler) for one in there] == [("policy", False)]
    fillers = {False} if wanted.captain is None else {False, True}  # clones of a side's policy may be marked
    return [(one.policy_version_id, one.kind, one.is_filler in fillers) for one in there] == [
        (wanted.policy_version_id, "policy", True)
    ]


def _named(there: list[SeatedAs], labels: Mapping[str, str]) -> str:
    return " and ".join(_name(one, labels) for one in there[:2]) or "nobody"


def _name(one: SeatedAs, labels: Mapping[str, str]) -> str:
    if one.is_filler:
        return "a filler"
    if one.kind != "policy":
        return f"a {printable(one.kind, _LONGEST)}"
    known = one.policy_version_id or "nobody"
    return printable(labels.get(known, known), _LONGEST)
