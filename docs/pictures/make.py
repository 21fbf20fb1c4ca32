"""Make the pictures of the command line anew: `python docs/pictures/make.py`.

Runs commands on a store of its own in a real pseudo-terminal, and writes what the terminal
shows as SVG. With `--look FOLDER` it takes many sizes instead, for a person to look at.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte
from terminal import svg

import fencepost

HERE = Path(__file__).parent
PICTURES = {
    "top": (["top"], 100, 26),
    "doctor": (["doctor", "work.sqlite"], 100, 20),
}
TO_LOOK_AT = [["top"], ["doctor", "work.sqlite"], ["runs"], ["queue"], ["effects"], ["feed"]]
TO_LOOK_AT += [["info", "work.sqlite"], ["run", "invoice-3"], ["resource", "mail", "bo"]]
SIZES = [(80, 24), (120, 40)]
_UNWANTED = ("COLUMNS", "LINES", "NO_COLOR", "FENCEPOST_ENGINE")
SECONDS = 3.0
"""How long a command runs that does not end by itself; rates are those of one second."""


def fill(path: Path) -> None:
    """A store at work: leases of all lengths, some ended, and things for doctor to find."""
    now = int(time.time() * 1000)
    with fencepost.open(path, clock=lambda: now - 90_000, synchronous="off") as before:
        for number in range(2):
            enqueue(before, f"import-{number}", "import", "worker-c", 60_000)
    with fencepost.open(path, synchronous="off") as store:
        for number in range(12):
            lease = 3_000 + 2_500 * number
            run = enqueue(
                store, f"invoice-{number}", "invoice", f"worker-{'ab'[number % 2]}", lease
            )
            claim = {"run_id": run.run_id, "claim_token": run.claim_token or ""}
            if number > 7:
                store.runs.complete(**claim)
            elif number > 5:
                store.runs.park(**claim)
        for key in ("ann", "bo", "cy", "dee"):
            resource = store.resources.put(
                controller="mail", key=key, spec={"to": f"{key}@example.org"}, initial_status=None
            )
            store.effects.reserve(
                key=f"send-{key}",
                resource_uid=resource.metadata.uid,
                generation=1,
                kind="smtp",
                request_fingerprint=fencepost.fingerprint({"to": key}),
            )
        for _ in range(11):
            for failing in store.queue.claim_many(controllers=["mail"], lease_ms=9_000, limit=1):
                store.queue.requeue(claim=failing, available_at="2026-01-01T00:00:00Z", error="550")
        store.queue.claim_many(controllers=["mail"], lease_ms=20_000, limit=3)


def enqueue(
    store: fencepost.Store, run_id: str, workflow: str, runner: str, lease_ms: int
) -> fencepost.Run:
    """A claimed run, told in the feed."""
    run = store.runs.enqueue(
        run_id=run_id,
        workflow_name=workflow,
        workflow_source_ref=f"flows/{workflow}.py",
        input={"customer": run_id[-1]},
        runner_id=runner,
        lease_ms=lease_ms,
    )
    store.feed.record(run_id=run_id, workflow_ref=workflow, type="started", runner_id=runner)
    return run


@contextmanager
def worker(path: Path) -> Iterator[None]:
    """Another process at work, under a name that a picture can show."""
    package = Path(fencepost.__file__).parents[1]
    process = subprocess.Popen(  # noqa: S603 - a script of ours
        ["python", "worker.py", str(path)],  # noqa: S607 - what the picture shows; not what runs
        executable=sys.executable,
        cwd=HERE,
        stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(package), "PYTHONWARNINGS": "ignore"},
    )
    try:
        yield
    finally:
        process.communicate()


def screen_of(command: list[str], folder: Path, columns: int, lines: int) -> pyte.Screen:
    """What a terminal of this size shows of a command, or of its first seconds."""
    screen = pyte.Screen(columns, lines)
    stream = pyte.ByteStream(screen)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
    process = subprocess.Popen(  # noqa: S603 - a command of ours
        [sys.executable, "-m", "fencepost", *command],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**kept, "TERM": "xterm-256color", "FENCEPOST_STORE": str(folder / "work.sqlite")},
        start_new_session=True,
    )
    os.close(theirs)
    until = time.monotonic() + SECONDS
    while (left := until - time.monotonic()) > 0:
        if select.select([ours], [], [], left)[0] and not feed(stream, ours):
            break
    os.write(ours, b"q")
    process.wait(20)
    os.close(ours)
    return screen


def feed(stream: pyte.ByteStream, ours: int) -> bool:
    """Give the terminal what the command wrote; False once it has ended."""
    try:
        data = os.read(ours, 65536)
    except OSError:
        return False
    stream.feed(data)
    return bool(data)


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--look", type=Path, metavar="FOLDER", help="many sizes, for looking at")
    look = parser.parse_args().look
    if look is None:
        wanted = [(HERE / f"{name}.svg", *picture) for name, picture in PICTURES.items()]
    else:
        wanted = [
            (look / f"{command[0]}-{columns}x{lines}.svg", command, columns, lines)
            for command in TO_LOOK_AT
            for columns, lines in SIZES
        ]
    for target, command, columns, lines in wanted:
        with tempfile.TemporaryDirectory(prefix="p-") as folder:
            path = Path(folder) / "work.sqlite"
            fill(path)
            with worker(path):
                screen = screen_of(command, Path(folder), columns, lines)
        target.write_text(svg(screen, f"fencepost {' '.join(command)}", folder), "utf-8")
        print(target)


if __name__ == "__main__":
    main()
