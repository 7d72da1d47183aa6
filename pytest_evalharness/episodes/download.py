"""Everything that some episodes left, into one folder each: a few episodes at a time, and no failure ends the others'."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.files import readable_json, sync_folder, write_atomic
from pytest_evalharness.episodes.artifacts import INTERRUPTED, Artifact, Category, Offer, Outcome, State
from pytest_evalharness.episodes.index import Entry, Index
from pytest_evalharness.episodes.layout import EPISODE, ReplayNames, file_of, real_folder, size_on_disk
from pytest_evalharness.episodes.limits import DownloadLimits
from pytest_evalharness.episodes.references import Reference, reference
from pytest_evalharness.episodes.replays import decoded
from pytest_evalharness.episodes.routes import Source
from pytest_evalharness.episodes.transfer import Transfer
from pytest_evalharness.episodes.untrusted import unreadable
from pytest_evalharness.errors import (
    CredentialsRejected,
    EvalHarnessError,
    NotTheService,
    ServerUnreachable,
    UsageError,
)
from pytest_evalharness.observatory.episodes import EpisodeCalls
from pytest_evalharness.observatory.status import Status

_BATCH = 50
_OLD = 3 * 3600.0
"""Seconds after its creation from which on nothing of an episode is late any more: games end within two hours."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0
_SAVE_EVERY = 1.0
_SAVE_SHARE = 10.0
"""The index is written when so many times the time has passed that it took to write."""
_GLANCE = 0.2
_LARGE = 1024 * 1024
"""Bytes of a file that is not fetched again only because its episode was not through when the run died."""


class Watching(Protocol):
    """Who is told how a download goes. Every method may be called from any thread."""

    def found(self, count: int) -> None:
        """So many episodes are going to be looked at."""

    def bytes(self, count: int) -> None:
        """So many bytes have come."""

    def done(self, entry: Entry, *, skipped: bool) -> None:
        """An episode is through; `skipped` says that all of it was there before."""

    def remark(self, text: str) -> None:
        """What every reader should know; harmless."""


@dataclass(frozen=True)
class Wanted:
    """What to fetch, and how.

    Attributes:
        categories: which artifacts.
        force: whether what is there is fetched again.
        replay: how replays are called.
        limits: how much it may take.
    """

    categories: tuple[Category, ...] = tuple(Category)
    force: bool = False
    replay: ReplayNames = field(default_factory=ReplayNames)
    limits: DownloadLimits = field(default_factory=DownloadLimits)


@dataclass(frozen=True)
class _Waited:
    """How long an episode has been waited for, as it was right before the server was asked.

    What it says counts for that moment: by the time at which it is read, the machine may have stood still, and what came
    meanwhile was not asked for.

    Attributes:
        late: until when what is not there yet is waited for.
        enough: whether that was over.
        never: whether what was absent will never come, where the server does not tell.
    """

    late: Deadline
    enough: bool
    never: bool


class Download:
    """Fetches episodes into the folder of an index, which whoever makes it has locked.

    Args:
        calls: the server.
        source: says what there is and where.
        transfer: brings it.
        index: what is there.
        wanted: what to fetch.
        clock: waits for what is late.
        stop: once set, it ends soon; what has come is kept.
        watching: told how it goes.
    """

    def __init__(
        self,
        calls: EpisodeCalls,
        source: Source,
        transfer: Transfer,
        index: Index,
        wanted: Wanted,
        *,
        clock: Clock,
        stop: threading.Event,
        watching: Watching,
    ) -> None:
        self._calls = calls
        self._source = source
        self._transfer = transfer
        self.index = index
        self._wanted = wanted
        self._clock = clock
        self._stop = stop
        self._watching = watching
        self._news = threading.Event()
        self._saved_at, self._save_took = float("-inf"), 0.0
        self._never: Callable[[Reference], bool] = lambda _: True

    @property
    def late_seconds(self) -> float:
        """How long what is not there yet may be waited for."""
        return self._wanted.limits.late_seconds

    def run(
        self,
        episodes: Sequence[Reference],
        *,
        late_seconds: float,
        never: Callable[[Reference], bool] = lambda _: True,
    ) -> list[Entry]:
        """Fetch what is missing of some episodes.

        Args:
            episodes: of those that come twice, the last counts.
            late_seconds: how long what is not there yet is waited for, counted from now for all of them at once.
            never: whether what is absent after that will never come, where the server does not tell.

        Returns:
            their entries, each once; the index is on disk.

        Raises:
            EvalHarnessError: the token does not count any more, or the folder is unsafe; what has come is kept.
            KeyboardInterrupt: as it came; what has come is kept.
        """
        late = Deadline.after(self._clock, late_seconds)
        self._never = never
        episodes = list({one.id: one for one in episodes}.values())
        entries = [self.index.entry(one.id, one.created_at) for one in episodes]
        open_ones = []
        for one, entry in zip(episodes, entries, strict=True):
            if self._complete(one, entry):
                self._watching.done(entry, skipped=True)
            else:
                open_ones.append((one, entry))
        if sum(self._disowned(entry) for _, entry in open_ones):
            # Before any file is replaced: the index never tells the digest of another one.
            self._save(force=True)
        try:
            with ThreadPoolExecutor(
                self._wanted.limits.concurrency, thread_name_prefix="evalharness-episodes"
            ) as pool:
                try:
                    self._all(pool, open_ones, late)
                except BaseException:
                    self._stop.set()
                    raise
        finally:
            self._save(force=True)
        return entries

    def _disowned(self, entry: Entry) -> int:
        """Take out of an entry what is going to be replaced; how many files that are."""
        gone = list(entry.files.values()) if self._wanted.force else entry.lost(self.index.root)
        for one in gone:
            del entry.files[one.path]
        if gone:
            entry.asked = (
                set()
            )  # else a run that ends before they are back would leave it complete without them
        return len(gone)

    def _complete(self, episode: Reference, entry: Entry) -> bool:
        """Whether all that is wanted is there, by a look at the disk."""
        return (
            not self._wanted.force
            and entry.settled
            and entry.status == episode.status.value
            and entry.asked >= set(self._wanted.categories)
            and bool(entry.files)
            and self._named_as_wanted(entry)
            and not entry.lost(self.index.root)
            and size_on_disk(self.index.root, f"{entry.folder}/{EPISODE}") is not None
        )

    def _named_as_wanted(self, entry: Entry) -> bool:
        """Whether the replay, if there is one that is wanted, is there under the name that is wanted."""
        replay = Artifact(Category.REPLAY)
        there = any(one.state is State.OK for one in entry.of(replay))
        wanted = Category.REPLAY in self._wanted.categories
        return not (there and wanted) or file_of(replay, self._wanted.replay) in entry.files

    def _all(
        self, pool: ThreadPoolExecutor, episodes: Sequence[tuple[Reference, Entry]], late: Deadline
    ) -> None:
        under_way: dict[Future[Entry], None] = {}
        if not episodes:
            return
        # The first batch is small: nothing is fetched while it is prepared.
        first = min(self._wanted.limits.concurrency, _BATCH)
        for start, end in pairwise([0, *range(first, len(episodes), _BATCH), len(episodes)]):
            batch = episodes[start:end]
            final = [self._never(one) for one, _ in batch]  # first, as below
            enough = late.expired
            ready = self._prepared([one for one, _ in batch])
            for (_, entry), one, never in zip(batch, ready, final, strict=True):
                waited = _Waited(late, enough=enough, never=never)
                under_way[pool.submit(self._episode, one, entry, waited)] = None
            self._gather(under_way, down_to=_BATCH // 2)
        self._gather(under_way, down_to=0)

    def _prepared(self, episodes: Sequence[Reference]) -> list[Reference]:
        over = [one for one in episodes if one.over and one.status.terminal]
        sealed = self._calls.sealed([one.id for one in over])  # first: then what comes next is final
        self._source.prepare(over, self._wanted.categories)
        return [replace(one, sealed=sealed.get(one.id)) for one in episodes]

    def _gather(self, under_way: dict[Future[Entry], None], down_to: int) -> None:
        while len(under_way) > down_to:
            done, _ = wait(under_way, timeout=_GLANCE, return_when=FIRST_COMPLETED)
            for each in done:
                del under_way[each]
                self._watching.done(each.result(), skipped=False)
            if done or self._news.is_set():
                self._save()

    def _save(self, *, force: bool = False) -> None:
        """Write the index, not so often that it takes a tenth of the time."""
        began = self._clock.monotonic()
        if force or began - self._saved_at >= max(_SAVE_EVERY, _SAVE_SHARE * self._save_took):
            self._news.clear()
            self.index.write(self._clock.now())
            self._saved_at = self._clock.monotonic()
            self._save_took = self._saved_at - began

    # --- one episode, in a thread of its own

    def _episode(self, episode: Reference, entry: Entry, waited: _Waited) -> Entry:
        if self._stop.is_set():
            return entry
        folder = real_folder(self.index.root, entry.folder)
        try:
            episode = self._whole(episode)
            self._note(episode, entry, folder)
            outcomes = self._fetched(episode, entry, folder, waited)
            for place in {(folder / one.path).parent for one in outcomes if one.state is State.OK}:
                sync_folder(place)  # once for all files in it: each would cost as much as writing it
        except (CredentialsRejected, UsageError):
            raise
        except EvalHarnessError as problem:
            known = {one.artifact for one in entry.files.values()}
            outcomes = [
                Outcome(
                    file_of(Artifact(category), self._wanted.replay),
                    Artifact(category),
                    State.FAILED,
                    problem.what,
                )
                for category in self._wanted.categories
                if not category.per_seat and Artifact(category) not in known
            ]
        # What did not come under another name than today's says nothing any more.
        asked = {one.artifact for one in outcomes}
        still = {
            path: one
            for path, one in entry.files.items()
            if one.state is State.OK or one.artifact not in asked
        }
        # A new dictionary: the index may be written by another thread at this moment.
        entry.files = {**still, **{one.path: one for one in outcomes}}
        entry.asked = entry.asked | set(self._wanted.categories)
        return entry

    def _whole(self, episode: Reference) -> Reference:
        """The episode with all that the server tells of it; lists tell less."""
        if episode.whole:
            return episode
        row = self._calls.recorded(episode.id) if episode.recorded else self._calls.row(episode.id)
        if row is None:
            return replace(episode, whole=True)
        found = reference(row)
        # A failed one may be played again: whoever listed it knows whether its request lives.
        over = found.over and (episode.over or found.status is not Status.FAILED)
        request = found.request_id or episode.request_id
        return replace(found, sealed=episode.sealed, request_id=request, over=over)

    def _note(self, episode: Reference, entry: Entry, folder: Path) -> None:
        entry.status = episode.status.value
        entry.error_type = episode.error_type or ""
        entry.request = episode.request_id or ""
        entry.over = episode.over and episode.status.terminal
        try:
            told = readable_json(dict(episode.row))
        except (RecursionError, ValueError):
            raise unreadable("episode's row", "it is nested too deeply, or holds what is no JSON") from None
        write_atomic(folder / EPISODE, told)

    def _fetched(self, episode: Reference, entry: Entry, folder: Path, waited: _Waited) -> list[Outcome]:
        """The outcomes of all artifacts; what is not there yet is waited for as long as it may be late."""
        outcomes: dict[Artifact, list[Outcome]] = {}
        offers = {one.artifact: one for one in self._source.offers(episode, self._wanted.categories)}
        missing, pause = list(offers), _FIRST_PAUSE
        while True:
            for artifact in missing:
                found = self._artifact(offers[artifact], episode, entry, folder)
                if found:
                    outcomes[artifact] = found
                    self._recorded(found, entry, folder)
            missing = [one for one in offers if _open(outcomes.get(one))]
            if not missing or not self._worth_waiting(episode, waited):
                break
            if self._clock.wait(min(pause, waited.late.remaining), self._stop):
                break
            pause = min(pause * 2, _LONGEST_PAUSE)
            waited = replace(waited, enough=waited.late.expired)
            try:
                episode, fresh = self._asked_again(episode, missing)
            except (ServerUnreachable, NotTheService):
                break  # what has come is kept, and the rest is pending
            offers |= {one.artifact: one for one in fresh if one.artifact in offers}
        published = any(one.state is State.OK for found in outcomes.values() for one in found)
        for artifact in missing:
            if artifact not in outcomes:
                absent = self._absent(offers[artifact], episode, never=waited.never, published=published)
                outcomes[artifact] = [absent]
        told = [one for found in outcomes.values() for one in found]
        return told if self._source.described else _doubted(told)

    def _recorded(self, found: Sequence[Outcome], entry: Entry, folder: Path) -> None:
        """Let the index tell of large files before their episode is through: whoever is killed meanwhile has them still."""
        large = {one.path: one for one in found if one.state is State.OK and (one.size or 0) >= _LARGE}
        if large and not large.items() <= entry.files.items():
            sync_folder((folder / next(iter(large))).parent)
            entry.files = {**entry.files, **large}
            self._news.set()

    def _asked_again(self, episode: Reference, missing: Sequence[Artifact]) -> tuple[Reference, list[Offer]]:
        """The episode as it stands now, and what the server says by now of what was missing."""
        categories = tuple({artifact.category for artifact in missing})
        episode = replace(episode, sealed=self._calls.sealed([episode.id]).get(episode.id))
        self._source.prepare([episode], categories)
        return episode, self._source.offers(episode, categories)

    def _worth_waiting(self, episode: Reference, waited: _Waited) -> bool:
        if episode.sealed or waited.enough or not (episode.over and episode.status.terminal):
            return False
        return not self._old(episode)

    def _old(self, episode: Reference) -> bool:
        return episode.created_at is not None and self._clock.now() - episode.created_at >= _OLD

    def _artifact(self, offer: Offer, episode: Reference, entry: Entry, folder: Path) -> list[Outcome]:
        """The files of an artifact; none where the server has no such thing by now."""
        path = file_of(offer.artifact, self._wanted.replay)
        if offer.state is not None:
            return [Outcome(path, offer.artifact, offer.state, offer.reason, route=offer.route)]
        kept = self._kept(offer, entry)
        if kept or (offer.content is None and not offer.address):
            return kept
        if self._stop.is_set():
            return [Outcome(path, offer.artifact, State.PENDING, INTERRUPTED)]
        found = self._transfer.fetch(
            offer, folder, path, lambda: self._source.renewed(episode, offer.artifact)
        )
        if found is not None and found.state is State.OK and offer.artifact.category is Category.REPLAY:
            most, name = self._wanted.limits.unpacked_bytes, self._wanted.replay.decoded
            return [found, decoded(found, folder, name, most, self._stop.is_set)]
        return [] if found is None else [found]

    def _kept(self, offer: Offer, entry: Entry) -> list[Outcome]:
        """The files of an artifact that are there, whole; none if any is not."""
        found = entry.of(offer.artifact)
        if self._wanted.force or not found or any(one.state is not State.OK for one in found):
            return []
        if file_of(offer.artifact, self._wanted.replay) not in {one.path for one in found}:
            return []
        sound = all(size_on_disk(self.index.root, f"{entry.folder}/{one.path}") == one.size for one in found)
        return found if sound and offer.size in {None, found[0].size} else []

    def _absent(self, offer: Offer, episode: Reference, *, never: bool, published: bool) -> Outcome:
        """What it means that the server has no such thing: that it may still come, or that it never will."""
        path = file_of(offer.artifact, self._wanted.replay)
        told = Outcome(path, offer.artifact, State.NOT_PRODUCED, offer.reason, route=offer.route)
        if self._stop.is_set():
            return replace(told, state=State.PENDING, reason=INTERRUPTED)
        if episode.sealed is None:
            results = offer.artifact.category is Category.RESULTS or not published
            due = episode.status is Status.COMPLETED and results  # every game that was played has results
            may_come = due or not (self._old(episode) or never)
        else:
            may_come = not episode.sealed
        if may_come:
            reason = "the server has none yet; the same command asks again"
            return replace(told, state=State.PENDING, reason=reason)
        return told


def _doubted(told: list[Outcome]) -> list[Outcome]:
    """What a server that does not describe itself has left: where none of its routes has anything, they may be others.

    A server of mid 2026 whose description cannot be read for a moment would otherwise be believed to have nothing, for ever.
    """
    if any(one.state is State.OK and one.route.startswith("/") for one in told):
        return told
    reason = "not where today's service has it, and the server does not describe where else"
    return [
        replace(one, state=State.FAILED, reason=reason)
        if one.state is State.NOT_PRODUCED and one.route.startswith("/")
        else one
        for one in told
    ]


def _open(found: list[Outcome] | None) -> bool:
    """Whether an artifact may still come."""
    return found is None or any(one.state is State.PENDING for one in found)
