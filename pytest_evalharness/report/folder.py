"""A run's report as the files of its folder."""

from __future__ import annotations

from pathlib import Path

from pytest_evalharness.base.files import readable_json, write_atomic
from pytest_evalharness.report import html, markdown
from pytest_evalharness.report.model import Report


def write(folder: Path, report: Report) -> str:
    """Write `results.json`, `summary.md` and `report.html`, each as a whole.

    Returns:
        Why there is no page, which alone needs more than this package brings along; empty if there is one.

    Raises:
        OSError: the folder cannot be written to.
    """
    write_atomic(folder / "results.json", readable_json(report.to_json()))
    write_atomic(folder / "summary.md", markdown.render(report))
    try:
        write_atomic(folder / "report.html", html.render(report))
    except ImportError:
        return f"report.html was not written: {html.INSTALL}"
    return ""
