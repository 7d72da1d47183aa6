"""Command line and ini: one entry for every setting, nothing resolved yet."""

from __future__ import annotations

import os
from typing import Any

import pytest

from pytest_evalharness.settings import SETTINGS, Kind, Settings, resolve

_DEST = "evalharness_"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add every setting as an option and as an ini key."""
    group = parser.getgroup("evalharness", "evalharness: did this edit help?")
    for setting in SETTINGS:
        shared: dict[str, Any] = {
            "dest": _DEST + setting.key,
            "default": None,
            "help": setting.help.replace("%", "%%"),
        }
        if setting.kind is Kind.SWITCH:
            group.addoption(setting.option, action="store_true", **shared)
        elif setting.kind is Kind.REPEATED:
            group.addoption(setting.option, action="append", metavar=setting.metavar, **shared)
        else:
            group.addoption(setting.option, action="store", metavar=setting.metavar, **shared)
        parser.addini(setting.ini, help=setting.help, type="string", default="")


def settings_of(config: pytest.Config) -> Settings:
    """Every setting of a run, by the one precedence.

    Raises:
        UsageError: a value cannot be read.
    """
    return resolve(
        lambda key: config.getoption(_DEST + key, None),
        os.environ,
        lambda key: str(config.getini("evalharness_" + key) or "") or None,
    )
