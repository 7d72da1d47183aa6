"""A local command as a decision model: a question a line on its standard input, an answer a line on its standard output."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pytest_evalharness.errors import TaggerFailed
from pytest_evalharness.net.errors import harmless

_LONGEST_ANSWER = 1 << 20
_PATIENCE = 5.0
_KEPT = "no set was written; the sample and every answer so far are kept"


class Command:
    """A process that is asked one question after the other.

    Args:
        command: program and arguments; no shell.
        seconds: one answer may take.
        who: for messages.
        understand: reads an answer; raises ValueError for what is none.
        stats: counts `requests` and `unusable_answers`.

    Raises:
        TaggerFailed: it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        seconds: float,
        who: str,
        understand: Callable[[Any], str],
        stats: Counter[str],
    ) -> None:
        self._seconds, self._who, self._understand, self._stats = seconds, who, understand, stats
        self._questions: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as problem:
            raise TaggerFailed(
                f"{who} cannot be started: {problem}",
                not_done="no evidence was built",
                next_step="correct its command in models.toml",
            ) from None
        # A process that does not read must not hold us any more than one that does not write.
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._feed, self._pump)]
        for thread in self._threads:
            thread.start()

    def _feed(self) -> None:
        """Writes questions until there are no more, and then closes the process's input."""
        stream = self._process.stdin
        if stream is None:
            return
        with suppress(OSError), stream:  # it has ended: its output, which ends too, tells
            while (question := self._questions.get()) is not None:
                stream.write(question)
                stream.flush()

    def _pump(self) -> None:
        """Moves lines from the process to the queue, and its end as None."""
        stream = self._process.stdout
        rest = b""
        while stream is not None and (piece := os.read(stream.fileno(), 1 << 16)):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self._lines.put(line)
            if len(rest) > _LONGEST_ANSWER:
                break
        self._lines.put(None)

    def ask(self, body: Mapping[str, Any]) -> str | None:
        """The chosen move; None where the answer cannot be used.

        Raises:
            TaggerFailed: it has ended, or does not answer in time.
        """
        with self._lock:
            self._stats["requests"] += 1
            line = self._exchange(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        try:
            return self._understand(json.loads(line))
        except (ValueError, RecursionError):
            self._stats["unusable_answers"] += 1
            return None

    def _exchange(self, question: bytes) -> bytes:
        self._questions.put(question)
        try:
            line = self._lines.get(timeout=self._seconds)
        except queue.Empty:
            # A late answer would be taken for that to the next question, so there is no next question.
            self.stop()
            raise self._failed(f"has not answered within {self._seconds:g} s") from None
        if line is None:
            self._lines.put(None)  # for whoever asks next
            raise self._failed(self._end())
        return line

    def _end(self) -> str:
        try:
            return f"has ended with code {self._process.wait(_PATIENCE)}"
        except subprocess.TimeoutExpired:
            self.stop()
            return "has closed its output, or answered without end"

    def _failed(self, what: str) -> TaggerFailed:
        return TaggerFailed(
            harmless(f"{self._who} {what}"),
            not_done=_KEPT,
            next_step="run its command by hand; then the same command goes on where this one stopped",
        )

    def stop(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Tell it that there are no more questions, and wait for its end."""
        self._questions.put(None)
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.stop()
            self._process.wait()
        for thread in self._threads:
            thread.join(_PATIENCE)
        if self._process.stdout is not None:
            self._process.stdout.close()
