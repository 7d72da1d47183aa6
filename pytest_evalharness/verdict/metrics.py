"""What is measured in a game: whether it was won, the seat's score, or any number that a named function reads off it."""

from __future__ import annotations

import re
from typing import Any

from pytest_evalharness.verdict.words import Metric

_WORDS = {Metric.WINS: "win rate", Metric.SCORE: "seat score"}
_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_LONGEST = 200


def metric_of(value: Any) -> str:
    """A metric as it is declared: `Metric.WINS`, `Metric.SCORE`, or a function's name, `package.module:function`.

    Args:
        value: one of them, or the words that people have for the first two, "win rate" and "seat score".

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(value, str):
        for metric, words in _WORDS.items():
            if value in (metric.value, words):
                return metric
        if _FUNCTION.fullmatch(value) and len(value) <= _LONGEST:
            return value
    raise ValueError(
        f"metric must be 'win rate', 'seat score', or a function's name such as 'package.module:function', got {value!r}"
    )


def is_function(metric: str) -> bool:
    """Whether a metric is a function's name."""
    return ":" in metric


def words_of(metric: str) -> str:
    """The metric as it is printed; of a function its own name, without the module."""
    return metric.rpartition(":")[2] if is_function(metric) else _WORDS[Metric(metric)]
