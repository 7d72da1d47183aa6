"""Whether this is a GitHub pull request from a fork. Such a run is given no secrets, and nobody did anything wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def pull_request_from_fork(environ: Mapping[str, str]) -> bool:
    """Whether GitHub runs this for a pull request whose commits are in another repository than its target.

    Whether that repository calls itself a fork does not matter: a fork's own pull requests have its own secrets.

    Args:
        environ: the environment, as GitHub Actions sets it.
    """
    if environ.get("GITHUB_ACTIONS") != "true" or environ.get("GITHUB_EVENT_NAME") != "pull_request":
        return False
    request = _section(_payload(environ.get("GITHUB_EVENT_PATH", "")), "pull_request")
    target = _repository(request, "base")
    return bool(target) and _repository(request, "head") != target  # a fork that was deleted has no name left


def _payload(path: str) -> object:
    """What happened, as GitHub tells it; None if that cannot be read."""
    try:
        return json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _repository(request: Mapping[str, Any], side: str) -> object:
    return _section(_section(request, side), "repo").get("full_name")


def _section(content: object, name: str) -> Mapping[str, Any]:
    section = content.get(name) if isinstance(content, dict) else None
    return section if isinstance(section, dict) else {}
