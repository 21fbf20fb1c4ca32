"""A reconcile loop with effects: desired servers against the HTTP API of a cloud, created once.

    python examples/reconcile.py            # three controllers, a cloud that fails now and then
    python examples/reconcile.py --kill 2   # two die after the cloud has created, before they know

What it shows:

- Level-triggered: a controller that claims a key reads what is wanted now, compares it with what
  there is, and makes up the difference. It never asks what has happened, so a change that comes
  meanwhile, a repetition or a crash needs no case of its own.
- An effect is reserved before the call and records the answer after it. Who finds one that is
  pending does not know whether the call was made, and makes it again under the same idempotency
  key; the cloud answers as it did the first time. So a server is created once.
- The claim's fence goes with each change, and the cloud refuses one of an earlier owner.
- A finalizer keeps a resource until what was made for it outside is gone.
- What fails is due again later, the later the more often it has failed in a row.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import wait as wait_for_any
from multiprocessing.context import SpawnProcess
from typing import Any

from local_servers import Cloud, serving

import fencepost
from fencepost.errors import LeaseLostError, ResourceConflictError

SERVERS = "servers"
CLEAN_UP = "cloud-server"
LEASE_MS = 2_000


class CloudError(Exception):
    """The cloud did not do it, or did not say that it did."""


class CloudClient:
    """A client of the cloud's API, for the work on one claim."""

    def __init__(self, address: str, lease: fencepost.Lease) -> None:
        self._address, self._lease = address, lease

    def call(self, method: str, path: str, body: Any = None, key: str = "") -> dict[str, Any]:
        self._lease.check()
        headers = {"Fence": str(self._lease.fence), "User-Agent": str(os.getpid())}
        connection = http.client.HTTPConnection(self._address, timeout=5)
        try:
            headers["Idempotency-Key"] = key
            connection.request(method, path, json.dumps(body), headers)
            response = connection.getresponse()
            answer: dict[str, Any] = json.loads(response.read())
        except OSError as error:
            raise CloudError(f"{method} {path}: {error}") from error
        finally:
            connection.close()
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            raise CloudError(f"{method} {path}: {response.status} {answer}")
        return answer


def created(store: fencepost.Store, cloud: CloudClient, resource: fencepost.Resource) -> str:
    """The id of the resource's server, which is created where it is not there yet.

    The request says nothing of the spec: it must be the same whenever it is repeated. So the
    effect serves the first generation, whichever it is now.
    """
    uid, request = resource.metadata.uid, {"name": resource.metadata.key}
    effect = store.effects.reserve(
        key="create",
        resource_uid=uid,
        generation=1,
        kind="create-server",
        request_fingerprint=fencepost.fingerprint(request),
    ).record
    if effect.state != "applied":
        answer = cloud.call("POST", "/servers", request, key=uid)
        effect = store.effects.update(
            resource_uid=uid, key="create", state="applied", external_ref=answer["id"]
        )
    return effect.external_ref or ""


def reconcile(store: fencepost.Store, cloud: CloudClient, resource: fencepost.Resource) -> None:
    """Make the cloud as the resource wants it, from whatever state either is in."""
    key, meta = resource.metadata.key, resource.metadata
    if CLEAN_UP not in meta.finalizers and meta.deletion_timestamp is None:
        meta = set_finalizers(store, meta, [CLEAN_UP])  # before there is anything to clean up
    if meta.deletion_timestamp is None:
        server = created(store, cloud, resource)
        cloud.call("PUT", f"/servers/{server}", resource.spec)
        store.resources.update_status(
            controller=SERVERS,
            key=key,
            expected_resource_version=meta.resource_version,
            status=fencepost.ResourceStatus(meta.generation, controller_status={"server": server}),
        )
        return
    if CLEAN_UP in meta.finalizers:
        cloud.call("DELETE", f"/servers/{created(store, cloud, resource)}")
        meta = set_finalizers(store, meta, [])
    store.resources.delete(
        controller=SERVERS, key=key, expected_resource_version=meta.resource_version
    )


def set_finalizers(
    store: fencepost.Store, meta: fencepost.ResourceMetadata, finalizers: list[str]
) -> fencepost.ResourceMetadata:
    return store.resources.update_finalizers(
        controller=SERVERS,
        key=meta.key,
        expected_resource_version=meta.resource_version,
        finalizers=finalizers,
    ).metadata


def controller(path: str, address: str) -> None:
    """Reconcile what is due until the process is ended; one that waits holds nothing."""
    with fencepost.open(path) as store:
        while True:
            claim = store.queue.claim_next(controllers=[SERVERS], lease_ms=LEASE_MS)
            if claim is None:
                store.wait(controllers=[SERVERS])
                continue
            try:
                with store.keep(claim=claim, lease_ms=LEASE_MS) as lease:
                    resource = store.resources.get(controller=SERVERS, key=claim.key)
                    if resource is not None:
                        reconcile(store, CloudClient(address, lease), resource)
            except LeaseLostError:
                continue  # it is another controller's now
            except (CloudError, ResourceConflictError) as error:
                delay = timedelta(milliseconds=min(50 * 2**claim.consecutive_errors, 5_000))
                again = datetime.now(UTC) + delay
                store.queue.requeue(claim=claim, available_at=again, error=str(error))
                continue
            store.queue.settle(claim=claim)  # stays due where the spec changed meanwhile


def want(store: fencepost.Store, names: Iterable[str], size: int) -> None:
    for name in names:
        store.resources.put(controller=SERVERS, key=name, spec={"size": size}, initial_status={})


def until_settled(store: fencepost.Store, controllers: list[SpawnProcess]) -> None:
    while store.queue.list(limit=1):
        ended = wait_for_any([process.sentinel for process in controllers], timeout=0.1)
        if len(ended) == len(controllers):
            sys.exit("no controller is left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", type=int, default=12)
    parser.add_argument("--kill", type=int, default=1, help="how many controllers to kill, up to 2")
    parser.add_argument("--log", help="where to write what the cloud created and deleted")
    options = parser.parse_args()

    names = [f"web-{number}" for number in range(options.servers)]
    leaving, staying = names[::4], sorted({*names} - {*names[::4]})
    cloud = Cloud(min(options.kill, 2))
    with tempfile.TemporaryDirectory() as folder, serving(cloud) as address:
        path = os.path.join(folder, "servers.sqlite")
        with fencepost.open(path) as store:
            spawn = multiprocessing.get_context("spawn")
            controllers = [spawn.Process(target=controller, args=(path, address)) for _ in range(3)]
            try:
                for process in controllers:
                    process.start()
                want(store, names, 1)
                until_settled(store, controllers)
                for size in (2, 4, 8):  # faster than the controllers follow
                    want(store, names, size)
                for name in leaving:
                    store.resources.request_deletion(controller=SERVERS, key=name)
                until_settled(store, controllers)
            finally:
                for process in controllers:
                    process.kill()
                    process.join()
            kept = [resource.metadata.key for resource in store.resources.iterate()]

    if options.log:
        cloud.write_log(options.log)
    made = Counter(line["created"] for line in cloud.log if "created" in line)
    there = {server["name"]: server["size"] for server in cloud.servers.values()}
    deleted = sum("deleted" in line for line in cloud.log)
    print(
        f"servers created: {sum(made.values())}, deleted: {deleted}, "
        f"there: {len(there)}, controllers killed: {cloud.killed}"
    )
    if there != dict.fromkeys(staying, 8) or kept != staying:
        sys.exit(f"there are {there}, and the resources {kept}")
    if made != Counter(names):
        sys.exit(f"not each was created once: {made}")


if __name__ == "__main__":
    main()
