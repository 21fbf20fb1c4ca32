"""fencepost at synchronous=NORMAL, beside the peers whose default that is."""

from __future__ import annotations

from . import Peer, Unavailable, ours_peer

NAME = "fencepost, NORMAL"
GUARANTEES = f"{ours_peer.GUARANTEES}, but a power cut may take the last commits"


def open(path: str, settings: str) -> Peer:
    """Only for comparison with defaults."""
    if settings == "equal":
        raise Unavailable("measured beside the defaults only")
    return ours_peer.open(path, settings, "normal")
