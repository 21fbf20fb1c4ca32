"""A database with something in it, which nobody has open."""

from __future__ import annotations

import os

from fencepost import Store
from tests.support import at, enqueue, park, put


def fill(store: Store) -> None:
    uid = put(store).metadata.uid
    enqueue(store)
    park(store, "parked")
    store.effects.reserve(
        key="e", resource_uid=uid, generation=1, kind="x", request_fingerprint="f", now=at()
    )
    store.requests.reserve(resource_uid=uid, request_key="q", workflow="w", input_fingerprint="f")
    store.events.record(controller="ctl", key="k", type="t", now=at())
    store.feed.record(run_id="r", workflow_ref="w", type="t", now=at())
    store.feed.set_watermark(session_id="s", seq=1, now=at())


def beside(path: str) -> list[str]:
    return sorted(os.listdir(os.path.dirname(path)))
