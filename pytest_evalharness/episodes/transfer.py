"""One artifact from a server into its place: streamed, checked, resumed where it can be, and never half there."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes import results
from pytest_evalharness.episodes.artifacts import INTERRUPTED, Category, Offer, Outcome, State
from pytest_evalharness.episodes.compression import Encoding, inflated
from pytest_evalharness.episodes.layout import parent_of
from pytest_evalharness.episodes.limits import DownloadLimits
from pytest_evalharness.episodes.parts import Part
from pytest_evalharness.episodes.untrusted import object_of
from pytest_evalharness.errors import ArtifactUnreadable, CredentialsRejected
from pytest_evalharness.net import HttpStatus, NetError, Streamed, Streams
from pytest_evalharness.net.retry import may_get_again, pause

_UNKNOWN_KIND, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _CHANGED, _NO_RANGE = 400, 401, 403, 404, 412, 416
_PARTIAL = 206
_STALE = frozenset({_FORBIDDEN, _NOT_FOUND, _CHANGED})
"""What a storage answers to an address that has expired, or to a version that is gone."""
_RANGE = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19}|\*)")
_NOTABLE = 64 * 1024
"""Bytes after which a broken try has brought something, so that it is no failure."""
_JSON = frozenset({Category.RESULTS, Category.ERROR_INFO})

Renew = Callable[[], Offer | None]


class _Wrong(Exception):
    """An answer that is not what was asked for; another try may bring it."""


class Retries:
    """The further tries that all artifacts of a run share. Safe to use from several threads."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Use one; False if there is none."""
        with self._lock:
            if self._left <= 0:
                return False
            self._left -= 1
            return True


class Transfer:
    """Fetches artifacts. Safe to use from several threads.

    Args:
        streams: the server.
        limits: bounds of one artifact.
        clock: for how long it may take.
        rng: draws the jitter of pauses.
        stop: once set, nothing more is fetched, and what has come of a file is kept for the next run.
        on_bytes: told how many bytes have come.
    """

    def __init__(
        self,
        streams: Streams,
        limits: DownloadLimits,
        *,
        clock: Clock,
        rng: random.Random,
        stop: threading.Event,
        on_bytes: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._streams = streams
        self._limits = limits
        self._clock = clock
        self._rng = rng
        self._stop = stop
        self._on_bytes = on_bytes
        self._retries = Retries(limits.retries)

    def fetch(self, offer: Offer, folder: Path, relative: str, renew: Renew = lambda: None) -> Outcome | None:
        """The artifact in its place below an episode's folder, or why it is not there.

        Args:
            offer: what the server says of it, with an address or its content.
            folder: the episode's.
            relative: where it lies in there.
            renew: asks the server for an address that counts again.

        Returns:
            None if the server has no such thing: not yet, or never.

        Raises:
            CredentialsRejected: the token does not count (any more).
            UsageError: a link stands where a folder should be.
        """
        told = Outcome(relative, offer.artifact, State.FAILED, route=offer.route)
        try:
            place = parent_of(folder, relative) / relative.rsplit("/", 1)[-1]
            with Part(place) as part:
                return _Fetching(self, offer, part, renew, told).run()
        except OSError as problem:
            why = problem.strerror or str(problem)
            return replace(told, reason=f"it cannot be written: {printable(why)}")

    def wait(self, problem: NetError | None, failures: int, deadline: Deadline) -> bool:
        """Wait before another try; False if there is none."""
        if failures >= self._limits.attempts or self._stop.is_set() or not self._retries.take():
            return False
        seconds = pause(problem or NetError(""), max(failures, 1), rng=self._rng, now=self._clock.now())
        return seconds < deadline.remaining and not self._clock.wait(seconds, self._stop)

    @property
    def stopped(self) -> bool:
        """Whether nothing more is to be fetched."""
        return self._stop.is_set()

    def deadline(self) -> Deadline:
        """The end of one artifact's time."""
        return Deadline.after(self._clock, self._limits.artifact_seconds)

    def copy(self, offer: Offer, part: Part, deadline: Deadline, came: Callable[[int], None]) -> None:
        """One try: what is missing of the file, added to what is there. `came` is told how many bytes come.

        Raises:
            HttpStatus, NetError: as `Streams`.
            _Wrong: what came is not what was asked for.
            ArtifactUnreadable: it is larger than the limit, or cannot be unpacked.
        """
        if part.etag and offer.etag and part.etag != offer.etag:
            part.begin("")
        going_on = bool(part.etag) and part.size > 0
        etag = offer.etag or (part.etag if going_on else "")
        headers = {"If-Match": etag} if etag and not etag.startswith("W/") else {}
        if going_on:
            headers["Range"] = f"bytes={part.size}-"
        elif part.size:
            part.begin("")
        with self._streams.open(offer.address, deadline=deadline, headers=headers) as answer:
            whole = self._placed(answer, part, offer)
            for chunk in _plain(answer, stored=offer.stored):
                if part.size + len(chunk) > self._limits.artifact_bytes:
                    raise ArtifactUnreadable(
                        f"it is larger than the limit of {self._limits.artifact_bytes} bytes"
                    )
                part.write(chunk)
                self._on_bytes(len(chunk))
                came(len(chunk))
                if self._stop.is_set() or deadline.expired:
                    raise NetError("it was interrupted" if self._stop.is_set() else "it took too long")
        for said in (whole, offer.size):
            if said is not None and said != part.size:
                raise _Wrong(f"{part.size} bytes came, and {said} were promised")

    def _placed(self, answer: Streamed, part: Part, offer: Offer) -> int | None:
        """Make the part ready for what comes; returns the size of the whole file, where that is told."""
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in {"text/html", "application/xhtml+xml"}:
            raise _Wrong("a page of HTML came in its place")
        etag = answer.headers.get("etag", "")
        if offer.etag and etag and etag.removeprefix("W/") != offer.etag.removeprefix("W/"):
            raise _Wrong("another version came than the manifest names")
        encoded = answer.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}
        if answer.status == _PARTIAL:
            match = _RANGE.fullmatch(answer.headers.get("content-range", "").strip())
            if match is None or int(match[1]) != part.size or (etag and part.etag and etag != part.etag):
                raise _Wrong("another part came than was asked for")
            return None if match[3] == "*" else int(match[3])
        kept = offer.etag or etag
        part.begin("" if encoded or kept.startswith("W/") else kept)
        length = answer.headers.get("content-length", "")
        whole = int(length) if length.isdecimal() and len(length) < 20 else None  # noqa: PLR2004 - beyond any file
        if whole is not None and whole > self._limits.artifact_bytes:
            raise ArtifactUnreadable(
                f"it has {whole} bytes, more than the limit of {self._limits.artifact_bytes}"
            )
        return None if encoded else whole


class _Fetching:
    """The tries of one artifact."""

    def __init__(self, transfer: Transfer, offer: Offer, part: Part, renew: Renew, told: Outcome) -> None:
        self._transfer = transfer
        self._offer = offer
        self._part = part
        self._renew = renew
        self._renewable = True
        self._told = told
        self._fetched = 0

    def run(self) -> Outcome | None:
        """The outcome; None if there is no such thing."""
        deadline, failures = self._transfer.deadline(), 0
        while True:
            before = self._part.size
            problem: NetError | None = None
            try:
                self._once(deadline)
                return self._done()
            except NetError as found:
                problem, reason = found, found.text
            except _Wrong as found:
                reason = str(found)
                self._part.begin("")
            except ArtifactUnreadable as found:
                return self._failed(found.what)
            if self._renews(problem):
                continue
            ended, outcome = (False, None) if problem is None else self._ends(problem)
            if ended:
                return outcome
            # What was sent whole and is wrong will hardly be right the next time.
            step = 1 if problem is not None else 2
            grown = problem is not None and self._part.etag and self._part.size > before + _NOTABLE
            failures = 0 if grown else failures + step
            # A large file may outlive several addresses, and one may expire in the pause before another try.
            self._renewable = self._renewable or (problem is not None and not _is_stale(problem))
            if not self._transfer.wait(problem, failures, deadline):
                return self._interrupted() if self._transfer.stopped else self._failed(reason)

    def _once(self, deadline: Deadline) -> None:
        if self._offer.content is not None:
            self._part.begin("")
            self._part.write(self._offer.content)
        else:
            self._transfer.copy(self._offer, self._part, deadline, self._came)
        if self._offer.artifact.category in _JSON:
            self._require_object()

    def _came(self, count: int) -> None:
        self._fetched += count

    def _require_object(self) -> None:
        if self._part.size > results.LARGEST:
            raise ArtifactUnreadable(
                f"it has {self._part.size} bytes, and at most {results.LARGEST} are read"
            )
        try:
            object_of(self._part.head(self._part.size), "artifact", results.LARGEST)
        except ArtifactUnreadable as problem:
            raise _Wrong(problem.what) from None

    def _done(self) -> Outcome:
        self._part.finish()
        told = replace(self._told, state=State.OK, size=self._part.size, sha256=self._part.sha256)
        if self._offer.artifact.category is Category.PLAYER_ARTIFACT and self._part.head(2) != b"PK":
            told = replace(told, reason="it is no zip archive, though called one")
        return replace(told, fetched=self._fetched, route=self._offer.route or told.route)

    def _renews(self, problem: NetError | None) -> bool:
        """Whether there is a new address to try, which is asked for once, and once more after a broken connection."""
        if not (problem is None or _is_stale(problem)) or not self._offer.stored or not self._renewable:
            return False
        self._renewable = False
        fresh = self._renew()
        if fresh is None or fresh.state is not None:
            return False
        self._offer = fresh
        return True

    def _ends(self, problem: NetError) -> tuple[bool, Outcome | None]:
        """Whether an answer ends it, and how."""
        if not isinstance(problem, HttpStatus):
            return not (may_get_again(problem) or type(problem) is NetError), self._failed(problem.text)
        status, stored, named = problem.status, self._offer.stored, bool(self._offer.etag)
        if status == _UNAUTHORIZED and not stored:
            raise CredentialsRejected(
                f"the server does not accept the token any more (HTTP {status})",
                not_done="what is missing was not downloaded; what is there stays",
                next_step="renew the token, then the same command again",
            ) from None
        if status in {_CHANGED, _NO_RANGE}:
            self._part.begin("")
        if status in {_CHANGED, _NO_RANGE} or may_get_again(problem):
            return False, None
        if status == _NOT_FOUND and not named:
            return True, None
        if status == _FORBIDDEN and not named:
            return True, replace(
                self._told, state=State.DENIED, reason="this token may not read it (HTTP 403)"
            )
        if status == _UNKNOWN_KIND and not stored:
            return True, replace(
                self._told, state=State.NOT_PRODUCED, reason="the server knows no such artifact"
            )
        return True, self._failed(problem.text)

    def _failed(self, reason: str) -> Outcome:
        return replace(self._told, reason=printable(reason, 300), fetched=self._fetched)

    def _interrupted(self) -> Outcome:
        return replace(
            self._told,
            state=State.PENDING,
            reason=INTERRUPTED,
            fetched=self._fetched,
        )


def _is_stale(problem: NetError) -> bool:
    """Whether a storage says that an address, or the version it names, does not count any more."""
    return isinstance(problem, HttpStatus) and problem.status in _STALE


def _plain(answer: Streamed, *, stored: bool) -> Iterator[bytes]:
    """The bytes of a file. A storage's are kept as they are: what is packed there was packed before it was put there."""
    word = answer.headers.get("content-encoding", "").strip().lower()
    if stored or word not in {"gzip", "x-gzip", "deflate"}:
        return answer.chunks
    return inflated(answer.chunks, Encoding.ZLIB if word == "deflate" else Encoding.GZIP, "answer")
