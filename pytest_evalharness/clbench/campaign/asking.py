"""Asking a checkout's own programs what they would do: in its root, with the campaign's variables, within a deadline."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.base.text import printable, redact

SECONDS = 300.0
"""Importing every library of a benchmark's task takes a quarter of a minute on a cold disk; more is a program that hangs."""


@dataclass(frozen=True)
class Answer:
    """What a program said.

    Attributes:
        code: its exit code; None if it did not end in time, or did not start.
        said: its standard output: benchmark prompts may be in it, so it is read and never shown.
        problem: the last line of what it complained of, made harmless; or why it did not start.
    """

    code: int | None
    said: str
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ended well."""
        return self.code == 0


def ask(
    argv: Sequence[str],
    root: Path,
    environment: Mapping[str, str],
    *,
    seconds: float = SECONDS,
) -> Answer:
    """Run a program until it ends, or until time is over; it is killed then.

    Args:
        argv: of the program.
        root: its working folder.
        environment: all of its variables.
        seconds: how long it may take.
    """
    try:
        done = subprocess.run(
            list(argv),
            cwd=root,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer(None, "", f"it did not end within {seconds:g} s")
    except OSError as problem:
        return Answer(None, "", f"it cannot be started: {problem.strerror or problem}")
    complaint = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    words = printable(redact(complaint), 200) or f"it ended with {done.returncode}"
    return Answer(
        done.returncode, done.stdout.decode("utf-8", "replace"), "" if done.returncode == 0 else words
    )


def variables(campaign: Mapping[str, str], inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every variable of a campaign's processes: the inherited ones under its own."""
    return {**(os.environ if inherited is None else inherited), **campaign}
