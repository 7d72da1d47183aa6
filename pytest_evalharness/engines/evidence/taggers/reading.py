"""What a tagger says of a call, and what every tagger is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec

from pytest_evalharness.engines.evidence.sampling import ScrubbedCall

MIDDLE_TRUST = 5
"""The bucket of whoever reads no warmth."""


class Reading(msgspec.Struct, gc=False):
    """One agent turn.

    Attributes:
        move: what the agent did.
        stage: how far the customer was before it.
        trust: how warm the customer was before it, in tenths.
        objection: what stood in the way before it.
    """

    move: str
    stage: int
    trust: int
    objection: str

    @property
    def state(self) -> str:
        """The state's key."""
        return f"{self.stage}:{self.trust}:{self.objection}"


class Tagger(Protocol):
    """Reads calls.

    Attributes:
        kind: "rule", "judge" or "model".
        model_id: which model, where there are several.
        stats: what was read by whom; the document carries it.
        effort: what it took: requests, tokens, answers that were known already. In the manifest, since a set that is built
            again from answers on disk is the same set.
    """

    kind: str
    model_id: str | None
    stats: Counter[str]
    effort: Counter[str]

    def read(self, calls: Iterable[ScrubbedCall]) -> Iterator[tuple[ScrubbedCall, list[Reading]]]:
        """Each call with a reading of each of its agent turns, in the order of the calls.

        Raises:
            EvalHarnessError: whoever reads cannot be reached, refuses, or would cost more than allowed.
        """
        ...

    def described(self) -> dict[str, Any]:
        """What the manifest says of how it reads; never a secret."""
        ...

    def close(self) -> None:
        """Let go of connections and processes."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None: ...
