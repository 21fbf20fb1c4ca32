"""Record events as a worker does, until standard input ends: `python worker.py STORE`."""

from __future__ import annotations

import select
import sys

import fencepost

KINDS = ("step", "step", "tool-call", "checkpoint")


def main() -> None:
    """Some fifty events a second."""
    with fencepost.open(sys.argv[1], synchronous="off") as store:
        number = 0
        while not select.select([sys.stdin], [], [], 0.02)[0]:
            number += 1
            kind = KINDS[number % len(KINDS)]
            store.feed.record(run_id=f"invoice-{number % 6}", workflow_ref="invoice", type=kind)


if __name__ == "__main__":
    main()
