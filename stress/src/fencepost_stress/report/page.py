"""One self-contained page: no network, no files beside it, opens at the first failure."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup

from ..verdict import RunVerdict, Verdicts
from .claims import FATES, label_of
from .figures import PERCENTILES, slot_of
from .gather import Gathered
from .marks import EVERYBODY
from .story import Story

_ORDER = ("invalid", "unknown", "valid", "not claimed")


def write(
    verdicts: Verdicts,
    gathered: Sequence[Gathered],
    environments: Sequence[Sequence[tuple[str, str]]],
    path: Path,
) -> None:
    """Write the page of all runs of a command."""
    assets = files(__package__) / "assets"
    environment = jinja2.Environment(
        loader=jinja2.DictLoader({"page": (assets / "page.html.j2").read_text("utf-8")}),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["seconds"] = lambda ms: f"{ms / 1000:.4f}"
    first = min(range(len(verdicts.runs)), key=lambda n: _ORDER.index(verdicts.runs[n].verdict))
    sections = [
        {"run": run, "more": more, "environment": facts, "key": f"run{number}"}
        for number, (run, more, facts) in enumerate(
            zip(verdicts.runs, gathered, environments, strict=True)
        )
    ]
    data = [timeline_data(run, more) for run, more in zip(verdicts.runs, gathered, strict=True)]
    text = environment.get_template("page").render(
        verdict=verdicts.verdict,
        sections=sections,
        first=first,
        percentiles=PERCENTILES,
        style=Markup((assets / "page.css").read_text("utf-8")),  # noqa: S704 - our own file
        scripts=[
            Markup((assets / name).read_text("utf-8"))  # noqa: S704 - our own files
            for name in ("picture.js", "timeline.js", "page.js")
        ],
        data=Markup(script_json(data)),  # noqa: S704 - escaped by `script_json`
    )
    path.write_text(text, "utf-8")


def script_json(value: Any) -> str:
    """JSON that can't end the script element it stands in."""
    text = msgspec.json.encode(value).decode()
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def timeline_data(run: RunVerdict, more: Gathered) -> dict[str, Any]:
    """What the timeline draws, as arrays: a claim is seven values."""
    processes = sorted(
        {claim.worker for claims in more.claims.values() for claim in claims}
        | {mark.process for mark in more.marks}
    )
    number = {process: index for index, process in enumerate(processes)}
    # Last, below the workers, what was done to all of them.
    slots = sorted(
        {slot_of(process) for process in processes}, key=lambda slot: (slot == EVERYBODY, slot)
    )
    lanes = {lane: index for index, lane in enumerate(more.claims)}
    return {
        "engine": run.engine,
        "overlap": any(one.id == "F1" and one.verdict == "invalid" for one in run.properties),
        "slots": slots,
        "processes": [[process, slots.index(slot_of(process))] for process in processes],
        "fates": FATES,
        "lanes": [label_of(lane) for lane in lanes],
        "claims": [
            [
                index,
                number[claim.worker],
                claim.start,
                claim.lease,
                claim.end,
                FATES.index(claim.fate),
                claim.renewals,
            ]
            for index, claims in enumerate(more.claims.values())
            for claim in claims
        ],
        "marks": [
            [mark.kind, number[mark.process], mark.at, mark.until, mark.told()]
            for mark in more.marks
        ],
        "phases": more.phases,
        "throughput": more.throughput,
        "stories": [_story(story, lanes) for story in more.stories],
    }


def _story(story: Story, lanes: dict[str, int]) -> dict[str, Any]:
    return {
        "id": story.id,
        "at": story.at,
        "start": story.start,
        "end": story.end,
        "lanes": [lanes[lane] for lane in story.lanes if lane in lanes],
        "calls": [
            [line.began, line.until, line.who, f"{line.did} → {line.outcome}", line.named]
            for line in story.lines
            if not line.fault
        ],
    }
