"""Logs of a game and of its players' processes: what is missing from them, and what only looks like one. Pure.

The service keeps the last 10,000 lines of a player's process and at most 10 MiB, and where it could not collect them the
collector's own complaint stands in their place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes.ballots import Ballot, target_of
from pytest_evalharness.episodes.untrusted import MIB, require_size

MOST_LINES = 10_000
LARGEST = 10 * MIB + 1024
"""What the service keeps, and room for its own mark."""
_CUT = re.compile(r"\n?\[truncated by the runner at \d{1,4} MiB\]\s*\Z")
_LONGEST_MARK = 80
_COLLECTOR = re.compile(
    r"(?i)^(no logs collected for pod |no pod logs |no player log was written by |unable to retrieve container logs "
    r"|failed to try resolving symlinks |failed to watch file |error from server|rpc error: code = "
    r"|container \"[^\"]{1,80}\" in pod \"[^\"]{1,80}\" |get \"https?://[^\"]{1,300}\": )"
)
_LONGEST_COMPLAINT = 2048
_MOST_COLLECTED = 5
"""A collector's complaint is never longer, and a player may well log such a line among its own."""
_BROKE = re.compile(
    r"(Traceback \(most recent call last\):|panic: |fatal error: |thread '[^']{0,80}' panicked at |Segmentation fault"
    r"|Aborted \(core dumped\)|Killed\s*$|.{0,40}Unhandled exception)"
)
_LAST_WORDS = 60
"""Where a process says why it ended: so many lines from its log's end."""
_VOTE = re.compile(r"(?i)\bvoting (?:for|to)[: ](?:slot )?([a-z0-9]{1,20})\b")


@dataclass(frozen=True)
class Log:
    """A log.

    Attributes:
        text: what was logged; nothing where the collector complains in place of it.
        beginning_lost: whether it has as many lines as are kept, so that earlier ones are gone.
        end_lost: whether the service cut it at its largest size.
        complaint: what the collector said in its place, made harmless; empty for a real log.
    """

    text: str
    beginning_lost: bool = False
    end_lost: bool = False
    complaint: str = ""

    @property
    def whole(self) -> bool:
        """Whether everything that was logged is there."""
        return not (self.beginning_lost or self.end_lost or self.complaint)

    @property
    def last_words(self) -> str:
        """The first line of an error report at its end, made harmless; empty where there is none.

        It tells that a process broke, and not when: many break once their game has ended.
        """
        tail = self.text.rstrip("\n").rsplit("\n", _LAST_WORDS)[-_LAST_WORDS:]
        return next((printable(line, 120) for line in tail if _BROKE.match(line)), "")

    @property
    def ballots(self) -> list[Ballot]:
        """Every vote that is logged, as `voting for red`, `voting for slot 0` or `voting to skip`, in order."""
        return [target_of(vote[1]) for vote in _VOTE.finditer(self.text)]


def read_log(data: bytes, kind: str) -> Log:
    """A game's or a player's log from its bytes; half characters are replaced.

    Args:
        data: what the service keeps of it.
        kind: whose it is, for messages.

    Raises:
        ArtifactUnreadable: it is larger than what the service keeps.
    """
    require_size(data, kind, LARGEST)
    text = data.decode("utf-8", "replace")
    cut = _CUT.search(text[-_LONGEST_MARK:])
    if cut is not None:
        text = text[: -len(cut[0])]
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    first = text[:_LONGEST_COMPLAINT].strip().partition("\n")[0]
    if lines <= _MOST_COLLECTED and _COLLECTOR.match(first):
        return Log("", complaint=printable(first))
    return Log(text, beginning_lost=lines >= MOST_LINES, end_lost=cut is not None)
