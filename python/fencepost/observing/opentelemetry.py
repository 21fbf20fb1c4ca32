"""Metrics and span events for OpenTelemetry; needs `pip install 'fencepost[opentelemetry]'`.

Only the API is used: without an SDK in the application all of it does nothing. A call is
no span of its own, because a store makes thousands in a second; what it did becomes an
event of the span that the application has open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opentelemetry import metrics, trace
from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

from .._version import __version__
from ..errors import StoreClosedError
from ..shown import readable
from ..store import Store
from .counts import counts
from .events import StoreEvent

_OF_THE_EVENT = frozenset({"kind", "facet", "operation", "path", "engine", "holders"})


class OpenTelemetry:
    """A listener that measures: `fencepost.open(path, hooks=[OpenTelemetry()])`.

    One may listen to many stores. The instruments, all with the attributes
    `fencepost.store` (the path) and `fencepost.engine`:

    - `fencepost.events`, a counter of events but for calls, by `fencepost.facet` and
      `fencepost.kind`, and `fencepost.workflow` or `fencepost.controller` where it has one;
    - `fencepost.call.duration`, a histogram in seconds, by `fencepost.facet`,
      `fencepost.operation`, and `error.type` where the call raised;
    - `fencepost.lock.wait.duration`, a histogram in seconds, of the waits for the lock;
    - `fencepost.rows`, a gauge, only of stores given to `gauge`.

    Arguments:
        meter_provider: whose meter to use; default the global one.
        span_events: whether to add the events, but for calls, to the current span as
            `fencepost.<facet>.<kind>`, with their fields as attributes.
    """

    def __init__(
        self, *, meter_provider: MeterProvider | None = None, span_events: bool = True
    ) -> None:
        self._span_events = span_events
        self._meter = metrics.get_meter("fencepost", __version__, meter_provider)
        self._events = self._meter.create_counter(
            "fencepost.events", unit="{event}", description="What calls did to the store"
        )
        self._calls = self._meter.create_histogram(
            "fencepost.call.duration", unit="s", description="How long calls took, waits included"
        )
        self._waits = self._meter.create_histogram(
            "fencepost.lock.wait.duration",
            unit="s",
            description="How long writes waited for the write lock",
        )

    def __call__(self, event: StoreEvent) -> None:
        """Take one event."""
        store = {"fencepost.store": readable(event.path), "fencepost.engine": event.engine}
        if event.kind == "call":
            attributes = {
                **store,
                "fencepost.facet": event.facet,
                "fencepost.operation": event.operation,
            }
            if event.error is not None:
                attributes["error.type"] = event.error
            self._calls.record(event.seconds or 0.0, attributes)
            return
        if event.kind == "busy_wait":
            self._waits.record(event.seconds or 0.0, store)
        attributes = {**store, "fencepost.facet": event.facet, "fencepost.kind": event.kind}
        if event.workflow_name is not None:
            attributes["fencepost.workflow"] = event.workflow_name
        if event.controller is not None:
            attributes["fencepost.controller"] = event.controller
        self._events.add(1, attributes)
        if self._span_events:
            _add_to_span(event)

    def gauge(self, store: Store) -> None:
        """Report the store's row counts, `fencepost.rows`, at each collection until it closes.

        It reads `store.stats()`, which counts every row: give one process of many the task.
        The attributes are `fencepost.store`, `fencepost.table` and `fencepost.state`.
        """

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            try:
                stats = store.stats()
            except StoreClosedError:
                return ()
            return list(_observations(readable(store.path), counts(stats)))

        self._meter.create_observable_gauge(
            "fencepost.rows",
            callbacks=[observe],
            unit="{row}",
            description="Rows of the store by table and state",
        )


def _add_to_span(event: StoreEvent) -> None:
    span = trace.get_current_span()
    if span.is_recording():
        fields = {
            f"fencepost.{name}": value
            for name, value in event.to_dict().items()
            if name not in _OF_THE_EVENT
        }
        span.add_event(f"fencepost.{event.facet}.{event.kind}", fields)


def _observations(path: str, rows: Iterable[tuple[str, str, int]]) -> Iterator[Observation]:
    for table, state, count in rows:
        attributes = {"fencepost.store": path, "fencepost.table": table, "fencepost.state": state}
        yield Observation(count, attributes)
