"""Waking other processes that have the same file open, by sockets in a folder beside it.

Who wants to be woken binds a datagram socket in the folder; who has news sends a byte to
each name that it finds there, or to the first. It is all only a hint: a dead process
leaves a socket that refuses and is cleared away by whoever finds it, a full one has been
woken already, and where sockets do not work everybody polls.

Where nobody has waited of late there is no folder, so that looking for waiters is one failing
system call. `rust/fencepost-core/src/rendezvous.rs` keeps to the same names.
"""

from __future__ import annotations

import itertools
import os
import socket
import time
from contextlib import suppress

# What one tells another by waking it. NEWS: there is work, or it is the first in the line
# now. TURN: it may take the lock, and whoever says so comes back to the line.
NEWS = b"!"
TURN = b">"

_LONGEST_ADDRESS = 100
_UNUSED_SECONDS = 60.0
_serial = itertools.count()


def folder(path: str, purpose: str) -> str:
    """The folder for one purpose beside the database at `path`."""
    return f"{path}-fencepost/{purpose}"


def names(folder: str) -> list[str]:
    """Who waits in a folder, in the order of their arrival."""
    # Most often there is none: to ask that first is much cheaper than an exception.
    if not os.access(folder, os.F_OK):
        return []
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def wake_first(folder: str, waiting: list[str], news: bytes) -> str | None:
    """Wake the first of these that is alive, and clear away those before it that are dead.

    Returns its name, None where nobody was.
    """
    if not waiting:
        return None
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        for name in waiting:
            if _send(sender, folder, name, news):
                return name
    return None


def wake_all(folder: str) -> None:
    """Wake everybody in a folder; clear away one that nobody has used for a while."""
    # Every commit comes here, and most often there is no folder: that is asked once.
    if not os.access(folder, os.F_OK):
        return
    waiting = names(folder)
    if not waiting:
        _remove_unused(folder)
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        for name in waiting:
            _send(sender, folder, name, NEWS)


def _send(sender: socket.socket, folder: str, name: str, news: bytes) -> bool:
    """Wake the one under this name; False where it is dead, or gone."""
    try:
        with _Address(folder, name) as address:
            sender.sendto(news, address)
    except BlockingIOError:
        # Who is full has been woken already.
        return True
    except ConnectionRefusedError:
        _remove(folder, name)
        return False
    except OSError:
        return False
    return True


class Place:
    """A place in a folder: once taken, a bound socket, named by the time of its arrival.

    Whatever comes out of `take`, `leave` gives back all that was taken. The folder stays for
    the next one: to remove it takes longer than all else in a wake-up; `remove` does so in
    the end.

    Attributes:
        name: sorts after the names of those that came before, in any process.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.name = f"{time.monotonic_ns():020d}-{os.getpid()}-{next(_serial)}"
        self._socket: socket.socket | None = None

    def take(self) -> None:
        """Take the place; where sockets do not work, there is none."""
        try:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        except OSError:
            return
        # Somebody may remove the folder at any time, also between the two steps.
        for _ in range(10):
            try:
                with _Address(self._folder, self.name) as address:
                    self._socket.bind(address)
                return
            except FileNotFoundError:
                pass
            except OSError:
                break
            try:
                for folder in (os.path.dirname(self._folder), self._folder):
                    with suppress(FileExistsError):
                        os.mkdir(folder, 0o700)
            except FileNotFoundError:
                continue
            except OSError:
                break
        self.leave()

    def fileno(self) -> int:
        """The descriptor that becomes readable when somebody wakes this one; -1 for none."""
        return -1 if self._socket is None else self._socket.fileno()

    def sleep(self, seconds: float) -> bytes:
        """Sleep until woken, or for so long; what it was told, and nothing if it was not woken.

        Who was woken twice wakes once more: to see here that nothing is left takes as long as
        a look.
        """
        if self._socket is None:
            time.sleep(seconds)
            return b""
        self._socket.settimeout(max(seconds, 0.0))
        try:
            return self._socket.recv(1)
        except (TimeoutError, BlockingIOError):
            return b""

    def leave(self) -> None:
        """Give the place up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            _unlink(self._folder, self.name)


class _Address:
    """A socket's address, by way of the folder's descriptor where its path is too long."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder, self._name = folder, name
        self._descriptor: int | None = None

    def __enter__(self) -> str:
        address = os.path.join(self._folder, self._name)
        if len(os.fsencode(address)) <= _LONGEST_ADDRESS:
            return address
        self._descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        return f"/proc/self/fd/{self._descriptor}/{self._name}"

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def remove(folder: str) -> None:
    """Remove a folder where nobody is in it."""
    with suppress(OSError):
        os.rmdir(folder)
        os.rmdir(os.path.dirname(folder))


def _remove(folder: str, name: str) -> None:
    _unlink(folder, name)
    remove(folder)


def _remove_unused(folder: str) -> None:
    """Remove a folder that a process left behind which never closed its store."""
    with suppress(OSError):
        if time.time() - os.stat(folder).st_mtime > _UNUSED_SECONDS:
            remove(folder)


def _unlink(folder: str, name: str) -> None:
    with suppress(OSError):
        os.unlink(os.path.join(folder, name))
