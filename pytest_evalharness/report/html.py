"""The report as one HTML file that needs no network: the layout is the template's, the words are the page's."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from typing import TYPE_CHECKING, Any

from pytest_evalharness.report.model import Report
from pytest_evalharness.report.page import page
from pytest_evalharness.report.plot import HEIGHT, WIDTH

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
    style, script = (_source(environment, name) for name in ("report.css", "report.js"))
    shown = page(report)
    return environment.get_template("report.html.j2").render(
        page=shown,
        data=embedded_json(shown.data),
        style=style,
        script=script,
        style_digest=_digest(style),
        script_digest=_digest(script),
        width=WIDTH,
        height=HEIGHT,
    )


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
