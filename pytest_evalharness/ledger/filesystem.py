"""Which file systems can hold a ledger. sqlite's WAL needs memory shared between all who use the file.

See https://www.sqlite.org/wal.html ("WAL does not work over a network filesystem").
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = frozenset(
    {
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "fuse.ceph",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
    }
)
_ESCAPED = re.compile(r"\\([0-7]{3})")
_MOUNT_POINT = 4


def network_kind(folder: Path, mounts: Path = _MOUNTS) -> str | None:
    """The kind of network file system a folder is on; None if it is on none, or nobody can tell.

    File systems that serve one machine only (9p, virtiofs: containers and virtual machines) are not named
    here: they may well work, and the write probe finds out.
    """
    try:
        table = mounts.read_text("utf-8", "surrogateescape")
        where = PurePosixPath(folder.resolve())
    except OSError:
        return None
    best, kind = -1, None
    for line in table.splitlines():
        left, dash, right = line.partition(" - ")
        fields = left.split()
        if not dash or len(fields) <= _MOUNT_POINT or not right:
            continue
        point = PurePosixPath(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), fields[_MOUNT_POINT]))
        # `>=`: of two mounts at one place the later one is on top
        if len(point.parts) >= best and where.is_relative_to(point):
            best, kind = len(point.parts), right.split()[0]
    return kind if kind in _NETWORK else None
