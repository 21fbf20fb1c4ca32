"""The OpenTelemetry adapter, against the SDK with its exporters in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fencepost import Store
from fencepost.observing.opentelemetry import OpenTelemetry
from tests.support import SetClock, at, enqueue, put, refused

Points = dict[tuple[Any, ...], Any]


@pytest.fixture
def reader() -> InMemoryMetricReader:
    return InMemoryMetricReader()


@pytest.fixture
def provider(reader: InMemoryMetricReader) -> Iterator[MeterProvider]:
    made = MeterProvider([reader], shutdown_on_exit=False)
    yield made
    made.shutdown()


@pytest.fixture
def adapter(provider: MeterProvider) -> OpenTelemetry:
    return OpenTelemetry(meter_provider=provider)


@pytest.fixture
def store(open_store: Callable[..., Store], adapter: OpenTelemetry) -> Store:
    return open_store(hooks=[adapter])


def points(reader: InMemoryMetricReader, name: str, *by: str) -> Points:
    """A metric's values (of a histogram, count and sum) by these attributes."""
    data = reader.get_metrics_data()
    found: Points = {}
    for resource in data.resource_metrics if data is not None else ():
        for scope in resource.scope_metrics:
            assert scope.scope.name == "fencepost"
            for metric in scope.metrics:
                for point in metric.data.data_points if metric.name == name else ():
                    attributes = dict(point.attributes or {})
                    key = tuple(attributes.pop(attribute, None) for attribute in by)
                    histogram = isinstance(point, HistogramDataPoint)
                    found[key] = (point.count, point.sum) if histogram else point.value
    return found


def test_events_are_counted(store: Store, reader: InMemoryMetricReader, clock: SetClock) -> None:
    for run in ("a", "b"):
        enqueue(store, run, now=None)
    store.runs.complete(run_id="a", claim_token="t-a")
    store.runs.complete(run_id="b", claim_token="wrong")
    put(store, now=None)
    store.queue.claim_next(controllers=["ctl"], lease_ms=1)
    by = ("fencepost.facet", "fencepost.kind", "fencepost.workflow", "fencepost.controller")
    assert points(reader, "fencepost.events", *by) == {
        ("runs", "enqueue", "w", None): 2,
        ("runs", "complete", None, None): 1,
        ("runs", "lost", "w", None): 1,
        ("resources", "put", None, "ctl"): 1,
        ("queue", "claim", None, "ctl"): 1,
    }
    of = (store.path, store.engine_name)
    assert set(points(reader, "fencepost.events", "fencepost.store", "fencepost.engine")) == {of}


def test_calls_are_timed(store: Store, reader: InMemoryMetricReader) -> None:
    enqueue(store, "a")
    enqueue(store, "b")
    with refused("resource_not_found"):
        store.resources.request_deletion(controller="c", key="k")
    by = ("fencepost.facet", "fencepost.operation", "error.type")
    found = points(reader, "fencepost.call.duration", *by)
    counted = {key: count for key, (count, _) in found.items()}
    assert counted == {
        ("runs", "enqueue", None): 2,
        ("resources", "request_deletion", "resource_not_found"): 1,
    }
    assert all(0 < seconds < 60 for _, seconds in found.values())


def test_waits_are_measured(
    store: Store, adapter: OpenTelemetry, reader: InMemoryMetricReader
) -> None:
    store._telling.waited(0.25)
    store._telling.waited(0.5)
    assert points(reader, "fencepost.lock.wait.duration", "fencepost.store") == {
        (store.path,): (2, 0.75)
    }


def test_rows_are_gauged_until_the_store_is_closed(
    store: Store, adapter: OpenTelemetry, reader: InMemoryMetricReader
) -> None:
    adapter.gauge(store)
    enqueue(store, "a", now=at())
    store.feed.record(run_id="a", workflow_ref="w", type="t")
    by = ("fencepost.store", "fencepost.table", "fencepost.state")
    found = points(reader, "fencepost.rows", *by)
    assert found[(store.path, "runs", "claimed")] == 1
    assert found[(store.path, "runs", "done")] == 0
    assert found[(store.path, "feed", "present")] == 1
    assert len(found) == 4 + 3 + 2 + 4 + 6 + 2
    store.close()
    assert points(reader, "fencepost.rows", *by) == {}


def test_events_become_events_of_the_current_span(store: Store) -> None:
    exporter = InMemorySpanExporter()
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    enqueue(store, "r", claim_token="s3cret", input={"password": "s3cret"})
    with tracers.get_tracer("app").start_as_current_span("work"):
        store.runs.renew(run_id="r", claim_token="s3cret", lease_ms=2000, now=at())
        store.runs.complete(run_id="r", claim_token="other", now=at())
        store.runs.get(run_id="r")
    (span,) = exporter.get_finished_spans()
    assert [(event.name, dict(event.attributes or {})) for event in span.events] == [
        ("fencepost.runs.renew", {"fencepost.key": "r", "fencepost.lease_ms": 2000}),
        (
            "fencepost.runs.lost",
            {
                "fencepost.key": "r",
                "fencepost.workflow_name": "w",
                "fencepost.runner_id": "alice",
                "fencepost.fence": 1,
            },
        ),
    ]
    assert "s3cret" not in span.to_json()
    tracers.shutdown()


def test_span_events_can_be_left_out(
    open_store: Callable[..., Store], provider: MeterProvider
) -> None:
    exporter = InMemorySpanExporter()
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    store = open_store(hooks=[OpenTelemetry(meter_provider=provider, span_events=False)])
    with tracers.get_tracer("app").start_as_current_span("work"):
        enqueue(store, "r")
    (span,) = exporter.get_finished_spans()
    assert span.events == ()
    tracers.shutdown()


def test_the_api_alone_is_enough(engine: str, tmp_path: Any) -> None:
    """Without the SDK it does nothing, and says nothing."""
    code = (
        "import sys\n"
        "sys.modules['opentelemetry.sdk'] = None\n"
        "import fencepost\n"
        "from fencepost.observing.opentelemetry import OpenTelemetry\n"
        "adapter = OpenTelemetry()\n"
        "with fencepost.open(sys.argv[1], engine=sys.argv[2], hooks=[adapter]) as store:\n"
        "    adapter.gauge(store)\n"
        "    store.feed.record(run_id='r', workflow_ref='w', type='t')\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "s"), engine],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
