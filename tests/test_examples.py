"""The examples do what they say, with real processes, real servers and real kills."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fencepost

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def run(engine: str, name: str, *options: str) -> str:
    """What an example prints. It must end well."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(EXAMPLES / name), *options],
        env={**os.environ, "FENCEPOST_ENGINE": engine},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for themselves
    spec.loader.exec_module(module)
    return module


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


def test_a_killed_agents_run_goes_on_from_its_checkpoint(engine: str, path: str) -> None:
    printed = run(engine, "agent_runner.py", "--store", path)
    assert "workers killed: 1" in printed

    with fencepost.open(path, engine=engine) as store:
        runs = store.runs.list()
        feed = list(store.feed.iterate())
    assert {one.status for one in runs} == {"done"}
    assert Counter(one.parent_run_id for one in runs if one.parent_run_id) == {
        "task-1": 1,
        "task-4": 1,
    }

    owners: dict[str, list[int]] = defaultdict(list)
    calls: dict[tuple[str, int], list[str]] = defaultdict(list)
    for event in feed:
        if event.type == "begun":
            owners[event.run_id].append(event.payload["done"])
        if event.type == "step":
            calls[event.run_id, event.payload["fence"]].append(event.payload["step"])
    steps = ["plan", "search", "read", "draft", "review"]
    for (run_id, fence), made in calls.items():
        first = steps.index(made[0])
        assert made == steps[first : first + len(made)], (run_id, fence)
    taken_over = [begun for begun in owners.values() if len(begun) > 1]
    assert taken_over
    assert all(later > earlier for earlier, later in taken_over), "it went on, not from the start"


def failed_attempt(store: fencepost.Store, agent: ModuleType) -> fencepost.Run:
    task = {"question": "q", "source": "wiki", "notes": ["plan", "search"]}
    agent.submit(store, "task", task)
    found = store.runs.claim_next(runner_id="w", lease_ms=60_000)
    assert found is not None
    agent.checkpoint(store, found, agent.State(task["notes"], "the wiki does not answer"))
    return found


def test_a_failed_attempt_is_handed_on_once(engine: str, path: str) -> None:
    agent = load("agent_runner")
    with fencepost.open(path, engine=engine) as store:
        first = failed_attempt(store, agent)
        state = agent.last_checkpoint(store, first)
        agent.hand_on(store, first, state)
        # Killed before it could complete the run: another worker has it.
        assert store.runs.park(**first.claim)
        second = store.runs.claim_next(
            runner_id="w", lease_ms=60_000, exclude_run_ids=["task.again"]
        )
        assert second is not None
        agent.work_on(store, second)
        agent.hand_on(store, first, state)  # and the killed one was only asleep

        children = [one for one in store.runs.list() if one.parent_run_id == "task"]
        assert [one.run_id for one in children] == ["task.again"]
        assert children[0].input["notes"] == ["plan", "search"]
        done = store.runs.get(run_id="task")
        assert done is not None
        assert done.status == "done"


def test_an_agent_that_comes_too_late_overwrites_nothing(engine: str, path: str) -> None:
    agent = load("agent_runner")
    with fencepost.open(path, engine=engine) as store:
        agent.submit(store, "task", {"question": "q", "source": "archive", "notes": []})
        late = store.runs.claim_next(runner_id="late", lease_ms=60_000)
        assert late is not None
        assert store.runs.park(**late.claim)
        present = store.runs.claim_next(runner_id="present", lease_ms=60_000)
        assert present is not None

        agent.checkpoint(store, present, agent.State(["plan", "search"]))
        agent.checkpoint(store, late, agent.State(["plan"]))
        assert agent.last_checkpoint(store, present).notes == ["plan", "search"]

        agent.work_on(store, late)  # to its end, for it asks the store too seldom to notice
        assert agent.last_checkpoint(store, present).notes == ["plan", "search"]
        assert store.runs.verify(**present.claim)


def test_each_page_is_fetched_once(engine: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    options = ("--pages", "150", "--lease-ms", "60000", "--log", str(log))
    assert "pages visited: 150, fetches: 150" in run(engine, "crawler.py", *options)
    assert Counter(line["path"] for line in lines(log)) == {f"/page/{n}": 1 for n in range(150)}


def test_only_the_page_of_a_killed_worker_is_fetched_again(engine: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    options = ("--pages", "150", "--kill", "3", "--log", str(log))
    assert "fetches: 153, workers killed: 3" in run(engine, "crawler.py", *options)
    fences: dict[str, list[int]] = defaultdict(list)
    for line in lines(log):
        fences[line["path"]].append(line["fence"])
    assert set(fences) == {f"/page/{n}" for n in range(150)}
    again = [seen for seen in fences.values() if len(seen) > 1]
    assert len(again) == 3
    assert all(seen == sorted(set(seen)) for seen in again), "by a later owner each time"


def test_a_server_is_created_once_whoever_dies_in_between(engine: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    printed = run(engine, "reconcile.py", "--kill", "2", "--log", str(log))
    assert "controllers killed: 2" in printed
    created = Counter(line["created"] for line in lines(log) if "created" in line)
    assert created == {f"web-{n}": 1 for n in range(12)}
    deleted = Counter(line["deleted"] for line in lines(log) if "deleted" in line)
    assert deleted == {"web-0": 1, "web-4": 1, "web-8": 1}


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_an_asyncio_workers_runs_are_done_by_the_next(engine: str, path: str, how: str) -> None:
    options = ["--kill"] if how == "SIGKILL" else []
    printed = run(engine, "asyncio_worker.py", "--store", path, *options)
    assert ("parked" in printed.partition("first ended")[0]) is (how == "SIGTERM")

    with fencepost.open(path, engine=engine) as store:
        assert {one.status for one in store.runs.list()} == {"done"}
        steps = list(store.events.iterate(controller="job"))
    recorded = Counter((step.key, step.payload["step"]) for step in steps)
    assert recorded == {(f"job-{n}", step): 1 for n in range(12) for step in range(10)}
    workers = defaultdict(set)
    for step in steps:
        workers[step.key].add(step.payload["worker"])
    assert {"first", "second"} == set().union(*workers.values())


def test_the_examples_are_listed() -> None:
    shown = {file.name for file in EXAMPLES.glob("*.py")}
    for page in (EXAMPLES / "README.md", ROOT / "docs" / "examples.md"):
        text = page.read_text("utf-8")
        assert {name for name in shown if name in text} == shown, page
