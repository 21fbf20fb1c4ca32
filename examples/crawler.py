"""A crawler: eight processes fetch each page once, whoever of them is killed, under a progress bar.

    pip install 'fencepost[cli]'                   # for the bar
    python examples/crawler.py                     # 300 pages of a server on this machine
    python examples/crawler.py --kill 3            # three workers are killed while they fetch

What it shows:

- A page is a resource, so putting it again changes nothing: whoever finds a link puts it, and does
  not ask whether somebody knew it. What was found out about the page goes into its status.
- The reconcile queue gives a page to one worker at a time. A page is settled only after its links
  were put, so the crawl is over when the queue is empty, and not before.
- A worker that dies loses nothing: the lease on its page ends, and another worker fetches it. A
  page whose status was written is not fetched again.

A crawl that a power cut ends can be begun anew, so the store is opened with synchronous="normal".
"""

from __future__ import annotations

import argparse
import html.parser
import http.client
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
from collections import Counter
from multiprocessing.context import SpawnProcess

from local_servers import Site, serving
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import fencepost
from fencepost.errors import LeaseLostError, ResourceConflictError

PAGES = "pages"
WORKERS = 8


class Links(html.parser.HTMLParser):
    """The links of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found += [to for name, to in attributes if tag == "a" and name == "href" and to]


def fetch(site: str, path: str, fence: int | None) -> str:
    connection = http.client.HTTPConnection(site, timeout=10)
    try:
        who = {"User-Agent": str(os.getpid()), "Fence": str(fence)}
        connection.request("GET", path, headers=who)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def visit(store: fencepost.Store, site: str, claim: fencepost.QueueClaim, lease_ms: int) -> None:
    """Fetch a page, put what it links to, note the page as visited: in this order."""
    resource = store.resources.get(controller=PAGES, key=claim.key)
    if resource is None or resource.status.observed_generation:
        return
    with store.keep(claim=claim, lease_ms=lease_ms) as lease:
        links = Links(fetch(site, claim.key, claim.fence)).found
        lease.check()
        for link in links:
            find(store, link)
        store.resources.update_status(
            controller=PAGES,
            key=claim.key,
            expected_resource_version=resource.metadata.resource_version,
            status=fencepost.ResourceStatus(1, controller_status={"links": len(links)}),
        )


def find(store: fencepost.Store, path: str) -> None:
    """Make a page known. Looking first is cheaper: a reader needs no turn among the writers."""
    if store.resources.get(controller=PAGES, key=path) is None:
        store.resources.put(controller=PAGES, key=path, spec={}, initial_status={})


def worker(path: str, site: str, lease_ms: int) -> None:
    """Visit pages until there are none left."""
    with fencepost.open(path, synchronous="normal") as store:
        while store.queue.list(limit=1):
            claim = store.queue.claim_next(controllers=[PAGES], lease_ms=lease_ms)
            if claim is None:
                # The others have the rest; their pages may have links, and they may die.
                store.wait(controllers=[PAGES], timeout_ms=100)
                continue
            try:
                visit(store, site, claim, lease_ms)
            except (LeaseLostError, ResourceConflictError):
                continue  # another worker has the page now
            store.queue.settle(claim=claim)


def watch(store: fencepost.Store, workers: list[SpawnProcess]) -> int:
    """Show how far the crawl is until all workers have ended; how many were killed."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, TimeElapsedColumn()) as bar:
        task = bar.add_task("pages", total=None)
        living = {process.sentinel for process in workers}
        while living:
            stats = store.stats()
            found, left = stats.resources["present"], sum(stats.queue.values())
            alive = f"pages, {len(living)} workers"
            bar.update(task, total=found, completed=found - left, description=alive)
            living -= {*multiprocessing.connection.wait(living, timeout=0.1)}
    for process in workers:
        process.join()
    return sum(process.exitcode == -signal.SIGKILL for process in workers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--kill", type=int, default=0, help="how many workers to kill, up to 7")
    parser.add_argument("--lease-ms", type=int, default=3_000)
    parser.add_argument("--log", help="where to write which pages the server was asked for")
    options = parser.parse_args()

    site = Site(options.pages, min(options.kill, WORKERS - 1))
    with tempfile.TemporaryDirectory() as folder, serving(site) as address:
        path = os.path.join(folder, "crawl.sqlite")
        with fencepost.open(path, synchronous="normal") as store:
            find(store, "/page/0")
            spawn = multiprocessing.get_context("spawn")
            arguments = (path, address, options.lease_ms)
            workers = [spawn.Process(target=worker, args=arguments) for _ in range(WORKERS)]
            for process in workers:
                process.start()
            killed = watch(store, workers)
            visited = sum(page.status.observed_generation for page in store.resources.iterate())

    if options.log:
        site.write_log(options.log)
    fetches = Counter(line["path"] for line in site.log)
    again = sum(times - 1 for times in fetches.values())
    print(f"pages visited: {visited}, fetches: {len(site.log)}, workers killed: {killed}")
    if visited != options.pages or len(fetches) != options.pages:
        sys.exit("a page was missed")
    if again > killed:
        sys.exit(f"{again} fetches were of pages that no killed worker had")


if __name__ == "__main__":
    main()
