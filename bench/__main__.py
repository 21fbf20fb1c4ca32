"""`python -m bench`: measure, print tables, keep JSON and plots."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path
from types import ModuleType

from . import report
from .harness import ROOT, Plan

SCENARIOS = {
    "flat": "bench.scenarios.flat",
    "scale": "bench.scenarios.scale",
    "contention": "bench.scenarios.contention",
    "wakeup": "bench.scenarios.wakeup",
    "threads": "bench.scenarios.threads",
    "limit": "bench.scenarios.limit",
    "durability": "bench.scenarios.durability",
    "growth": "bench.scenarios.growth",
    "peers": "bench.scenarios.peers",
    "candidates": "bench.candidates",
}
# Candidates argue for a design that is settled: measured when asked for by name, and in a
# quick run, which sees that all works.
BY_NAME_ONLY = ("candidates",)


def main() -> int:
    """Run the chosen scenarios; 1 where `--strict` and a goal was not met."""
    arguments = _arguments()
    output: Path = arguments.output
    names = arguments.only or [
        name for name in SCENARIOS if arguments.quick or name not in BY_NAME_ONLY
    ]
    if not arguments.render:
        for name in names:
            _measure(name, importlib.import_module(SCENARIOS[name]), arguments)
    results = report.load(output)
    if not arguments.no_plots:
        from . import plots

        plots.draw(results, output)
    if arguments.docs:
        from . import plots

        plots.draw(results, ROOT / "docs" / "plots")
        for document in sorted((ROOT / "docs").glob("*.md")):
            report.fill(document, results)
    missed = [goal for name in names for goal in results[name]["goals"] if not goal["met"]]
    return 1 if arguments.strict and missed else 0


def _measure(name: str, scenario: ModuleType, arguments: argparse.Namespace) -> None:
    plan = Plan(
        quick=arguments.quick,
        rounds=arguments.rounds or (1 if arguments.quick else 5),
        seconds=arguments.seconds or (0.3 if arguments.quick else 5.0),
        tools=ROOT / "build" / "bench" / "tools",
        synchronous=arguments.synchronous,
    )
    load = os.getloadavg()[0]
    print(f"\n## {scenario.TITLE}\n", flush=True)
    if load > 1.0:
        print(f"The load average is {load:.2f}: something else uses this machine.\n", flush=True)
    began = time.monotonic()
    outcome = scenario.run(plan)
    found = report.result(name, scenario.TITLE, plan, outcome, load)
    report.save(arguments.output, [found])
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    print(report.tables(found))
    print(f"\n({name}: {time.monotonic() - began:.0f} s)", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that all works")
    parser.add_argument("--only", action="append", choices=SCENARIOS, help="one scenario; repeat")
    parser.add_argument("--rounds", type=int, help="interleaved rounds (default 5; quick 1)")
    parser.add_argument("--seconds", type=float, help="seconds of work a round (default 5)")
    parser.add_argument(
        "--synchronous",
        action="append",
        choices=("full", "off"),
        help="flat, scale and contention at this setting alone; repeat (default both)",
    )
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--no-plots", action="store_true", help="without matplotlib")
    parser.add_argument("--render", action="store_true", help="measure nothing, draw again")
    parser.add_argument("--docs", action="store_true", help="put tables and plots into docs/")
    parser.add_argument("--strict", action="store_true", help="exit 1 where a goal is not met")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
