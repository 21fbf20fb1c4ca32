"""pgqrs in its SQLite mode, which not every build of it has."""

from __future__ import annotations

import asyncio
from typing import Any

from . import Peer, Unavailable, library

NAME = "pgqrs"
GUARANTEES = "visibility timeouts, archives; its SQLite mode is a build option"


def open(path: str, settings: str) -> Peer:
    """Asynchronous; driven by one event loop."""
    if settings == "equal":
        raise Unavailable("its interface has no way to set synchronous=FULL")
    pgqrs = library("pgqrs")
    loop = asyncio.new_event_loop()
    run = loop.run_until_complete

    async def connect() -> tuple[Any, Any]:
        store = await pgqrs.connect(f"sqlite://{path}?mode=rwc")
        await store.bootstrap()
        await store.queue("bench")
        return await store.producer("bench"), await store.consumer("bench")

    try:
        producer, consumer = run(connect())
    except pgqrs.PgqrsError as error:
        loop.close()
        raise Unavailable(str(error)) from error

    def put(text: str) -> None:
        run(producer.enqueue({"text": text}))

    def take() -> tuple[str, Any] | None:
        messages = run(consumer.dequeue(1))
        return (messages[0].payload["text"], messages[0].id) if messages else None

    def done(identity: Any) -> None:
        run(consumer.archive(identity))

    return Peer(put, take, done, (pgqrs.PgqrsError,), loop.close)
