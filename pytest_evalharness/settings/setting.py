"""What a setting is: its key and its four spellings."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple


class Origin(StrEnum):
    """Where a setting's value came from, strongest first."""

    COMMAND_LINE = "command line"
    ENVIRONMENT = "environment"
    INI = "ini"
    DEFAULT = "default"


class Kind(StrEnum):
    """How a setting is spelt on a command line."""

    VALUE = "value"
    SWITCH = "switch"
    REPEATED = "repeated"


class Setting(NamedTuple):
    """One setting: its key, how to read it, its default, and its help."""

    key: str
    parse: Callable[[str], Any]
    default: Any
    help: str
    kind: Kind = Kind.VALUE
    metavar: str = "VALUE"
    flag: str = ""
    belongs_to_case: bool = False

    @property
    def option(self) -> str:
        """The command line's spelling."""
        return self.flag or "--eval-" + self.key.replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment's spelling."""
        return "EVALHARNESS_" + self.key.upper()

    @property
    def ini(self) -> str:
        """The ini file's spelling."""
        return "evalharness_" + self.key
