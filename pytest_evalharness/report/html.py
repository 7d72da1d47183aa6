"""The report as one HTML file that needs no network: the layout is the template's, the words are the page's."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from typing import TYPE_CHECKING, Any

from pytest_evalharness.report.model import Report
from pytest_evalharness.report.page import page
from pytest_evalharness.report.plot import HEIGHT, ROW_HEIGHT, WIDTH

if TYPE_CHECKING:
    from jinja2 import Environment

INSTALL = "pip install 'pytest-evalharness[html]'"
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&'\u2028\u2029"}
"""In JSON these stand inside of strings only, where they may be spelt otherwise; in HTML they could end the block."""


def render(report: Report) -> str:
    """The whole document.

    Raises:
        ImportError: jinja2 is not installed; the extra `html` brings it.
    """
    environment = _environment()
    script = _source(environment, "report.js")
    shown = page(report)
    return _document(
        "report.html.j2",
        ["report.css"],
        page=shown,
        data=embedded_json(shown.data),
        script=script,
        script_digest=_digest(script),
        height=HEIGHT,
    )


def render_engines(view: Any) -> str:
    """The document of an engine benchmark; nothing in it runs.

    Args:
        view: what the template lays out (`engines.benchmark.page.PageView`).

    Raises:
        ImportError: jinja2 is not installed; the extra `html` brings it.
    """
    return _document("engines.html.j2", ["report.css", "engines.css"], page=view, height=ROW_HEIGHT)


def _document(template: str, styles: list[str], **words: Any) -> str:
    environment = _environment()
    style = "".join(_source(environment, name) for name in styles)
    found = environment.get_template(template)
    return found.render(style=style, style_digest=_digest(style), width=WIDTH, **words)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("pytest_evalharness.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _source(environment: Environment, name: str) -> str:
    """A file of ours that stands in the document as it is."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def embedded_json(value: Any) -> str:
    """JSON that can stand inside of a `<script>` element whatever its strings hold.

    Raises:
        ValueError: the value holds NaN or an infinity.
    """
    plain = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return plain.translate(_ESCAPES)


def _digest(text: str) -> str:
    """What a content security policy knows an inline element by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
