"""Questions over HTTP that may be asked again: repeated where that helps, refused in a sentence where it does not."""

from __future__ import annotations

import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.errors import CredentialsRejected, OverBudget, ServerUnreachable, TaggerFailed
from pytest_evalharness.net import Limits, NetError, Transport
from pytest_evalharness.net.errors import HttpStatus, NotJson, Redirected, TooLarge
from pytest_evalharness.net.retry import TRANSIENT, pause

_T = TypeVar("_T")
_R = TypeVar("_R")

OVERLOADED = 529
_NO_ENTRY = frozenset({401, 403})
_TRIES = 6
_TRIES_OF_GARBAGE = 3
_LONGEST_WAIT = 300.0
"""Seconds that a server may ask for; one that wants longer is gone on with later."""
_KEPT = "no set was written; the sample and every answer so far are kept"
_AGAIN = "the same command goes on where this one stopped"


class Unusable(ValueError):
    """An answer that is none of what was asked."""


class Asker:
    """One server that is asked questions; safe to share between threads.

    Args:
        url: its address.
        headers: secrets among them.
        clock: tells the time and waits between tries.
        rng: draws the jitter.
        seconds: one try may take.
        stats: counts `requests`, `retries`, `unusable_answers`.
        who: for messages: "the judge", "the model lev-3".

    Raises:
        TaggerFailed: the address cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        clock: Clock,
        rng: random.Random,
        seconds: float,
        stats: Counter[str],
        who: str,
    ) -> None:
        self.stop = threading.Event()
        self._clock, self._rng, self._stats, self._who = clock, rng, stats, who
        self._lock = threading.Lock()
        self._answered = False
        try:
            self._transport = Transport(
                url,
                headers=headers,
                clock=clock,
                rng=rng,
                limits=Limits(submit=seconds, tries=1, read=seconds),
                stop=self.stop,
            )
        except ValueError as problem:
            raise TaggerFailed(
                f"the address of {who} cannot be used: {problem}",
                not_done="no evidence was built",
                next_step="correct its endpoint in models.toml",
            ) from None

    def ask(
        self,
        path: str,
        body: Mapping[str, Any],
        understand: Callable[[Any], _T],
        *,
        before: Callable[[], None] = lambda: None,
    ) -> _T | None:
        """The answer as `understand` reads it; None where every try brought something that cannot be used.

        A question is repeated after 408, 425, 429, 5xx and broken connections, as the server asks or with growing pauses.

        Args:
            path: below the address.
            body: JSON.
            understand: raises `Unusable` for what is no answer.
            before: called before each try.

        Raises:
            CredentialsRejected: the server wants another key.
            ServerUnreachable: it does not answer in time, try after try.
            TaggerFailed: it refuses what it is asked, and has never answered anything.
        """
        failures = garbage = 0
        while True:
            before()
            self._count("requests")
            try:
                answer = self._transport.post_json(path, body, stoppable=True)
                found = understand(answer.json())
            except (NotJson, Unusable):
                self._count("unusable_answers")
                garbage += 1
                if garbage == _TRIES_OF_GARBAGE:
                    return None
            except NetError as problem:
                if _refused(problem):
                    self._require_useful(problem)
                    return None
                failures += 1
                seconds = pause(problem, failures, rng=self._rng, now=self._clock.now())
                if failures == _TRIES or seconds > _LONGEST_WAIT or self.stop.is_set():
                    raise self._unreachable(problem) from None
                self._count("retries")
                if self._clock.wait(seconds, self.stop):
                    raise self._unreachable(problem) from None
            else:
                self._answered = True
                return found

    def _require_useful(self, problem: NetError) -> None:
        if isinstance(problem, HttpStatus) and problem.status in _NO_ENTRY:
            raise CredentialsRejected(
                f"{self._who} does not accept the key: {problem}",
                not_done=_KEPT,
                next_step=f"set the variable that models.toml names for it; {_AGAIN}",
            ) from None
        if not self._answered:
            raise TaggerFailed(
                f"{self._who} refuses what it is asked: {problem}",
                not_done=_KEPT,
                next_step=f"correct its entry in models.toml; {_AGAIN}",
            ) from None
        self._count("unusable_answers")  # one question among many: a call too long for it, say

    def _unreachable(self, problem: NetError) -> ServerUnreachable:
        return ServerUnreachable(
            f"{self._who} does not answer: {problem}", not_done=_KEPT, next_step=f"when it does, {_AGAIN}"
        )

    def _count(self, what: str) -> None:
        with self._lock:
            self._stats[what] += 1

    def close(self) -> None:
        """End every wait, and close the connections."""
        self.stop.set()
        self._transport.close()


def _refused(problem: NetError) -> bool:
    if isinstance(problem, HttpStatus):
        return problem.status not in TRANSIENT and problem.status != OVERLOADED
    return isinstance(problem, Redirected | TooLarge)


class Budget:
    """Tokens that may be spent. What a question may cost at most is set aside before it is asked, so nothing goes beyond.

    Args:
        limit: tokens.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.spent, self._aside = limit, 0, 0
        self._lock = threading.Lock()

    def reserve(self, most: int) -> None:
        """Set aside what the next question may cost.

        Raises:
            OverBudget: it does not fit.
        """
        with self._lock:
            if self.spent + self._aside + most > self.limit:
                raise OverBudget(
                    f"the judge's budget of {self.limit:,} tokens does not reach: {self.spent:,} are spent, "
                    f"{self._aside:,} set aside for questions under way, and the next one may cost {most:,}",
                    not_done=_KEPT,
                    next_step=f"raise --budget; {_AGAIN} and pays nothing twice",
                )
            self._aside += most

    def settle(self, most: int, spent: int) -> None:
        """The question is over."""
        with self._lock:
            self._aside -= most
            self.spent += spent


class _Failures:
    """Which failure came first: what others say when they are stopped is not the reason."""

    def __init__(self, on_failure: Callable[[], None]) -> None:
        self._on_failure = on_failure
        self._first: BaseException | None = None
        self._lock = threading.Lock()

    def watched(self, work: Callable[[_T], _R]) -> Callable[[_T], _R]:
        """The same function, whose failures are noticed at once."""

        def watched(item: _T) -> _R:
            try:
                return work(item)
            except BaseException as problem:
                self.reason(problem)
                raise

        return watched

    def reason(self, problem: BaseException) -> BaseException:
        """Note a failure, end the waits of the others, and tell the first one; somebody's Ctrl-C stays that."""
        with self._lock:
            self._first = self._first or problem
        if not isinstance(problem, OverBudget):  # what is under way is paid, and worth waiting for
            self._on_failure()
        return self._first if isinstance(problem, Exception) else problem


def in_order(
    work: Callable[[_T], _R], items: Iterable[_T], *, parallel: int, on_failure: Callable[[], None]
) -> Iterator[_R]:
    """Results of a function in the order of its arguments, several under way at one time.

    Args:
        work: called in threads.
        items: read no further ahead than twice `parallel`.
        parallel: calls at one time.
        on_failure: ends the waits of the calls under way, when one has failed or nobody wants the rest; not over budget.

    Raises:
        Exception: what `work` raised first; the calls that had not begun are never made.
    """
    failures = _Failures(on_failure)
    watched = failures.watched(work)
    with ThreadPoolExecutor(parallel, thread_name_prefix="tagger") as pool:
        pending: deque[Future[_R]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(watched, item))
                if len(pending) >= 2 * parallel:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BaseException as problem:  # noqa: BLE001 - it, or the one that came before it, is raised again
            for one in pending:
                one.cancel()
            raise failures.reason(problem) from None
