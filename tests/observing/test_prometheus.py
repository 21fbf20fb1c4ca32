"""The Prometheus collector: what a scrape reads, as the client library's parser reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from fencepost import Store
from fencepost.observing.prometheus import StoreCollector
from tests.support import at, enqueue, park, put, refused

Samples = dict[tuple[str, ...], float]


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def collector(registry: CollectorRegistry) -> StoreCollector:
    made = StoreCollector()
    registry.register(made)
    return made


@pytest.fixture
def store(open_store: Callable[..., Store], collector: StoreCollector) -> Store:
    made = open_store()
    collector.add(made)
    return made


def scrape(registry: CollectorRegistry, name: str, *by: str) -> Samples:
    """The samples of one name by these labels, out of the text that a scrape gets."""
    text = generate_latest(registry).decode()
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name:
                key = tuple(sample.labels[label] for label in by)
                assert key not in found, f"{name}{sample.labels} twice"
                found[key] = sample.value
    return found


def test_what_this_process_did(store: Store, registry: CollectorRegistry) -> None:
    enqueue(store, "a")
    enqueue(store, "b")
    store.runs.complete(run_id="a", claim_token="t-a")
    store.runs.complete(run_id="a", claim_token="t-a")
    with refused("resource_not_found"):
        store.resources.request_deletion(controller="c", key="k")
    by = ("store", "facet", "kind")
    assert scrape(registry, "fencepost_events_total", *by) == {
        (store.path, "runs", "enqueue"): 2,
        (store.path, "runs", "complete"): 1,
        (store.path, "runs", "lost"): 1,
    }
    by = ("store", "facet", "operation")
    assert scrape(registry, "fencepost_call_seconds_count", *by) == {
        (store.path, "runs", "enqueue"): 2,
        (store.path, "runs", "complete"): 2,
        (store.path, "resources", "request_deletion"): 1,
    }
    assert all(
        0 < seconds < 60 for seconds in scrape(registry, "fencepost_call_seconds_sum", *by).values()
    )
    assert scrape(registry, "fencepost_call_errors_total", *by, "code") == {
        (store.path, "resources", "request_deletion", "resource_not_found"): 1
    }


def test_what_is_in_the_file(store: Store, registry: CollectorRegistry) -> None:
    park(store, "a")
    enqueue(store, "b", now=at())
    put(store)
    for _ in range(3):
        store.feed.record(run_id="a", workflow_ref="w", type="t")
    store.feed.set_watermark(session_id="behind", seq=1)
    store.feed.set_watermark(session_id="ahead", seq=9)
    rows = scrape(registry, "fencepost_rows", "store", "table", "state")
    assert {key[1:]: value for key, value in rows.items() if value} == {
        ("runs", "parked"): 1,
        ("runs", "claimed"): 1,
        ("queue", "waiting"): 1,
        ("resources", "present"): 1,
        ("feed", "present"): 3,
    }
    assert len(rows) == 4 + 3 + 2 + 4 + 6 + 2
    assert scrape(registry, "fencepost_feed_lag", "session") == {("behind",): 2, ("ahead",): 0}
    stats = store.stats()
    assert scrape(registry, "fencepost_file_bytes", "store") == {(store.path,): stats.file_bytes}
    assert scrape(registry, "fencepost_wal_bytes", "store") == {(store.path,): stats.wal_bytes}


def test_waits(store: Store, registry: CollectorRegistry) -> None:
    store._telling.waited(0.25)
    store._telling.waited(0.5)
    assert scrape(registry, "fencepost_lock_wait_seconds_sum", "store") == {(store.path,): 0.75}
    below = scrape(registry, "fencepost_lock_wait_seconds_bucket", "le")
    assert (below[("0.1",)], below[("0.5",)], below[("+Inf",)]) == (0, 2, 2)


def test_many_stores_until_they_are_closed(
    store: Store,
    collector: StoreCollector,
    registry: CollectorRegistry,
    open_store: Callable[..., Store],
    tmp_path: Any,
) -> None:
    other = open_store(tmp_path / "other")
    collector.add(other)
    collector.add(other)
    enqueue(store, "a")
    enqueue(other, "a")
    assert len(scrape(registry, "fencepost_file_bytes", "store")) == 2
    other.close()
    assert set(scrape(registry, "fencepost_file_bytes", "store")) == {(store.path,)}
    assert set(scrape(registry, "fencepost_events_total", "store")) == {
        (store.path,),
        (other.path,),
    }, "what was counted stays"
    collector.remove(store)
    enqueue(store, "b")
    assert scrape(registry, "fencepost_events_total", "store") == {
        (store.path,): 1,
        (other.path,): 1,
    }
    assert scrape(registry, "fencepost_file_bytes", "store") == {}


def test_a_store_that_can_not_be_read_takes_nothing_from_the_others(
    store: Store,
    collector: StoreCollector,
    registry: CollectorRegistry,
    open_store: Callable[..., Store],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    other = open_store(tmp_path / "other")
    collector.add(other)
    drop = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('DROP TABLE effects')"
    subprocess.run([sys.executable, "-c", drop, other.path], check=True)
    assert set(scrape(registry, "fencepost_file_bytes", "store")) == {(store.path,)}
    assert f"{other.path}: not in the metrics" in caplog.text


def test_without_reading_the_file(open_store: Callable[..., Store]) -> None:
    registry, collector = CollectorRegistry(), StoreCollector(stats=False)
    registry.register(collector)
    store = open_store()
    collector.add(store)
    enqueue(store, "a")
    text = generate_latest(registry).decode()
    names = {
        family.name.removesuffix("_created") for family in text_string_to_metric_families(text)
    }
    assert names == {
        "fencepost_events",
        "fencepost_call_seconds",
        "fencepost_call_errors",
        "fencepost_lock_wait_seconds",
    }


def test_the_names_do_not_collide(registry: CollectorRegistry, collector: StoreCollector) -> None:
    with pytest.raises(ValueError, match="fencepost_"):
        registry.register(StoreCollector())


def test_a_path_that_is_no_text(
    open_store: Callable[..., Store],
    collector: StoreCollector,
    registry: CollectorRegistry,
    tmp_path: Any,
) -> None:
    store = open_store(tmp_path / os.fsdecode(b"caf\xe9"))
    collector.add(store)
    enqueue(store, "a")
    shown = f"{tmp_path}/caf\ufffd"
    assert scrape(registry, "fencepost_events_total", "store") == {(shown,): 1}
    assert set(scrape(registry, "fencepost_wal_bytes", "store")) == {(shown,)}
