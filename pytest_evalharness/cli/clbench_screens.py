"""How a campaign that is followed is shown: drawn in place on a terminal, line by line elsewhere, as JSON for programs."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from pytest_evalharness.base.clock import Clock
    from pytest_evalharness.clbench.campaign.standing import Standing

_EVERY_PLAIN = 10.0
"""Seconds between two lines where nothing is redrawn; an alarm does not wait for them."""
_EVERY_SILENT = 300.0
"""Seconds after which a line is told without any news."""
_CLEAR_BELOW = "\x1b[J"


class Screen:
    """Shows looks one after the other: here one line whenever something changed, and every alarm when it begins."""

    def __init__(self, stream: TextIO, clock: Clock) -> None:
        self._stream, self._clock = stream, clock
        self._line = ""
        self._at: float | None = None
        self._alarms: set[object] = set()

    def show(self, standing: Standing, *, last: bool) -> None:
        """Show a look; the last one whole."""
        from pytest_evalharness.clbench.campaign.status_lines import alarm_line, lines, summary

        if last:
            self._print(lines(standing))
            return
        begun = [one for one in standing.alarms if one.key not in self._alarms]
        self._alarms = {one.key for one in standing.alarms}
        now, told = self._clock.monotonic(), standing.told
        news = str((told.done, told.cost, [(one.live.task, one.live.status) for one in told.tasks]))
        quiet = math.inf if self._at is None else now - self._at
        if begun or (quiet >= _EVERY_PLAIN and news != self._line) or quiet >= _EVERY_SILENT:
            self._line, self._at = news, now
            self._print([summary(standing, told), *map(alarm_line, begun)])

    def end(self) -> None:
        """Leave the terminal as a next command wants it."""

    def _print(self, lines: Iterable[str], before: str = "") -> None:
        """All of it in one piece: what is drawn over must not be seen half drawn."""
        self._stream.write(before + "".join(f"{line}\n" for line in lines))
        self._stream.flush()


class Terminal(Screen):
    """Draws every look over the one before."""

    def __init__(self, stream: TextIO, clock: Clock, size: Callable[[], os.terminal_size]) -> None:
        super().__init__(stream, clock)
        self._size = size
        self._height = 0

    def show(self, standing: Standing, *, last: bool) -> None:
        """Draw a look; the last one whole, however long it is."""
        from pytest_evalharness.clbench.campaign.status_lines import lines

        told = list(lines(standing))
        columns, rows = self._size()
        if not last:
            # A line that wraps, or scrolls, would not be where the next look begins to draw.
            if len(told) >= rows > 1:
                told = [*told[: rows - 2], f"  … {len(told) - rows + 2} lines more"]
            told = [line if len(line) < columns else line[: max(0, columns - 2)] + "…" for line in told]
        up = f"\x1b[{self._height}F" if self._height else ""
        self._print(told, up + _CLEAR_BELOW)
        self._height = 0 if last else len(told)

    def end(self) -> None:
        """The last look stays; a `^C` that the terminal echoed stands on a line of its own."""
        self._stream.write("\n")
        self._stream.flush()


class Feed(Screen):
    """A line of JSON for every look that is another than the one before."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(sys.stdout, clock)

    def show(self, standing: Standing, *, last: bool) -> None:
        """Print a look."""
        from pytest_evalharness.clbench.campaign.status_lines import as_json

        told = as_json(standing)
        line = json.dumps({**told, "at": None})
        if last or line != self._line:
            self._line = line
            self._print([json.dumps(told)])


def screen_for(clock: Clock) -> Screen:
    """What standard output takes."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        return Terminal(sys.stdout, clock, shutil.get_terminal_size)
    return Screen(sys.stdout, clock)


class Narration:
    """Lines of a campaign that is supervised here; on a terminal how it stands is drawn over how it stood.

    Args:
        stream: where to.
        standing: how a line begins that tells how the campaign stands.
        size: of the terminal.
    """

    def __init__(
        self, stream: TextIO, standing: str, size: Callable[[], os.terminal_size] = shutil.get_terminal_size
    ) -> None:
        self._stream, self._standing, self._size = stream, standing, size
        self._drawn = False

    @property
    def in_place(self) -> bool:
        """Whether lines can be drawn over, so that they may come often."""
        return self._stream.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, text: str) -> None:
        """Tell something."""
        stands = self.in_place and text.startswith(self._standing) and "\n" not in text
        if stands:
            columns = self._size()[0]  # a line that wraps could not be drawn over
            text = text if len(text) < columns else text[: max(0, columns - 2)] + "…"
        over = f"\x1b[1F{_CLEAR_BELOW}" if self._drawn and stands else ""
        self._stream.write(f"{over}{text}\n")
        self._stream.flush()
        self._drawn = stands
