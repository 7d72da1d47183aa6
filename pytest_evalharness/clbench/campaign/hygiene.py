"""Where a campaign leaves secrets, and who can read them. Readers only: nothing is changed, and no secret is ever told.

Engines keep live keys in `data/settings.json` with the usual mode; the folder above shields them until somebody copies it.
"""

from __future__ import annotations

import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.secret_values import is_secret
from pytest_evalharness.clbench.checking import Check, State, judged

_SETTINGS = "data/settings.json"
_NO_WORD = rb"(?<![A-Za-z0-9-])"
"""A key begins here and is no end of a word: `task-sk-…` is none."""
_NEVER_BUNDLED = frozenset({"runner_state", "clone", ".env", "task_results"})
_SHORTEST = 8
"""Shorter values of variables are words: they would be found everywhere."""
_CHUNK = 1 << 17
"""Bytes at once: a packed file of them can hold a thousand times as many."""
_OVERLAP = 512
"""Bytes that are looked at again with the next ones: a secret may stand across both."""
_GZIP = b"\x1f\x8b"
_SHOWN = 5


class Reach(StrEnum):
    """Who can read a file."""

    OTHERS = "others"
    SHIELDED = "shielded"
    """Others could by its own mode, and a folder above keeps them out: a copy loses that."""
    OWNER = "owner"


@dataclass(frozen=True)
class Settings:
    """One engine's settings, which hold live keys.

    Attributes:
        file: where.
        mode: permission bits.
        reach: who can read it.
    """

    file: Path
    mode: int
    reach: Reach


@dataclass(frozen=True)
class Finding:
    """A secret where none should be. The secret itself is not kept.

    Attributes:
        file: where, relative to the folder that was searched.
        what: its kind, or the variable that holds it.
    """

    file: Path
    what: str


@dataclass(frozen=True)
class _Sought:
    """What is looked for: a literal, which is found fast, and what has to stand there."""

    what: str
    literal: bytes
    pattern: re.Pattern[bytes] | None = None

    def stands_in(self, held: bytes) -> bool:
        at = held.find(self.literal)
        while at >= 0:
            if self.pattern is None or self.pattern.match(held, at):
                return True
            at = held.find(self.literal, at + 1)
        return False


def _key(what: str, literal: bytes, rest: bytes, *, before: bytes = _NO_WORD) -> _Sought:
    return _Sought(what, literal, re.compile(before + literal + rest))


_PATTERNS = (
    _key("an OpenRouter key", b"sk-or-v1-", rb"[0-9a-f]{16,}", before=b""),
    _key("an Anthropic key", b"sk-ant-", rb"[A-Za-z0-9_-]{16,}", before=b""),
    _key("an OpenAI key", b"sk-", rb"(?!or-v1-|ant-)(?:proj-)?[A-Za-z0-9_-]{20,}"),
    _key("a Hugging Face token", b"hf_", rb"[A-Za-z0-9]{20,}"),
    *(_key("a GitHub token", f"gh{sort}_".encode(), rb"[A-Za-z0-9]{20,}") for sort in "pousr"),
    _key("a GitHub token", b"github_pat_", rb"[A-Za-z0-9_]{20,}"),
)


# -------------------------------------------------------------------- modes


def engine_settings(folders: Iterable[Path]) -> tuple[Settings, ...]:
    """The settings of engines.

    Args:
        folders: their runroots.
    """
    found = []
    for folder in folders:
        file = folder / _SETTINGS
        try:
            told = file.lstat()
        except OSError:
            continue
        if stat.S_ISREG(told.st_mode):
            found.append(Settings(file, stat.S_IMODE(told.st_mode), reach_of(file)))
    return tuple(found)


def reach_of(file: Path) -> Reach:
    """Who can read a file, all folders above it taken into account.

    Raises:
        OSError: there is no such file.
    """
    readable = file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH)
    if not readable:
        return Reach.OWNER
    for bit, enter in ((stat.S_IRGRP, stat.S_IXGRP), (stat.S_IROTH, stat.S_IXOTH)):
        if readable & bit and all(folder.stat().st_mode & enter for folder in file.resolve().parents):
            return Reach.OTHERS
    return Reach.SHIELDED


def settings_check(found: Iterable[Settings]) -> Check:
    """Whether anybody else can read the engines' keys, now or in a copy."""
    files = tuple(found)
    problems = [
        f"{printable(one.file, 160)} has mode {one.mode:04o}"
        + (" and everybody on this machine can read it" if one.reach is Reach.OTHERS else "")
        for one in files
        if one.reach is not Reach.OWNER
    ]
    exposed = any(one.reach is Reach.OTHERS for one in files)
    return judged(
        "engines' settings",
        "nobody else can read the keys in settings.json: mode 0600, during the campaign too",
        _first(problems),
        f"{len(files)} files, none of which others can read" if files else "no engine has settings yet",
        "chmod 600 each of them: engines run as the same user and still read them",
        bad=State.FAILED if exposed else State.INCOMPLETE,
    )


# ------------------------------------------------------------------ secrets


def secrets_in(folder: Path, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Secrets in the files below a folder: by their look, or because a secret variable holds them. Packed files are unpacked.

    Args:
        folder: what is to be handed on. Links are not followed.
        environment: variables; those that hold secrets are looked for by value.
    """
    known = [
        _Sought(f"the value of {printable(name, 60)}", value.encode("utf-8", "surrogateescape"))
        for name, value in environment.items()
        if len(value) >= _SHORTEST and is_secret(name, value)
    ]
    for file in _files(folder):
        for what in _held(file, (*known, *_PATTERNS)):
            yield Finding(file.relative_to(folder), what)


def not_to_hand_on(folder: Path) -> tuple[Path, ...]:
    """Files and folders below a folder that belong into no bundle, whatever they hold now."""
    found = []
    for parent, folders, files in os.walk(folder):
        bad = sorted(name for name in (*folders, *files) if name in _NEVER_BUNDLED)
        found += [(Path(parent) / name).relative_to(folder) for name in bad]
        folders[:] = [name for name in folders if name not in _NEVER_BUNDLED]
    return tuple(sorted(found))


def secrets_check(folder: Path, environment: Mapping[str, str]) -> Check:
    """Whether what is to be handed on holds secrets, or what can hold them."""
    found = list(secrets_in(folder, environment))
    problems = [f"{printable(one.file, 160)} holds {one.what}" for one in found]
    problems += [f"{printable(path, 160)} is there" for path in not_to_hand_on(folder)]
    return judged(
        "secrets in results",
        "no secret, and none of runner_state/, clone/, task_results/ and .env",
        _first(problems),
        f"{printable(folder, 160)} holds none",
        "take them out, and replace every key that was found: it may have been read already",
    )


def _first(problems: list[str]) -> list[str]:
    more = len(problems) - _SHOWN
    return problems if more <= 0 else [*problems[:_SHOWN], f"and {more} more"]


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = Path(parent) / name
            if path.is_file() and not path.is_symlink():
                yield path


def _held(file: Path, sought: Iterable[_Sought]) -> list[str]:
    """What of these a file holds, each told once; the file is read once."""
    left, found, tail = list(sought), list[str](), b""
    for part in _content(file):
        held = tail + part
        found += dict.fromkeys(one.what for one in left if one.stands_in(held))
        left = [one for one in left if one.what not in found]
        if not left:
            break
        tail = held[-_OVERLAP:]
    return found


def _content(file: Path) -> Iterator[bytes]:
    try:
        with file.open("rb") as opened:
            start = opened.read(2)
            opened.seek(0)
            parts = iter(lambda: opened.read(_CHUNK), b"")
            yield from _unpacked(parts) if start == _GZIP else parts
    except OSError:
        return


def _unpacked(packed: Iterator[bytes]) -> Iterator[bytes]:
    """What a gzip file holds, piece by piece; of a damaged one, what comes before the damage."""
    member = zlib.decompressobj(wbits=31)
    for part in packed:
        rest = part
        while rest:
            try:
                yield member.decompress(rest)
            except zlib.error:
                return
            rest = member.unused_data
            if member.eof:
                member = zlib.decompressobj(wbits=31)
