"""The runbook's success check: five points, all of which a trustworthy verdict has, each with what was seen. Pure.

Text from outside is one harmless line here; that it cannot become markup is the renderer's part. Of a comparison that
cannot be believed no point tells anything from which the effect could be read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.report import checks, units
from pytest_evalharness.report.model import LEAGUE, CaseReport, requests_told
from pytest_evalharness.report.rows import SIDES
from pytest_evalharness.report.sentences import NAME

POINTS = ("different builds", "both arms ended", "seats verified", "enough games", "everything told")
"""The points' names, in the runbook's order."""
_TREE = "whether the baseline is the same tree minus the edit, only you can know"
_UNTRUSTWORTHY = "untrustworthy"
_WIDE = 300
_MOST = 3
_CODE = re.compile(r"^  code: +(EVH\d{3})$", re.MULTILINE)
_OF_CODE = {"EVH213": 1, "EVH216": 1, "EVH221": 2, "EVH222": 2, "EVH231": 2, "EVH232": 2}
"""Which point an error that kept a comparison from being judged speaks about."""


class State(StrEnum):
    """What became of a point. `UNKNOWN`: nobody could see it."""

    OK = "ok"
    NOT = "not ok"
    UNKNOWN = "unknown"


_WORST_FIRST = (State.NOT, State.UNKNOWN, State.OK)


@dataclass(frozen=True)
class Point:
    """One point of the check.

    Attributes:
        number: its place in the runbook, from 1.
        name: what it is about.
        state: what became of it.
        seen: what was seen.
    """

    number: int
    name: str
    state: State
    seen: str

    def __str__(self) -> str:
        return f"{self.number} {self.state:<7} {self.name}: {self.seen}"


@dataclass(frozen=True)
class SuccessCheck:
    """The five points of one comparison, or of one that came to nothing.

    Attributes:
        name: what was compared; empty where nothing was.
    """

    name: str
    points: tuple[Point, ...]

    @property
    def passed(self) -> bool:
        """Whether all of them are as they should be."""
        return all(point.state is State.OK for point in self.points)

    @property
    def words(self) -> str:
        """How many of them are."""
        good = sum(point.state is State.OK for point in self.points)
        return f"{good} of {len(self.points)} points ok"

    def to_json(self) -> dict[str, Any]:
        """Plain data for `results.json`."""
        points = [{**asdict(point), "state": point.state.value} for point in self.points]
        return {"name": self.name, "points": points}


def of_case(case: CaseReport) -> tuple[SuccessCheck, ...]:
    """The check of every comparison that a case made; of one that could not be had, what is known all the same."""
    if case.results:
        return tuple(of_result(result) for result in case.results)
    fell = case.outcome in {_UNTRUSTWORTHY, "not_run", "error"}
    if case.kind == LEAGUE and (fell or (case.outcome == "failed" and _CODE.search(case.message))):
        return (
            of_failure(case.message),
        )  # a body that failed by one of our errors could have no comparison either
    return ()


def of_result(result: Mapping[str, Any], *, shown: bool = True) -> SuccessCheck:
    """The check of a comparison, or of a pool.

    Args:
        result: its plain data (`ABResult.to_json`, `PoolResult.to_json`).
        shown: whether the effect may be shown at all.
    """
    shown = shown and result["judgement"]["verdict"] != _UNTRUSTWORTHY
    found = _pooled(result, shown=shown) if "strata" in result else _single(result, shown=shown)
    return SuccessCheck(printable(result["name"], NAME), _numbered(found))


def of_failure(message: str, seen: Sequence[str] = ()) -> SuccessCheck:
    """The check where nothing was judged.

    Args:
        message: what was said instead; its error code tells which point it is about.
        seen: what is known of the arms all the same.
    """
    first = printable(message.partition("\n")[0], _WIDE) or "no reason was told"
    code = _CODE.search(message)
    about = _OF_CODE.get(code[1], 0) if code else 0
    found = [(State.UNKNOWN, "nothing was judged")] * len(POINTS)
    if seen:
        found[1] = State.NOT, "; ".join(seen)
    if about:
        found[about - 1] = State.NOT, first
    elif not seen:
        found = [
            (State.UNKNOWN, f"nothing was judged: {first.removeprefix('nothing was judged: ')}"),
            *found[1:],
        ]
    return SuccessCheck("", _numbered(found))


_Found = tuple[State, str]


def _numbered(found: Sequence[_Found]) -> tuple[Point, ...]:
    return tuple(
        Point(number, name, state, seen)
        for number, (name, (state, seen)) in enumerate(zip(POINTS, found, strict=True), 1)
    )


def _single(result: Mapping[str, Any], *, shown: bool) -> list[_Found]:
    judged, episodes = result["judgement"], result.get("episodes") or {}
    return [
        _builds(judged, result.get("builds")),
        _ended(judged, episodes),
        _seated(judged, episodes),
        _enough(judged, shown=shown),
        _told(judged, shown=shown, crewrift="game" not in result.get("plan", {})),
    ]


def _pooled(result: Mapping[str, Any], *, shown: bool) -> list[_Found]:
    """Each point for all configurations: the worst of them counts. How many games are enough is told of the pool."""
    judged = result["judgement"]
    each = {printable(name, NAME): _single(one, shown=shown) for name, one in result["strata"].items()}
    found = [_together({name: points[i] for name, points in each.items()}) for i in range(len(POINTS))]
    found[3] = _enough(judged, shown=shown)
    return found


def _together(parts: Mapping[str, _Found]) -> _Found:
    worst = min((state for state, _ in parts.values()), key=_WORST_FIRST.index)
    return worst, "; ".join(f"{name}: {seen}" for name, (state, seen) in parts.items() if state is worst)


def _findings(judged: Mapping[str, Any], *reasons: str) -> str:
    """What the judgement says against a point; empty if nothing."""
    found = [checks.finding(one) for one in judged["reasons"] if one["reason"] in reasons]
    return "; ".join(found)


# ------------------------------------------------------------------ the points


_OF_CONCLUSION = {"different": State.OK, "not_visible": State.OK, "same": State.NOT}


def _builds(judged: Mapping[str, Any], builds: Mapping[str, Any] | None) -> _Found:
    """Point 1. That the images differ can be proved; that nothing else does, only shown."""
    if judged.get("aa"):
        return State.NOT, "an A/A run: one build meets itself by design, so no edit is judged"
    if builds is None:
        return State.UNKNOWN, f"what was known of the builds was not written down; {_TREE}"
    sentence = printable(builds["sentence"], _WIDE)
    doubts = [printable(text, _WIDE) for text in builds["warnings"]]
    return _OF_CONCLUSION.get(builds["conclusion"], State.UNKNOWN), "; ".join(
        [sentence, *doubts, _tree(builds)]
    )


def _tree(builds: Mapping[str, Any]) -> str:
    """What is known of the baseline's tree."""
    if builds["files"] is None:
        return _TREE
    files = [printable(name, NAME) for name in builds["files"]]
    more = f" and {len(files) - _MOST} more" if len(files) > _MOST else ""
    told = f"the commits differ in {', '.join(files[:_MOST])}{more}" if files else "the commits do not differ"
    return f"{told}: {_TREE}"


def _ended(judged: Mapping[str, Any], episodes: Mapping[str, Any]) -> _Found:
    """Point 2: terminal, request and episodes, and no arm that hangs."""
    open_ones = _findings(judged, "not_terminal", "wedged", "failed")
    told = [_statuses(side, judged[side], episodes.get(side, {}).get("rows", ())) for side in SIDES]
    if open_ones:
        return State.NOT, open_ones
    return State.OK, "; ".join(told)


def _statuses(side: str, arm: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    counted = Counter(printable(row["status"], NAME) for row in rows)
    told = ", ".join(f"{number} {status}" for status, number in sorted(counted.items()))
    asked = arm["requested"] if arm["requested"] is not None else len(rows)
    return f"{side}: {told or 'no episode'} of {asked} asked for"


def _seated(judged: Mapping[str, Any], episodes: Mapping[str, Any]) -> _Found:
    """Point 3: by position and version in every episode, and the role that was forced."""
    wrong = _findings(judged, "seats", "roles")
    if wrong:
        return State.NOT, wrong
    if "seats" not in judged["verified"]:
        return State.UNKNOWN, "the seats were not verified"
    return State.OK, "; ".join(_seats(side, episodes[side]) for side in SIDES if side in episodes)


def _seats(side: str, arm: Mapping[str, Any]) -> str:
    seats = {seat["position"]: seat for seat in arm["seats"]}
    tested = seats.get(arm["tested_seat"])
    seated = sum(row["seated"] for row in arm["rows"])
    who = "nobody" if tested is None else printable(tested["label"], NAME)
    if tested is not None and tested["role"]:
        who += f" as {printable(tested['role'])}"
    told = f"{side}: {who} in {_places(arm)}, everybody as placed, in {seated} of {len(arm['rows'])} episodes"
    twice = _twice([seat for seat in arm["seats"] if seat.get("captain") is None])
    return f"{told} ({twice})" if twice else told


def _places(arm: Mapping[str, Any]) -> str:
    """The tested seat; in a game of teams all seats of its side."""
    first = arm["tested_seat"]
    clones = [seat["position"] for seat in arm["seats"] if seat.get("captain") == first]
    return f"seats {' and '.join(map(str, (first, *clones)))}" if clones else f"seat {first}"


def _twice(seats: Sequence[Mapping[str, Any]]) -> str:
    """Who sits in several seats, which no version tells apart."""
    placed: dict[str, list[str]] = {}
    for seat in seats:
        placed.setdefault(printable(seat["label"], NAME), []).append(str(seat["position"]))
    several = [f"{who} in seats {' and '.join(where)}" for who, where in placed.items() if len(where) > 1]
    return f"{', '.join(several[:_MOST])}: told apart by position" if several else ""


def _enough(judged: Mapping[str, Any], *, shown: bool) -> _Found:
    """Point 4: the games either separate the arms or call the change neutral."""
    games = " and ".join(str(judged[side]["finished"]) for side in SIDES)
    if not shown:
        return State.UNKNOWN, f"{games} games; nothing is read from what cannot be believed"
    declared, decided = judged["declaration"], judged["decision"] in {"met", "not_met"}
    metric = units.metric(declared)
    separated = "none" if metric else judged.get("separated", "none")  # those are intervals of wins
    intervals = "" if "strata" in judged or metric else "the Wilson intervals overlap, "
    if separated != "none":
        return State.OK, f"{games} games: the Wilson intervals separate, {separated} above"
    if judged["verdict"] != "inconclusive":
        by = f"{metric} by Student's t" if metric else f"the {judged['rule']} rule"
        return State.OK, f"{games} games: {intervals}{by} tells {judged['verdict']}"
    if declared["margin"] is not None and decided:
        words = printable(declared["claim"]).replace("_", " ")
        became = "met" if judged["decision"] == "met" else "not met"
        return State.OK, f"{games} games: {intervals}{words} within {units.margin(declared)} is {became}"
    needed = judged["required_n"].get(judged["rule"]) or judged["required_n"]["score"]
    wanted = declared["target_lift"]
    lift = f"a true difference of {wanted:g} {metric}" if metric else f"a true lift of {wanted:.2f}"
    more = f"{lift} needs {needed:.0f} an arm" if needed else f"{lift} is not possible"
    return State.NOT, f"{games} games neither separate the arms nor call the change neutral: {more}"


def _told(judged: Mapping[str, Any], *, shown: bool, crewrift: bool) -> _Found:
    """Point 5: both arms' numbers and requests, and a verdict that says whether the intervals separate.

    Kills and votes are Crewrift's; of another game they are not asked for.
    """
    if not shown:
        return State.NOT, "the arms' numbers are withheld: they could be read as an effect"
    absent = [f"{side}: no {name}" for side in SIDES for name in _absent(judged, side)]
    if absent:
        return State.NOT, "; ".join(absent)
    separated = judged.get("separated", "none")
    intervals = (
        "the intervals overlap" if separated == "none" else f"the intervals separate, {separated} above"
    )
    numbers = "; ".join(_numbers(judged, side, crewrift=crewrift) for side in SIDES)
    return State.OK, f"{numbers}; {judged['verdict']} by the {judged['rule']} rule, {intervals}"


def _absent(judged: Mapping[str, Any], side: str) -> list[str]:
    arm = judged[side]
    needed = {
        "game": arm["finished"] or None,
        "Wilson interval": judged.get(f"wilson_{side}"),
        "mean seat score": arm["mean_score"],
        "kills": arm["kills"],
        "vote timeouts": arm["vote_timeouts"],
        "request id": arm["request_ids"] or None,
    }
    return [name for name, value in needed.items() if value is None]


def _numbers(judged: Mapping[str, Any], side: str, *, crewrift: bool) -> str:
    arm, (low, high) = judged[side], judged[f"wilson_{side}"]
    score = f"mean {'seat ' if crewrift else ''}score {arm['mean_score']:.2f}"
    counters = f"kills {arm['kills']}, vote timeouts {arm['vote_timeouts']}, " if crewrift else ""
    return (
        f"{side} {arm['wins']}/{arm['finished']} [{low:.3f}, {high:.3f}], {score}, {counters}"
        f"{requests_told(arm['request_ids'])}"
    )
