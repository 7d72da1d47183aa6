"""Which episodes a selection means: one of eight ways to say it, each as a list that tells whether there were more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any

from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.episodes.references import Reference, reference
from pytest_evalharness.errors import UnknownPolicy
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.observatory.episodes import EpisodeCalls
from pytest_evalharness.observatory.models import PolicyVersion
from pytest_evalharness.observatory.models.sources import SourceRow
from pytest_evalharness.observatory.status import Status

_MOST_LOOKED_AT = 5000
"""Rows of one list that are read at most to find the newest, where a server does not sort it."""


class Mode(StrEnum):
    """The ways to select episodes, as the command line spells them."""

    POLICY = "policy"
    XREQ = "xreq"
    EREQ = "ereq"
    ROUND = "round"
    DIVISION = "division"
    POOL = "pool"
    EPISODE = "episode"

    @property
    def by_name(self) -> bool:
        """Whether each episode is named, so that no number bounds them."""
        return self in {Mode.EREQ, Mode.EPISODE}


@dataclass(frozen=True)
class Selection:
    """What to look for.

    Attributes:
        mode: how it is said.
        names: the ids; one, but for the modes that name episodes.
        version: with `policy`, only this version.
        most: so many episodes at most, the newest; None for all.
        failed_only: only those that failed.
    """

    mode: Mode
    names: tuple[str, ...]
    version: int | None = None
    most: int | None = None
    failed_only: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data for the index."""
        told: dict[str, Any] = {"mode": self.mode.value, "names": list(self.names)}
        more = {"version": self.version, "most": self.most}
        told |= {key: value for key, value in more.items() if value is not None}
        return told | ({"failed_only": True} if self.failed_only else {})


@dataclass(frozen=True)
class Found:
    """What a selection means at this moment.

    Attributes:
        episodes: in order, each once.
        more: what was left out, in words for people; empty if nothing.
        missing: ids that were named and that the server does not show.
    """

    episodes: tuple[Reference, ...]
    more: str = ""
    missing: tuple[str, ...] = ()


def find(observatory: Observatory, selection: Selection) -> Found:
    """Look a selection up.

    Raises:
        UsageError: the server has no such thing, or no way to look for it.
        UnknownPolicy: no policy has the name, or no such version.
        EvalHarnessError: the server cannot be asked; see `Observatory`.
    """
    if selection.mode is Mode.XREQ:
        return _bounded(of_request(observatory, selection.names[0]), selection)
    found = _elsewhere(observatory, selection)
    return replace(found, episodes=_judged(observatory.episodes, found.episodes))


def _elsewhere(observatory: Observatory, selection: Selection) -> Found:
    """The episodes of every mode that names no request."""
    calls, name = observatory.episodes, selection.names[0]
    if selection.mode is Mode.POLICY:
        return _of_policy(observatory, selection)
    if selection.mode is Mode.EREQ:
        return _named(selection, calls.row, calls.standing(selection.names))
    if selection.mode is Mode.EPISODE:
        return _named(selection, partial(_recorded, observatory))
    if selection.mode is Mode.DIVISION:
        return _listed(_of_division(observatory, name), selection, sorted_lists=True)
    return _listed(calls.of_round(name) if selection.mode is Mode.ROUND else calls.of_pool(name), selection)


def _judged(calls: EpisodeCalls, episodes: Sequence[Reference]) -> tuple[Reference, ...]:
    """The same, of which a failed one is not over while its request lives: it may be played again."""
    failed = [one for one in episodes if one.status is Status.FAILED and not one.recorded]
    rows = calls.standing([one.id for one in failed if one.request_id is None])
    requests = {one.id: one.request_id or _request_of(rows.get(one.id)) for one in failed}
    statuses = {each: calls.request_status(each) for each in dict.fromkeys(requests.values()) if each}
    alive = {each for each, status in statuses.items() if status is not None and not status.terminal}
    return tuple(
        replace(one, over=False, request_id=requests[one.id]) if requests.get(one.id) in alive else one
        for one in episodes
    )


def _request_of(row: SourceRow | None) -> str | None:
    return None if row is None else row.experience_request_id


def _recorded(observatory: Observatory, name: str) -> SourceRow | None:
    """A recorded episode by its UUID; whoever has an `ereq_` id is helped all the same."""
    calls = observatory.episodes
    return calls.row(name) if name.startswith("ereq_") else calls.recorded(name)


def of_request(observatory: Observatory, request_id: str) -> list[Reference]:
    """The episodes of an experience request, in the server's order."""
    found = observatory.episodes.of_request(request_id)
    return [reference(row, request=request_id, request_status=found.status) for row in found.episodes]


def _named(
    selection: Selection,
    read: Callable[[str], SourceRow | None],
    standing: Mapping[str, SourceRow] = MappingProxyType({}),
) -> Found:
    """The episodes that were named: each is read by itself, but for those of which it is known already how they stand."""
    found, missing = [], []
    for name in dict.fromkeys(selection.names):
        row = standing.get(name)
        if row is not None:
            found.append(reference(row, whole=False))
        elif (row := read(name)) is not None:
            found.append(reference(row))
        else:
            missing.append(name)
    return Found(tuple(_wanted(found, selection)), missing=tuple(missing))


def _wanted(episodes: Iterable[Reference], selection: Selection) -> Iterator[Reference]:
    seen: set[str] = set()
    for one in episodes:
        if one.id not in seen and (not selection.failed_only or one.status is Status.FAILED):
            seen.add(one.id)
            yield one


def _bounded(episodes: Sequence[Reference], selection: Selection) -> Found:
    wanted = list(_wanted(episodes, selection))
    if selection.most is None or len(wanted) <= selection.most:
        return Found(tuple(wanted))
    return Found(tuple(wanted[: selection.most]), more=_more(selection, len(wanted), whole=True))


def _more(selection: Selection, count: int, *, whole: bool) -> str:
    """That episodes were left out, and of how many if all of them were counted."""
    what = "failed episode" if selection.failed_only else "episode"
    most = selection.most or 0
    taken = f"{most} of {counted(count, what)}" if whole else counted(most, what)
    return f"there are more: {taken} {'was' if most == 1 else 'were'} taken; -n NUM takes another number"


def _listed(
    pages: Iterable[Sequence[SourceRow]], selection: Selection, *, sorted_lists: bool = False
) -> Found:
    """The newest of a list. Of one that is sorted no more is read than needed."""
    taken, whole = _newest(pages, selection, sorted_lists=sorted_lists)
    if selection.most is None or (whole and len(taken) <= selection.most):
        return Found(tuple(taken))
    return Found(tuple(taken[: selection.most]), more=_more(selection, len(taken), whole=whole))


def _newest(
    pages: Iterable[Sequence[SourceRow]], selection: Selection, *, sorted_lists: bool = False
) -> tuple[list[Reference], bool]:
    """The wanted episodes of a list, the newest first, and whether all of it was read."""
    rows: list[Reference] = []
    looked_at, last, in_order = 0, float("inf"), True
    whole = True
    for page in pages:
        for row in page:
            one = reference(row, whole=False)
            moment = one.created_at or 0.0
            in_order, last = in_order and moment <= last, moment
            rows.append(one)
        looked_at += len(page)
        wanted = list(_wanted(rows, selection))
        enough = selection.most is not None and len(wanted) > selection.most
        if (enough and (in_order or sorted_lists)) or looked_at >= _MOST_LOOKED_AT:
            whole = False
            break
    wanted = list(_wanted(rows, selection))
    return sorted(wanted, key=lambda one: -(one.created_at or 0.0)), whole


def _of_division(observatory: Observatory, division_id: str) -> Iterator[list[SourceRow]]:
    """The episodes of a division's rounds, the newest round first; no list of the service has them together."""
    calls = observatory.episodes
    if calls.filters_by("division_id"):
        yield from calls.of_division(division_id)
        return
    for page in calls.rounds(division_id):
        for each in page:
            yield from calls.of_round(each.id)


def _of_policy(observatory: Observatory, selection: Selection) -> Found:
    """A policy's newest episodes: of all its versions, or of one."""
    (name,) = selection.names
    versions = _versions(observatory, name, selection.version)
    found: list[Reference] = []
    whole = True
    for version in versions:
        newest, all_read = _newest(observatory.episodes.of_version(version.id), selection)
        found += newest
        whole = whole and all_read
    merged = list(_wanted(sorted(found, key=lambda one: -(one.created_at or 0.0)), selection))
    if selection.most is None or (whole and len(merged) <= selection.most):
        return Found(tuple(merged))
    return Found(tuple(merged[: selection.most]), more=_more(selection, len(merged), whole=whole))


def _versions(observatory: Observatory, name: str, version: int | None) -> list[PolicyVersion]:
    """A policy's versions: one's own, else whoever's has the name."""
    not_done = "nothing was downloaded"
    for mine in (True, False):
        found = observatory.policy_versions(name, version, mine=mine, not_done=not_done)
        if found:
            return found
    shown = printable(name, 80) + (f" of version {version}" if version is not None else "")
    raise UnknownPolicy(
        f"the server knows no policy {shown}",
        not_done=not_done,
        next_step="name a policy as it was uploaded, without its version; --version N takes one of them",
    )
