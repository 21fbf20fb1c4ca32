"""A collector for Prometheus; needs `pip install 'fencepost[prometheus]'`."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from .. import logs
from ..errors import FencepostError, StoreClosedError
from ..maintenance import Stats
from ..shown import readable
from ..store import Store
from .counts import counts
from .events import StoreEvent

_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0)


class StoreCollector(Collector):
    """Numbers of stores, for a registry of `prometheus_client`.

        collector = StoreCollector()
        REGISTRY.register(collector)
        collector.add(store)

    What this process did, all with the label `store` (the path):

    - `fencepost_events_total`: events but for calls, by `facet` and `kind`;
    - `fencepost_call_seconds`, a histogram of calls, by `facet` and `operation`;
    - `fencepost_call_errors_total`: calls that raised, by `facet`, `operation` and `code`;
    - `fencepost_lock_wait_seconds`, a histogram of the waits for the write lock.

    What is in the file, read at each scrape by `store.stats()`, which counts every row:

    - `fencepost_rows`, by `table` and `state`;
    - `fencepost_feed_lag`: events that a consumer of the feed has yet to pass, by `session`;
    - `fencepost_file_bytes` and `fencepost_wal_bytes`.

    Arguments:
        stats: whether to read what is in the file; of many processes on one file, one will do.
    """

    def __init__(self, *, stats: bool = True) -> None:
        self._with_stats = stats
        self._stores: tuple[Store, ...] = ()
        self._lock = threading.Lock()
        own = CollectorRegistry()
        self._own = own
        self._events = Counter(
            "fencepost_events",
            "What calls did to the store",
            ["store", "facet", "kind"],
            registry=own,
        )
        self._calls = Histogram(
            "fencepost_call_seconds",
            "How long calls took, waits included",
            ["store", "facet", "operation"],
            buckets=_BUCKETS,
            registry=own,
        )
        self._errors = Counter(
            "fencepost_call_errors",
            "Calls that raised an error",
            ["store", "facet", "operation", "code"],
            registry=own,
        )
        self._waits = Histogram(
            "fencepost_lock_wait_seconds",
            "How long writes waited for the write lock",
            ["store"],
            buckets=_BUCKETS,
            registry=own,
        )

    def add(self, store: Store) -> None:
        """Listen to the store, and report it until it is closed."""
        store.hooks.add(self._take)
        with self._lock:
            self._stores = (*(other for other in self._stores if other is not store), store)

    def remove(self, store: Store) -> None:
        """Listen no longer; what was counted stays."""
        store.hooks.remove(self._take)
        with self._lock:
            self._stores = tuple(other for other in self._stores if other is not store)

    def describe(self) -> Iterable[Metric]:
        """The names, without reading a store."""
        yield from self._own.collect()
        yield from _families()

    def collect(self) -> Iterable[Metric]:
        """All numbers as they are now."""
        yield from self._own.collect()
        if self._with_stats:
            families = _families()
            for store in self._stores:
                try:
                    stats = store.stats()
                except StoreClosedError:
                    self.remove(store)
                except FencepostError as error:
                    # One store that can't be read now takes nobody else's numbers away.
                    logs.not_measured(store.path, error)
                else:
                    _fill(families, readable(store.path), stats)
            yield from families

    def _take(self, event: StoreEvent) -> None:
        if event.kind == "call":
            named = (readable(event.path), event.facet, event.operation)
            self._calls.labels(*named).observe(event.seconds or 0.0)
            if event.error is not None:
                self._errors.labels(*named, event.error).inc()
            return
        if event.kind == "busy_wait":
            self._waits.labels(readable(event.path)).observe(event.seconds or 0.0)
        self._events.labels(readable(event.path), event.facet, event.kind).inc()


def _families() -> list[GaugeMetricFamily]:
    return [
        GaugeMetricFamily("fencepost_rows", "Rows by state", labels=["store", "table", "state"]),
        GaugeMetricFamily(
            "fencepost_feed_lag", "Events a consumer has yet to pass", labels=["store", "session"]
        ),
        GaugeMetricFamily("fencepost_file_bytes", "Size of the database", labels=["store"]),
        GaugeMetricFamily("fencepost_wal_bytes", "Size of the log", labels=["store"]),
    ]


def _fill(families: list[GaugeMetricFamily], path: str, stats: Stats) -> None:
    rows, lag, file, log = families
    for table, state, count in counts(stats):
        rows.add_metric([path, table, state], count)
    for session, seq in stats.watermarks.items():
        lag.add_metric([path, session], max(stats.feed["last_seq"] - seq, 0))
    file.add_metric([path], stats.file_bytes)
    log.add_metric([path], stats.wal_bytes)
