"""The other side of the examples: HTTP servers on this machine, with a log and a hand that kills.

Each request says by which process it is made (`User-Agent`) and under which fence (`Fence`). So a
server can kill its caller at the worst moment: it has done what was asked, and not yet answered.
"""

from __future__ import annotations

import http.server
import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any


class NoAnswer(Exception):
    """The caller is dead."""


class LocalServer(http.server.ThreadingHTTPServer):
    """One request at a time; keeps a log of what it has done."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.log: list[dict[str, Any]] = []
        self.killed = 0
        self.lock = threading.Lock()

    def answer(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, str]:
        """The status and the text that answer a request."""
        raise NotImplementedError

    def kill(self, headers: Mapping[str, str]) -> None:
        os.kill(int(headers["User-Agent"]), signal.SIGKILL)
        self.killed += 1
        raise NoAnswer

    def write_log(self, path: str) -> None:
        Path(path).write_text("".join(json.dumps(line) + "\n" for line in self.log), "utf-8")


class Handler(http.server.BaseHTTPRequestHandler):
    server: LocalServer

    def handle_call(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = dict(self.headers.items())
        try:
            with self.server.lock:
                status, text = self.server.answer(self.command, self.path, body, headers)
        except NoAnswer:
            return
        time.sleep(0.01)  # the way there and back
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = do_PUT = do_DELETE = handle_call

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing; the server keeps its own log."""


@contextmanager
def serving(server: LocalServer) -> Iterator[str]:
    """Serve from a thread as long as the block lasts; gives the address."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Site(LocalServer):
    """Pages with links, `/page/0` and on; kills those who ask for some of them."""

    def __init__(self, pages: int, kills: int) -> None:
        super().__init__()
        self.pages = pages
        self._deadly = {(n + 1) * pages // (kills + 1) for n in range(kills)}

    def answer(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, str]:
        self.log.append({"path": path, "fence": int(headers["Fence"])})
        if len(self.log) in self._deadly:
            self.kill(headers)
        links = self._links(int(path.removeprefix("/page/")))
        return HTTPStatus.OK, "".join(f'<a href="/page/{n}">{n}</a>\n' for n in links)

    def _links(self, page: int) -> list[int]:
        """To the next two, so that all are found, and to a few others."""
        anywhere = random.Random(page).choices(range(self.pages), k=5)
        return [n for n in (2 * page + 1, 2 * page + 2, *anywhere) if n < self.pages]


class Cloud(LocalServer):
    """Servers that are made, changed and deleted; each seventh request fails.

    Knows idempotency keys: a POST under a known one makes nothing, and is answered like the first.
    Knows fences: a change under a lower one than the highest that it has seen is refused.
    """

    def __init__(self, kills: int) -> None:
        super().__init__()
        self.servers: dict[str, dict[str, Any]] = {}
        self._by_key: dict[str, str] = {}
        self._fences: dict[str, int] = {}
        self._kills, self._calls = kills, 0

    def answer(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, str]:
        self._calls += 1
        if self._calls % 7 == 0:
            return HTTPStatus.SERVICE_UNAVAILABLE, '"out of order"'
        if method == "POST":
            return HTTPStatus.OK, json.dumps({"id": self._create(json.loads(body), headers)})
        server, fence = path.removeprefix("/servers/"), int(headers["Fence"])
        if fence < self._fences.get(server, 0):
            return HTTPStatus.CONFLICT, '"the fence is of an earlier owner"'
        self._fences[server] = fence
        if method == "DELETE":
            if gone := self.servers.pop(server, {}):
                self.log.append({"deleted": gone["name"]})
        elif server not in self.servers:
            return HTTPStatus.NOT_FOUND, '"no such server"'
        else:
            self.servers[server] |= json.loads(body)
        return HTTPStatus.OK, "{}"

    def _create(self, body: dict[str, Any], headers: Mapping[str, str]) -> str:
        key = headers["Idempotency-Key"]
        if key not in self._by_key:
            server = self._by_key[key] = f"server-{len(self._by_key)}"
            self.servers[server] = body
            self.log.append({"created": body["name"]})
            if self.killed < self._kills and len(self._by_key) % 3 == 0:
                self.kill(headers)
        return self._by_key[key]
