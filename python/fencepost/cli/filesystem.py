"""Which file system a file is on, and which of them are shared over a network."""

from __future__ import annotations

import os
from pathlib import Path

_MOUNTS = "/proc/self/mountinfo"
_NETWORK = frozenset(
    "9p acfs afs afpfs ceph cifs coda davfs fuse.davfs fuse.glusterfs fuse.rclone fuse.s3fs "
    "fuse.sshfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs pvfs2 smb2 smb3 "
    "smbfs virtiofs webdav".split()
)


def file_system(path: str, mounts: str | None = None) -> str | None:
    """The type of the file system that holds `path`; None where the system does not say.

    Arguments:
        mounts: the text of `/proc/self/mountinfo` (proc(5)); default the system's.
    """
    if mounts is None:
        try:
            mounts = Path(_MOUNTS).read_text("utf-8", "surrogateescape")
        except OSError:
            return None
    real, best, found = os.path.realpath(path), -1, None
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        point = _unescaped(fields[4])
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        # Of two mounts on one point the later one hides the earlier.
        if inside and len(point) >= best:
            best, found = len(point), after.split()[0]
    return found


def is_network(kind: str | None) -> bool:
    """Whether machines share such a file system; WAL needs the memory of one machine."""
    return kind in _NETWORK


def _unescaped(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
