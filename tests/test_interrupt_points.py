"""Ctrl-C at every point of a call where Python looks for signals, one after the other."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost.store import engine_of
from tests.support import enqueue, refused

pytestmark = pytest.mark.skipif(
    sys.implementation.name != "cpython", reason="says where CPython looks for signals"
)

PACKAGE = str(Path(fencepost.__file__).parent)
MOST_POINTS = 5_000


class Interrupter:
    """Raises KeyboardInterrupt at the nth place where the interpreter looks for signals.

    These are the beginning of a function and the end of a call into C, within the package.
    """

    def __init__(self, point: int, spared: tuple[str, ...] = ()) -> None:
        self.left, self._spared = point, spared

    def __call__(self, frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        if event not in ("call", "c_return") or not code.co_filename.startswith(PACKAGE):
            return
        if code.co_name in self._spared:
            return
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def interrupted(self, call: Callable[[], Any]) -> bool:
        """Whether the call was interrupted; False where it ended first."""
        sys.setprofile(self)
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(None)
        return False


def sockets() -> list[str]:
    """The sockets that this process has open, as Linux lists them."""
    files = [os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if entry.is_symlink()]
    return sorted(name for name in files if name.startswith("socket:"))


def is_free(engine: Any) -> bool:
    """Whether another thread gets the connection, and finds no transaction."""
    got: list[bool] = []

    def look() -> None:
        with engine._lock:
            got.append(not engine._inside and not engine._sqlite.in_transaction)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(10)
    return got == [True]


def refused_write(store: fencepost.Store) -> None:
    with refused("effect_not_found"):
        store.effects.update(resource_uid="u", key="k", state="applied")


CALLS: dict[str, Callable[[fencepost.Store], Any]] = {
    "a read": lambda store: store.feed.latest_seq(),
    "a write": lambda store: store.feed.record(run_id="r", workflow_ref="w", type="t"),
    "a lost claim": lambda store: store.runs.park(run_id="r", claim_token="lost"),
    "a refusal": refused_write,
    "a claim": lambda store: store.runs.claim_next(runner_id="a", lease_ms=5),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_leaves_neither_lock_nor_transaction(name: str, path: str) -> None:
    with fencepost.open(path, engine="python", synchronous="off") as store:
        enqueue(store)
        engine: Any = engine_of(store)
        CALLS[name](store)
        for point in range(1, MOST_POINTS):
            if not Interrupter(point).interrupted(lambda: CALLS[name](store)):
                break
            assert is_free(engine), f"{name}: interrupted at point {point}"
        assert 5 < point < MOST_POINTS - 1
        CALLS[name](store)


def test_an_interrupted_wait_leaves_no_socket(path: str, engine: str) -> None:
    with fencepost.open(path, engine=engine, synchronous="off") as store:
        store.wait(feed_after=0, timeout_ms=0)
        before, bells = sockets(), f"{path}-fencepost/bells"
        for point in range(1, MOST_POINTS):
            # Whoever is interrupted while leaving has its socket closed by Python, and its
            # name cleared away by whoever finds it.
            interrupter = Interrupter(point, spared=("leave", "_unlink"))
            if not interrupter.interrupted(lambda: store.wait(feed_after=0, timeout_ms=0)):
                break
            assert not os.listdir(bells), f"interrupted at point {point}"
            assert sockets() == before, f"interrupted at point {point}"
        assert 5 < point < MOST_POINTS - 1
