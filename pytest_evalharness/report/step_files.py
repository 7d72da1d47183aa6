"""The files that GitHub Actions offers a step: the summary that people read, and outputs for later steps. Never a reason to fail."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_evalharness.report import github
from pytest_evalharness.report.model import Report


def write(report: Report, *, folder: Path, resume: str, environ: Mapping[str, str]) -> list[str]:
    """Add a run to the files that the environment names; returns a line for each that could not be written.

    Args:
        report: the run.
        folder: where its files are.
        resume: the command that goes on with it, or reads its evidence.
        environ: the environment variables.
    """

    def summarize(path: Path) -> None:
        before = path.stat().st_size if path.exists() else 0
        room = github.SUMMARY_LIMIT - 1 - before - len("\n\n")
        text = github.summary(report, room=room, where=str(folder / "summary.md"))
        if not text:
            raise ValueError(f"it holds {before} bytes already, and GitHub takes {github.SUMMARY_LIMIT}")
        _append(path, text)

    def output(path: Path) -> None:
        values = {
            "verdict": str(github.overall(report)),
            "exit-code": str(report.exit_code),
            "run-dir": str(folder),
            "resume-command": resume,
        }
        _append(path, github.outputs(values, delimiter=f"evalharness-{secrets.token_hex(16)}"))

    writers: dict[str, Callable[[Path], None]] = {"GITHUB_STEP_SUMMARY": summarize, "GITHUB_OUTPUT": output}
    lines = []
    for variable, write_to in writers.items():
        path = environ.get(variable)
        if not path:
            continue
        try:
            write_to(Path(path))
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or problem
            lines.append(f"evalharness: note: {variable} was not written: {why}")
    return lines


def _append(path: Path, text: str) -> None:
    """Add to what other commands of the step have written, on a line of its own.

    Raises:
        OSError: it cannot be written.
        ValueError: it is no regular file: writing to a pipe might wait for ever.
    """
    if path.exists() and not path.is_file():
        raise ValueError("it is no regular file")
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            text = text if file.read(1) == b"\n" else f"\n{text}"
        file.write(text.encode(errors="replace"))
