"""What a task is to the runner: it asks, takes one action at a time, and says what an instance earned."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pytest_evalharness.clbench.miniature.schedules import Schedule


@dataclass(frozen=True)
class Query:
    """One question to a system; `feedback` is what its last action led to."""

    prompt: str
    instance_id: str
    instance_index: int
    schema: str
    metadata: dict[str, Any] = field(default_factory=dict)
    feedback: Observation | None = None


@dataclass(frozen=True)
class Observation:
    """What an action led to."""

    content: str
    instance_complete: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What one instance earned, in the form that is written down."""

    instance_id: str
    instance_index: int
    reward: float | None
    success: bool | None
    raw_metric_name: str
    raw_metric_value: float | None
    raw_metric_higher_is_better: bool
    metadata: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """The record that traces hold."""
        return dict(vars(self))


@dataclass(frozen=True)
class Step:
    """An action's result: the observation, outcomes that it closed, and the next question, None at the end."""

    observation: Observation
    outcomes: tuple[Outcome, ...]
    query: Query | None


class NoInstances(ValueError):
    """A task was set up in a way that its schedule does not allow."""


class Task:
    """One domain: a fixed set of instances in stages, met in an order that the rollout's index decides.

    Subclasses name the constants, make an instance's content out of its number, and judge actions.

    Attributes:
        name: its id.
        stages: instances by stage; the world changes between stages.
        schema: the name of the action's shape.
        replicated: whether the order never changes, because instances are a time series.
        brief: what a system is told once.
    """

    name: ClassVar[str]
    stages: ClassVar[tuple[int, ...]]
    schema: ClassVar[str]
    replicated: ClassVar[bool] = False
    brief: ClassVar[dict[str, Any]]

    def __init__(self, schedule: Schedule, *, seed: int = 42, num_questions: int | None = None) -> None:
        total = sum(self.stages)
        if num_questions is not None and any(stage.variant is not None for stage in schedule.stages):
            raise NoInstances(
                f"num_questions={num_questions} contradicts the schedule '{schedule.id}', whose variants fix {total} instances"
            )
        if num_questions is not None and not 0 < num_questions <= total:
            raise NoInstances(f"num_questions must be from 1 to {total}")
        self.seed = seed
        drifts = len(schedule.stages) > 1
        sizes = self.stages if drifts else (total,)
        self.content: list[tuple[int, int]] = [
            (stage if drifts else 0, number)
            for number, stage in enumerate(at for at, size in enumerate(sizes) for _ in range(size))
        ][:num_questions]
        self.position = self.first = 0
        self.begin_instance()

    @property
    def num_instances(self) -> int:
        """Instances of a pass."""
        return len(self.content)

    def prepare_run(self, run_index: int) -> None:
        """Take the order of a rollout: shuffled within stages, the canonical one for rollout 0."""
        if not run_index or self.replicated:
            return
        chance = random.Random(self.seed + run_index)
        shuffled: list[tuple[int, int]] = []
        for stage in sorted({stage for stage, _ in self.content}):
            part = [one for one in self.content if one[0] == stage]
            chance.shuffle(part)
            shuffled += part
        self.content = shuffled

    def reset(self) -> tuple[Query | None, tuple[Outcome, ...]]:
        """Begin: the first question, None if nothing is asked, and outcomes that need no action."""
        self.position = 0
        return self._next()

    def only(self, number: int) -> tuple[Query | None, tuple[Outcome, ...]]:
        """Begin a baseline instance: the pass is this one instance, which numbers itself from 0 as every slice does."""
        self.content = [self.content[number]]
        self.first = number
        return self.reset()

    def step(self, action: dict[str, Any], said: dict[str, Any]) -> Step:
        """Take an action.

        Args:
            action: what the system did.
            said: what stands beside it; a forfeit ends an instance where a task honours it.
        """
        observation, outcome = self.judge(action, said)
        if outcome is None:
            return Step(observation, (), self._query(observation))
        self.position += 1
        query, more = self._next(observation)
        return Step(observation, (outcome, *more), query)

    def _next(self, feedback: Observation | None = None) -> tuple[Query | None, tuple[Outcome, ...]]:
        closed: list[Outcome] = []
        while self.position < len(self.content):
            self.begin_instance()
            resolved = self.resolved()
            if resolved is None:
                return self._query(feedback), tuple(closed)
            closed.append(resolved)
            self.position += 1
        return None, tuple(closed)

    def _query(self, feedback: Observation | None) -> Query:
        return Query(self.prompt(), self.instance_id, self.position, self.schema, self.facts(), feedback)

    @property
    def stage(self) -> int:
        """The current instance's stage, from 0."""
        return self.content[self.position][0]

    @property
    def number(self) -> int:
        """The current instance's number in the canonical order, which decides its content."""
        return self.content[self.position][1]

    @property
    def instance_id(self) -> str:
        """The current instance's id, bound to its content."""
        return f"{self.name}:{self.number:02d}"

    def chance(self, *words: object) -> random.Random:
        """Randomness that only the task's seed and these words decide."""
        return random.Random(":".join(map(str, (self.seed, self.name, *words))))

    def outcome(
        self,
        reward: float | None,
        raw: tuple[str, float | None, bool],
        *,
        success: bool | None,
        **metadata: Any,
    ) -> Outcome:
        """The current instance's outcome; `raw` is the metric's name, its value and whether more is better."""
        name, value, higher = raw
        rounded = None if reward is None else round(reward, 6)
        return Outcome(self.instance_id, self.position, rounded, success, name, value, higher, metadata)

    def begin_instance(self) -> None:
        """Forget what the last instance needed."""

    def resolved(self) -> Outcome | None:
        """The outcome of an instance that is over before anybody is asked."""
        return None

    def facts(self) -> dict[str, Any]:
        """What stands beside the prompt."""
        return {"stage": self.stage}

    def prompt(self) -> str:
        """What is asked."""
        raise NotImplementedError

    def judge(self, action: dict[str, Any], said: dict[str, Any]) -> tuple[Observation, Outcome | None]:
        """What an action leads to, and what the instance earned if it is over."""
        raise NotImplementedError
