"""`fencepost runs` and `fencepost run ID`."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ..clock import system_clock
from ..runs import STATUSES
from .arguments import Declined, limit_option, on_store
from .exits import OK
from .output import Column, as_json, lease, listing, or_dash, page_size, pairs
from .stores import reading


def add_parser(commands: Any) -> None:
    """Add the commands to the parser."""
    parser = on_store(commands, "runs", list_runs, "list runs, the oldest first")
    parser.add_argument("--status", choices=STATUSES, help="only these")
    limit_option(parser)
    one = on_store(commands, "run", show_run, "show one run, its claim and its input")
    one.add_argument("run_id", metavar="RUN", help="the run's id")


def list_runs(arguments: argparse.Namespace) -> int:
    """Print a page of runs."""
    now = system_clock()
    columns = [
        Column("RUN", lambda run: run.run_id),
        Column("STATUS", lambda run: run.status),
        Column("WORKFLOW", lambda run: run.workflow_name),
        Column("RUNNER", lambda run: or_dash(run.runner_id)),
        Column("LEASE", lambda run: lease(run.claim_expires_at, now)),
        Column("FENCE", lambda run: or_dash(run.fence), right=True),
        Column("CREATED", lambda run: run.created_at),
    ]
    with reading(arguments) as store:
        listing(
            store.runs.iterate(status=arguments.status, page_size=page_size(arguments.limit)),
            columns,
            limit=arguments.limit,
            as_lines=arguments.json,
            nothing="no runs",
        )
    return OK


def show_run(arguments: argparse.Namespace) -> int:
    """Print one run."""
    with reading(arguments) as store:
        run = store.runs.get(run_id=arguments.run_id)
    if run is None:
        raise Declined(f"no run {arguments.run_id!r}")
    if arguments.json:
        as_json(run.to_dict())
        return OK
    pairs(
        [
            ("run", run.run_id),
            ("status", run.status),
            ("workflow", run.workflow_name),
            ("source", run.workflow_source_ref),
            ("runner", or_dash(run.runner_id)),
            ("lease", lease(run.claim_expires_at, system_clock())),
            ("lease ends", or_dash(run.claim_expires_at)),
            ("fence", or_dash(run.fence)),
            ("affinity", or_dash(run.affinity_runner_id)),
            ("continues", or_dash(run.parent_run_id)),
            ("created", run.created_at),
            ("updated", run.updated_at),
            ("input", json.dumps(run.input)),
        ]
    )
    return OK
