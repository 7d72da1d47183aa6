"""The data folder: where exports are found, where sets are written, and which sets there are."""

from __future__ import annotations

import contextlib
import filecmp
import gzip
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from pytest_evalharness.base.clock import iso, parse_iso
from pytest_evalharness.base.files import readable_json, safe_component, write_atomic
from pytest_evalharness.engines.evidence.calls import require_whole
from pytest_evalharness.errors import EvidenceUnreadable, NotEnoughEvidence, UsageError

VOLUME = "vol:"
KEY_VARIABLE = "EVALHARNESS_EVIDENCE_KEY"
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SET_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
_SHORTEST_KEY = 16


class SetRecord(msgspec.Struct, kw_only=True, omit_defaults=False):
    """One evidence set in a list.

    Attributes:
        id: of the set; of a file without a record `vol:` and its path below `datasets/`.
        env: the world.
        tagger: who read the calls.
        counts: calls, turns and what was left out.
        split: calls on either side.
        created_at: when it was built, ISO 8601 in UTC.
        path: of the file below `datasets/`.
        content_hash: of its content.
        on_volume_only: whether there is a file and no record of it.
    """

    id: str
    env: str
    tagger: dict[str, Any] = {}
    counts: dict[str, Any] = {}
    split: dict[str, Any] = {}
    created_at: str = ""
    path: str = ""
    content_hash: str | None = None
    on_volume_only: bool = False


class DataFolder:
    """The folder that commands and the service share.

    Args:
        root: it need not exist yet.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    # ------------------------------------------------------------------ exports

    def registry(self, tenant: str) -> Path:
        """Where the calls that a world holds are."""
        return self.root / "registry" / f"{checked_tenant(tenant)}.jsonl.gz"

    def register(self, tenant: str, export: Path) -> bool:
        """Copy an export to where the registry of a world is, compressed; whether that replaced another one.

        Raises:
            UsageError: the name is no world's.
            EvidenceUnreadable: the export cannot be read to its end; what was there before is still there.
        """
        target = self.registry(tenant)
        had = target.exists()
        if had and export.exists() and target.samefile(export):
            return False
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as out, export.open("rb") as source:
                compressed = source.read(2) == b"\x1f\x8b"
                source.seek(0)
                if compressed:
                    shutil.copyfileobj(source, out, 1 << 20)
                else:
                    with gzip.GzipFile(
                        filename="", fileobj=out, mode="wb", compresslevel=6, mtime=0
                    ) as packed:
                        shutil.copyfileobj(source, packed, 1 << 20)
            require_whole(Path(name), export)  # a spoilt export must not take the place of a good one
            if had and filecmp.cmp(name, target, shallow=False):
                os.unlink(name)  # noqa: PTH108 - an interrupted build knows its export by the time it was written
                return False
            os.replace(name, target)  # noqa: PTH105 - mkstemp speaks in names
        except BaseException as problem:
            with contextlib.suppress(OSError):
                os.unlink(name)  # noqa: PTH108
            if isinstance(problem, OSError):
                raise EvidenceUnreadable(
                    f"{export} cannot be registered: {problem.strerror or problem}",
                    not_done="no evidence was built",
                    next_step="name the call export: --from calls.jsonl.gz",
                ) from None
            raise
        return had

    def export(self, tenant: str, source: str, path: str | None = None) -> Path:
        """The export to build from.

        Args:
            tenant: the world.
            source: "registry" or "volume".
            path: below `call-logs/`, for the volume.

        Raises:
            UsageError: a name that leaves the folder.
            NotEnoughEvidence: there is no such export.
        """
        if source == "registry":
            found, missing = self.registry(tenant), f"the registry holds no calls of {tenant}"
            do = f"evalharness engine evidence-build {tenant} --from calls.jsonl.gz registers them"
        else:
            tenant = checked_tenant(tenant)
            found = inside(self.root / "call-logs", path or f"{tenant}/{tenant}_calls.jsonl.gz", "--path")
            missing = f"the volume holds no calls of {tenant}"
            do = "put the export there, or name it below call-logs/ with --path"
        if not found.is_file():
            raise NotEnoughEvidence(
                f"{missing}: there is no {found}", not_done="no evidence was built", next_step=do
            )
        return found

    def key(self, environ: Mapping[str, str]) -> bytes:
        """The secret that call ids are hashed with: the environment's, else one that this folder keeps.

        Raises:
            UsageError: the environment's is too short to be one.
        """
        told = environ.get(KEY_VARIABLE, "")
        if told:
            if len(told) < _SHORTEST_KEY:
                raise UsageError(
                    f"{KEY_VARIABLE} is shorter than {_SHORTEST_KEY} characters: call ids could be guessed from their hashes",
                    not_done="no evidence was built",
                    next_step="set a long random value, the same one wherever sets are to agree",
                )
            return told.encode()
        path = self.root / "evidence.key"
        self.root.mkdir(parents=True, exist_ok=True)
        # Written whole and then linked: of two builds that start at one time, both use the key of the first.
        if not path.exists():
            handle, name = tempfile.mkstemp(prefix=".evidence.key.", dir=self.root)
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_hex(32) + "\n")
            with contextlib.suppress(FileExistsError):
                os.link(name, path)
            os.unlink(name)  # noqa: PTH108
        return path.read_text().strip().encode()

    # --------------------------------------------------------------------- sets

    @property
    def datasets(self) -> Path:
        """The folder that `vol:` names are relative to."""
        return self.root / "datasets"

    def new_set(self, tenant: str, tagger: str, now: float) -> Path:
        """A free name for a set."""
        stamp = iso(now)[:19].replace("-", "").replace(":", "") + "Z"
        folder = self.datasets / "rl" / checked_tenant(tenant)
        stem = f"evidence-{safe_component(tagger)}-{stamp}"
        number, path = 1, folder / f"{stem}.json"
        while path.exists():
            number += 1
            path = folder / f"{stem}-{number}.json"
        return path

    def record(self, record: SetRecord) -> None:
        """Remember a set."""
        write_atomic(
            self.root / "evidence-sets" / f"{record.id}.json", readable_json(msgspec.to_builtins(record))
        )

    def sets(self, env: str | None = None) -> list[SetRecord]:
        """The sets, newest first; evidence files without a record included, records without a file not."""
        found = [one for one in self._records() if (self.datasets / one.path).is_file()]
        known = {one.path for one in found}
        for path in (self.datasets / "rl").glob("*/evidence-*.json"):
            name = path.relative_to(self.datasets).as_posix()
            if name not in known:
                found.append(
                    SetRecord(
                        id=f"{VOLUME}{name}",
                        env=path.parent.name,
                        created_at=iso(path.stat().st_mtime),
                        path=name,
                        on_volume_only=True,
                    )
                )
        wanted = [one for one in found if env is None or one.env == env]
        return sorted(wanted, key=lambda one: (_instant(one.created_at), one.id), reverse=True)

    def _records(self) -> list[SetRecord]:
        found = []
        for path in (self.root / "evidence-sets").glob("*.json"):
            with contextlib.suppress(
                OSError, msgspec.DecodeError
            ):  # a spoilt record leaves its file to be found
                found.append(msgspec.json.decode(path.read_bytes(), type=SetRecord))
        return found

    def locate(self, name: str) -> Path:
        """The file of a set: its id, `vol:` and a path below `datasets/`, or a path.

        Raises:
            UsageError: a `vol:` name that leaves the folder.
            EvidenceUnreadable: there is no such set or file.
        """
        if name.startswith(VOLUME):
            path = inside(self.datasets, name.removeprefix(VOLUME), VOLUME)
        elif _SET_ID.fullmatch(name) and (self.root / "evidence-sets" / f"{name}.json").is_file():
            told = next((one.path for one in self._records() if one.id == name), "")
            path = inside(self.datasets, told, "the record's path")
        else:
            path = Path(name)
        if not path.is_file():
            raise EvidenceUnreadable(
                f"there is no evidence set {name}",
                not_done="nothing was fitted or scored",
                next_step="evalharness engine evidence-sets lists those there are",
            )
        return path


def inside(folder: Path, name: str, what: str) -> Path:
    """A path below a folder that cannot leave it, links included.

    Raises:
        UsageError: it would.
    """
    path = folder / name
    if not name or "\0" in name or Path(name).is_absolute() or not _below(path, folder):
        raise UsageError(
            f"{what} {name!r} does not stay below {folder}",
            not_done="nothing was read",
            next_step=f"name a file relative to {folder}",
        )
    return path


def _below(path: Path, folder: Path) -> bool:
    return ".." not in path.parts and path.resolve().is_relative_to(folder.resolve())


def checked_tenant(tenant: str) -> str:
    """A world's name, which is also a folder's.

    Raises:
        UsageError: it is none.
    """
    if not _TENANT.fullmatch(tenant):
        raise UsageError(
            f"{tenant!r} is no world's name: letters, digits, dots, dashes and underscores",
            not_done="nothing was done",
            next_step="name the world as its folder is named: evalharness engine evidence-build acme",
        )
    return tenant


def _instant(created_at: str) -> float:
    try:
        return parse_iso(created_at)
    except ValueError:
        return 0.0
