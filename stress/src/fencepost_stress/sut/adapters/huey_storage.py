"""huey's SqliteStorage: taking an item removes it, by design at most once."""

from __future__ import annotations

import huey
from huey.storage import SqliteStorage

from ..adapter import Adapter, Claim, Item, Place
from ..capabilities import Capabilities


class HueySqliteStorage(Adapter):
    capabilities = Capabilities(
        name="huey SqliteStorage",
        version=huey.__version__,
        lease="taken",
        promises={
            "F1": "huey.storage, BaseStorage.dequeue: 'Atomically remove data from the queue.'",
            "S1": "the same; and docs, sqlite: 'can safely be used with a multi-process, "
            "multi-thread, or multi-greenlet consumer'",
            "Q1": "BaseStorage.dequeue: 'If no data is available, no data is returned.'",
        },
        excused={
            "F2": "docs, consumer: 'does not do acknowledgement of completed tasks'",
            "C1": "there are no parents",
        },
    )

    def __init__(self, place: Place) -> None:
        self._storage = SqliteStorage("stress", filename=str(place.directory / "huey.db"))

    def enqueue(self, run: str, parent: str | None) -> None:
        self._storage.enqueue(run.encode())

    def claim(self, wait_ms: int) -> Claim | None:
        data = self._storage.dequeue()
        return None if data is None else Claim(bytes(data).decode(), None)

    def dump(self) -> list[Item]:
        return [Item(bytes(data).decode(), "waiting") for data in self._storage.enqueued_items()]

    def close(self) -> None:
        self._storage.close()
