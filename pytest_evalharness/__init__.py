"""A pytest plugin that turns “did this edit help?” into a test."""

from __future__ import annotations

# Type checkers take this name for true; importing it from `typing` would cost as much as all of `stats`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pytest_evalharness.engines.catalogue.contract import decision_engine
    from pytest_evalharness.engines.catalogue.knobs import Param
    from pytest_evalharness.engines.evidence.document import Evidence
    from pytest_evalharness.errors import (
        BadPolicy,
        ConditionNotMet,
        EvalHarnessError,
        Inconclusive,
        NotEnoughEvidence,
        Untrustworthy,
        UsageError,
    )
    from pytest_evalharness.verdict.words import Claim, Rule, Verdict

__all__ = [
    "BadPolicy",
    "Claim",
    "ConditionNotMet",
    "EvalHarnessError",
    "Evidence",
    "Inconclusive",
    "NotEnoughEvidence",
    "Param",
    "Rule",
    "Untrustworthy",
    "UsageError",
    "Verdict",
    "decision_engine",
]

_HOMES = {
    **dict.fromkeys(("Claim", "Rule", "Verdict"), "pytest_evalharness.verdict.words"),
    "Param": "pytest_evalharness.engines.catalogue.knobs",
    "decision_engine": "pytest_evalharness.engines.catalogue.contract",
    "Evidence": "pytest_evalharness.engines.evidence.document",
}


def __getattr__(name: str) -> object:
    """Public names are imported when they are asked for: this package is imported in every pytest run."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES.get(name, "pytest_evalharness.errors")), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
