"""Waking other processes that have the same file open, by sockets in a folder beside it.

Who wants to be woken binds a datagram socket in the folder; who has news sends a byte to
each name that it finds there, or to the first. It is all only a hint: a dead process
leaves a socket that refuses and is cleared away by whoever finds it, a full one has been
woken already, and where sockets do not work everybody polls.

The folder is there only while somebody waits, so that looking for waiters is one failing
system call when there are none. `rust/fencepost-core/src/rendezvous.rs` keeps to the same
names.
"""

from __future__ import annotations

import itertools
import os
import socket
import time
from contextlib import suppress

_LONGEST_ADDRESS = 100
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


def wake(folder: str, name: str) -> bool:
    """Wake the one under this name; False where it is dead, or gone."""
    try:
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
            _Address(folder, name) as address,
        ):
            sender.setblocking(False)
            sender.sendto(b"!", address)
    except BlockingIOError:
        return True
    except ConnectionRefusedError:
        _remove(folder, name)
        return False
    except OSError:
        return False
    return True


def wake_all(folder: str) -> None:
    """Wake everybody in a folder."""
    for name in names(folder):
        wake(folder, name)


class Place:
    """A place in a folder: once taken, a bound socket, named by the time of its arrival.

    Whatever comes out of `take`, `leave` gives back all that was taken.

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
        # Whoever leaves as the last removes the folder, perhaps between the two steps.
        for _ in range(10):
            try:
                os.makedirs(self._folder, 0o700, exist_ok=True)
                with _Address(self._folder, self.name) as address:
                    self._socket.bind(address)
            except FileNotFoundError:
                continue
            except OSError:
                break
            else:
                return
        self.leave()

    def fileno(self) -> int:
        """The descriptor that becomes readable when somebody wakes this one; -1 for none."""
        return -1 if self._socket is None else self._socket.fileno()

    def sleep(self, seconds: float) -> bool:
        """Sleep until woken, or for so long; whether it was woken."""
        if self._socket is None:
            time.sleep(seconds)
            return False
        self._socket.settimeout(max(seconds, 0.0))
        try:
            self._socket.recv(1)
        except (TimeoutError, BlockingIOError):
            return False
        self.drain()
        return True

    def drain(self) -> None:
        """Forget what woke this one: news of the same kind counts once."""
        if self._socket is not None:
            self._socket.setblocking(False)
            with suppress(BlockingIOError):
                while self._socket.recv(1):
                    continue

    def leave(self) -> None:
        """Give the place up; the last one to leave removes the folder."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            _remove(self._folder, self.name)


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


def _remove(folder: str, name: str) -> None:
    with suppress(OSError):
        os.unlink(os.path.join(folder, name))
    with suppress(OSError):
        os.rmdir(folder)
        os.rmdir(os.path.dirname(folder))
