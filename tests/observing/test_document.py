"""docs/observing.md is true: its table is what happens; tests/docs runs its examples."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from fencepost import Store
from fencepost.observing import StoreEvent
from fencepost.observing.told import OPERATIONS
from tests.support import SetClock, at, enqueue, put

DOCUMENT = (Path(__file__).parents[2] / "docs" / "observing.md").read_text("utf-8")
COMMON = {"kind", "facet", "operation", "path", "engine"}


def documented() -> dict[tuple[str, str], set[str]]:
    """By facet and kind, the fields that the table gives."""
    rows = re.findall(r"^\| (\w+) \| `(\w+)` \| .* \| (`[^|]*`) \|$", DOCUMENT, re.MULTILINE)
    return {(facet, kind): set(re.findall(r"`(\w+)`", names)) for facet, kind, names in rows}


def test_the_table_has_each_kind_and_its_fields(
    open_store: Callable[..., Store], clock: SetClock
) -> None:
    told: list[StoreEvent] = []
    store = open_store(hooks=[told.append])
    do_everything(store, clock)
    found: dict[tuple[str, str], set[str]] = {}
    for event in told:
        named = ("any" if event.kind in ("busy", "call") else event.facet, event.kind)
        found.setdefault(named, set()).update(set(event.to_dict()) - COMMON)
    assert {event.operation for event in told} >= {name for _, name, _ in OPERATIONS.values()}
    table = documented()
    # Those two are for tests/processes/test_holders.py.
    assert table.pop(("any", "busy")) == {"seconds", "holders"}
    assert table.pop(("any", "busy_wait")) == {"seconds"}
    assert found == table


def do_everything(store: Store, clock: SetClock) -> None:
    uid = put(store, now=None).metadata.uid
    for run in ("a", "b"):
        enqueue(store, run, now=None)
    good, lost = {"run_id": "a", "claim_token": "t-a"}, {"run_id": "a", "claim_token": "no"}
    store.runs.renew(**good, lease_ms=1000)
    store.runs.verify(**lost)
    store.runs.park(**good)
    source = {"runner_id": "x", "lease_ms": 1, "workflow_name": "w", "workflow_source_ref": "v"}
    store.runs.repair_source(**good, **source)
    clock.advance(1000)
    store.runs.renew(**good, lease_ms=1)
    store.runs.claim_legacy_source(**good, **source, old_workflow_path="v")
    store.runs.complete(**good)
    store.runs.claim_next(runner_id="x", lease_ms=1, claim_token="t")
    store.runs.delete(run_id="b", claim_token="t")

    store.queue.enqueue(controller="ctl", key="k")
    claim = store.queue.claim_next(controllers=["ctl"], lease_ms=1)
    assert claim is not None
    store.queue.renew(claim=claim, lease_ms=1)
    clock.advance(1)
    store.queue.renew(claim=claim, lease_ms=1)
    store.queue.requeue(claim=claim, available_at=at())
    again = store.queue.claim_next(controllers=["ctl"], lease_ms=1)
    assert again is not None
    store.queue.settle(claim=claim)
    store.queue.settle(claim=again)

    store.effects.reserve(
        key="e", resource_uid=uid, generation=1, kind="x", request_fingerprint="f"
    )
    store.effects.update(key="e", resource_uid=uid, state="pending")
    request = store.requests.reserve(
        resource_uid=uid, request_key="q", workflow="w", input_fingerprint="f"
    ).record
    store.requests.update(request_id=request.request_id, state="running")
    store.events.record(controller="ctl", key="k", type="t")
    seq = store.feed.record(run_id="a", workflow_ref="w", type="t")
    store.feed.set_watermark(session_id="s", seq=seq)

    name = {"controller": "ctl", "key": "k"}
    resource = store.resources.update_status(
        **name, expected_resource_version=1, status={"observed_generation": 1}
    )
    version = {"expected_resource_version": resource.metadata.resource_version}
    resource = store.resources.update_finalizers(**name, **version, finalizers=[])
    resource = store.resources.request_deletion(**name)
    version = {"expected_resource_version": resource.metadata.resource_version}
    store.resources.delete(**name, **version)

    store.prune(events_before=at(10_000))
    store.checkpoint()
    try:
        store.resources.request_deletion(controller="c", key="gone")
    except LookupError:
        return
    raise AssertionError("nothing was there to be deleted")
