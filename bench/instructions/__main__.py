"""`python -m bench.instructions`: count with callgrind, compare with `budget.json`.

Instructions do not depend on what else the machine does, so a creep of a few percent
shows. An operation costs the difference of two runs, divided by the calls between them:
opening the file and filling it fall out. `--record` writes a new budget, which belongs
into the same change as what made the cost move.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..harness import ROOT

BUDGET = Path(__file__).with_name("budget.json")
BINARY = ROOT / "target" / "release" / "examples" / "instructions"
MARGIN_PERCENT = 5
ROWS = 500
FEW_CALLS, MANY_CALLS = 20, 220
_COLLECTED = re.compile(r"Collected : (\d+)")


def main() -> int:
    """0 within the budget, 1 above it, 2 where nothing can be counted."""
    parser = argparse.ArgumentParser(prog="python -m bench.instructions", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write a new budget")
    parser.add_argument("--only", action="append", help="one operation; repeat")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is not there: instructions can't be counted", file=sys.stderr)
        return 2
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--locked", "-p", "fencepost-core",
         "--example", "instructions"],
        check=True,
        cwd=ROOT,
    )  # fmt: skip
    with ThreadPoolExecutor() as pool:
        names = arguments.only or _output([str(BINARY)]).stdout.split()
        counts = dict(zip(names, pool.map(_cost, names), strict=True))
    if arguments.record:
        text = json.dumps({"margin_percent": MARGIN_PERCENT, "instructions": counts}, indent=2)
        BUDGET.write_text(text + "\n", "utf-8")
        print(f"recorded {len(counts)} operations")
        return 0
    return _compare(counts, json.loads(BUDGET.read_text("utf-8")))


def _cost(operation: str) -> int:
    """Instructions of one call."""
    few, many = (_instructions(operation, calls) for calls in (FEW_CALLS, MANY_CALLS))
    return round((many - few) / (MANY_CALLS - FEW_CALLS))


def _instructions(operation: str, calls: int) -> int:
    done = _output(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         str(BINARY), operation, str(calls), str(ROWS)]
    )  # fmt: skip
    found = _COLLECTED.search(done.stderr)
    if found is None:
        raise RuntimeError(f"callgrind printed no count:\n{done.stderr}")
    return int(found[1])


def _output(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)


def _compare(counts: Mapping[str, int], budget: Mapping[str, Any]) -> int:
    margin = budget["margin_percent"] / 100
    recorded: Mapping[str, int] = budget["instructions"]
    over = 0
    print(f"{'operation':20} {'budget':>10} {'counted':>10} {'change':>8}")
    for operation, count in counts.items():
        allowed = recorded.get(operation)
        if allowed is None:
            print(f"{operation:20} {'none':>10} {count:10,} has no budget: --record one")
            over += 1
            continue
        change = count / allowed - 1
        verdict = "over the margin" if change > margin else ""
        if change < -margin:
            verdict = "cheaper: record it, or the gain can creep away"
        over += change > margin
        print(f"{operation:20} {allowed:10,} {count:10,} {change:+8.1%} {verdict}".rstrip())
    print(f"{over} of {len(counts)} over the margin of {budget['margin_percent']} %")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
