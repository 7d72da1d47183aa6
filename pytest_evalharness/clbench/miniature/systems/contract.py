"""What a system is to the runner: it answers questions, sees what came of them, and tells what its calls cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pytest_evalharness.clbench.miniature.tasks.contract import Observation, Query
from pytest_evalharness.clbench.miniature.usage import Call


@dataclass(frozen=True)
class Response:
    """An action, what stands beside it, and the calls that it took."""

    action: dict[str, Any]
    said: dict[str, Any] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where a system object works: the checkout, the task, and the pass.

    Attributes:
        root: of the checkout.
        task: its id.
        run_index: the rollout, None in a baseline.
        instance: of the baseline, None in a rollout.
    """

    root: Path
    task: str
    run_index: int | None
    instance: int | None = None

    @property
    def phase(self) -> str:
        """What traces call the pass."""
        return "baseline" if self.run_index is None else "run"


class System:
    """A system under test. One object serves one rollout, or one instance of a baseline.

    Attributes:
        name: under which it is registered.
        summary: a sentence.
        parameters: of its constructor, with their defaults; other keys of `--system-params` are dropped without a word.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    parameters: ClassVar[dict[str, Any]]

    @classmethod
    def makes_baseline(cls) -> bool:
        """Whether a stateless pass is made beside the rollouts."""
        return True

    def __init__(self, place: Place, params: dict[str, Any]) -> None:
        self.place, self.params = place, params

    def respond(self, query: Query) -> Response:
        """Answer a question."""
        raise NotImplementedError

    def observe(self, query: Query, observation: Observation) -> tuple[Call, ...]:
        """See what an answer to a question led to; return the calls that only now can be told."""
        return ()

    def memory(self) -> dict[str, Any] | None:
        """What it keeps, for the trace."""
        return None

    def close(self) -> None:
        """End what it started."""
