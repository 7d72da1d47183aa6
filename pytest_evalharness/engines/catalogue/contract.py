"""What an engine declares, and what it must return: the contract of the `levers9` SDK, so that an engine runs under both."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.engines.catalogue.code import code_beside, release
from pytest_evalharness.engines.catalogue.knobs import Param
from pytest_evalharness.engines.catalogue.results import Result, checked
from pytest_evalharness.engines.catalogue.tracing import broken
from pytest_evalharness.engines.evidence.document import Evidence, LearnsFrom
from pytest_evalharness.errors import EvalHarnessError, NotEnoughEvidence

__all__ = [
    "EPISODES",
    "LEARNS_FROM",
    "PREFERENCES",
    "SIMULATOR",
    "SIMULATOR_ONLY",
    "DecisionEngine",
    "Declaration",
    "Fit",
    "Param",
    "decision_engine",
    "declared",
]

EPISODES: LearnsFrom = "episodes"
PREFERENCES: LearnsFrom = "preferences"
SIMULATOR: LearnsFrom = "simulator"
LEARNS_FROM = (EPISODES, PREFERENCES, SIMULATOR)

SIMULATOR_ONLY = (
    "it learns by acting, and a log cannot say how a customer would have answered a move that nobody made; "
    "`evalharness engine run` measures it in a world's simulator"
)
"""Why an engine that learns from a simulator has no row of numbers in a benchmark on logged calls."""

Fit = Callable[[Any, dict[str, Any]], Any]
"""An engine's function of (evidence, params); of (simulator, params) where it learns from a simulator."""

_BUILT_IN = __package__


@dataclass(frozen=True)
class Declaration:
    """All there is to say about an engine without running it.

    Attributes:
        name: unique in the process.
        family: under which it is listed.
        learns_from: "episodes", "preferences" or "simulator".
        about: one or two sentences.
        params: its knobs.
        label: its name for a person.
        equation: what it computes, in LaTeX.
        symbols: what the equation's letters mean.
    """

    name: str
    family: str
    learns_from: LearnsFrom
    about: str
    params: tuple[Param, ...]
    label: str = ""
    equation: str = ""
    symbols: str = ""

    def clean(self, raw: Mapping[str, Any] | None) -> dict[str, Any]:
        """A value for every knob; names that are no knobs are ignored."""
        told = raw or {}
        return {one.name: one.clean(told.get(one.name, one.default)) for one in self.params}

    def altered(self, raw: Mapping[str, Any] | None) -> Iterator[str]:
        """A line for each value that counts as another one, by `clean`: `alpha=9 counts as 1.0`."""
        told = raw or {}
        for one in self.params:
            if one.name in told and not one.takes(told[one.name]):
                yield f"{one.name}={printable(told[one.name], 40)} counts as {one.clean(told[one.name])}"

    def as_dict(self) -> dict[str, Any]:
        """The declaration as plain JSON values."""
        return {
            "name": self.name,
            "label": self.label or self.name,
            "family": self.family,
            "learns_from": self.learns_from,
            "about": self.about,
            "params": [one.as_dict() for one in self.params],
            "equation": self.equation,
            "symbols": self.symbols,
        }


class DecisionEngine:
    """A declared engine and its function."""

    def __init__(self, fn: Fit, declaration: Declaration, job: Mapping[str, Any] | None = None) -> None:
        self.fn = fn
        self.func = fn
        self.declaration = declaration
        self.job = dict(job or {})
        self.__name__ = getattr(fn, "__name__", declaration.name)
        self.__doc__ = fn.__doc__

    def __repr__(self) -> str:
        return f"<decision engine {self.name!r}, learns from {self.declaration.learns_from}>"

    @property
    def name(self) -> str:
        """The engine's name."""
        return self.declaration.name

    @property
    def label(self) -> str:
        """The engine's name for a person."""
        return self.declaration.label or self.name

    @property
    def family(self) -> str:
        """Under which it is listed."""
        return self.declaration.family

    @property
    def learns_from(self) -> LearnsFrom:
        """Its kind of input: "episodes", "preferences" or "simulator"."""
        return self.declaration.learns_from

    @property
    def about(self) -> str:
        """What it does, in one or two sentences."""
        return self.declaration.about

    @property
    def params(self) -> tuple[Param, ...]:
        """Its knobs."""
        return self.declaration.params

    @property
    def equation(self) -> str:
        """What it computes, in LaTeX."""
        return self.declaration.equation

    @property
    def built_in(self) -> bool:
        """Whether it is one of the catalogue's own."""
        return (getattr(self.fn, "__module__", "") or "").startswith(f"{_BUILT_IN}.")

    @property
    def code(self) -> str:
        """What tells this function from an edited one, so that results can be kept under it.

        The release for the catalogue's own; else a hash of its file and the Python files beside it, which it may import.
        """
        return release() if self.built_in else code_beside(_home(self.fn)[0])

    @property
    def why_not_on_a_log(self) -> str | None:
        """The sentence why a log cannot fit it; None where one can."""
        return SIMULATOR_ONLY if self.declaration.learns_from == SIMULATOR else None

    def as_dict(self) -> dict[str, Any]:
        """The declaration, and where the engine runs."""
        return self.declaration.as_dict() | {"where": "remote" if self.job else "local"}

    def run(
        self, evidence: Evidence | dict[str, Any], params: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Fit on evidence, here and now.

        Args:
            evidence: of the fit calls: `evidence.part("fit")`.
            params: values of knobs, cleaned before the function sees them.

        Returns:
            policy, value, diagnostics and artifact, in plain values.

        Raises:
            NotEnoughEvidence: evidence of another kind than the engine learns from; before the function is called.
            BadPolicy: the function returned no decision table.
            EngineFailed: the function raised an error; the message tells its file and line.
        """
        told = Evidence.from_dict(evidence) if isinstance(evidence, dict) else evidence
        wants = self.declaration.learns_from
        if wants == SIMULATOR:
            raise NotEnoughEvidence(
                f"{self.name} cannot be fitted on evidence: {SIMULATOR_ONLY} ({_summary(told)})",
                not_done="nothing was fitted",
                next_step=f"evalharness engine run {self.name} --world acme",
            )
        if not told.has(wants):
            raise NotEnoughEvidence(
                f"{self.name} learns from {wants}, and this evidence has none ({_summary(told)})",
                not_done="nothing was fitted",
                next_step="build a larger set, or choose an engine that learns from what there is",
            )
        return self.fit(told, told.moves, params)

    __call__ = run

    def fit(self, source: Any, moves: list[str], params: Mapping[str, Any] | None = None) -> Result:
        """Call the function with evidence or a simulator, and check what it returns.

        Raises:
            BadPolicy: no decision table.
            EngineFailed: the function raised an error.
        """
        try:
            told = self.fn(source, self.declaration.clean(params))
        except EvalHarnessError:
            raise
        except Exception as problem:
            raise broken(problem, self.name, self.fn) from problem
        return checked(told, moves, self.name)

    def remote(self, evidence: Evidence, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Fit as a job elsewhere, which needs an executor.

        Raises:
            RuntimeError: always: an engine declared without an image cannot, and no executor is here for one that was.
        """
        del evidence, params
        if not self.job:
            raise RuntimeError(
                f"{self.name} was declared without an image and cannot run remotely; `run` fits it here"
            )
        raise RuntimeError(f"no executor is set up that could run {self.name} remotely; `run` fits it here")


_DECLARED: dict[str, DecisionEngine] = {}


def decision_engine(
    name: str,
    *,
    family: str = "Custom",
    learns_from: str = EPISODES,
    about: str = "",
    params: Iterable[Param] = (),
    label: str = "",
    equation: str = "",
    symbols: str = "",
    **job: Any,
) -> Callable[[Fit], DecisionEngine]:
    """Declare an engine: `@decision_engine(name="mine")` over a function of (evidence, params).

    The function returns a dict with `policy`, `{state: move}`; and may return `value` (`{state: float}`), `diagnostics` and
    `artifact` (anything plain).

    Args:
        name: unique in the process.
        family: under which it is listed.
        learns_from: "episodes", "preferences" or "simulator"; with the last the function gets a simulator to act in.
        about: one or two sentences.
        params: its knobs.
        label: its name for a person.
        equation: what it computes, in LaTeX.
        symbols: what the equation's letters mean.
        job: where it would run remotely (`image=…`, `gpu=…`), kept for an executor.

    Raises:
        ValueError: another word for what it learns from, or a name that another engine has.
        TypeError: a word of `job` that looks like a slip of one of the arguments.
    """
    if learns_from not in LEARNS_FROM:
        raise ValueError(f"learns_from is one of {list(LEARNS_FROM)}, not {learns_from!r}")
    _refuse_slips(name, job)
    declaration = Declaration(name, family, learns_from, about, tuple(params), label, equation, symbols)

    def declare(fn: Fit) -> DecisionEngine:
        made = DecisionEngine(fn, declaration, job)
        before = _DECLARED.get(name)
        if before is not None and _home(before.fn) != _home(fn):
            raise ValueError(
                f"another engine is called {name!r}, by {_home(before.fn)[0]}; give one of them another name"
            )
        _refuse_taken(made)
        _DECLARED[name] = made
        return made

    return declare


def declared() -> list[DecisionEngine]:
    """Every engine of one's own that was declared in this process, by family and name."""
    own = (one for one in _DECLARED.values() if not one.built_in)
    return sorted(own, key=lambda one: (one.declaration.family, one.name))


def _refuse_taken(made: DecisionEngine) -> None:
    from pytest_evalharness.engines.catalogue import NAMES

    if made.name in NAMES and not made.built_in:
        raise ValueError(
            f"{made.name!r} is one of the catalogue's own engines; give yours another name, the leaderboard shows both"
        )


def _refuse_slips(name: str, job: Mapping[str, Any]) -> None:
    words = ["family", "learns_from", "about", "params", "label", "equation", "symbols"]
    for word in job:
        near = difflib.get_close_matches(word, words, 1, cutoff=0.8)
        if near:
            raise TypeError(f"engine {name!r} is declared with {word!r}; did you mean {near[0]!r}?")


def _home(fn: Fit) -> tuple[str, str]:
    """Which code a function is: the same file run a second time declares the same engine."""
    code = getattr(fn, "__code__", None)
    file = getattr(code, "co_filename", getattr(fn, "__module__", ""))
    return file, getattr(fn, "__qualname__", "")


def _summary(evidence: Evidence) -> str:
    return ", ".join(f"{word} {value}" for word, value in evidence.summary().items())
