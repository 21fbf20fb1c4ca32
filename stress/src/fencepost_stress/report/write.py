"""Writes the report of a command: the page, JUnit's XML, and the verdicts as JSON."""

from __future__ import annotations

from pathlib import Path

from .. import environment, verdict as verdict_format
from ..verdict import Verdicts
from . import junit, page
from .claims import MOST
from .gather import Gathered, gather

PAGE, JUNIT = "index.html", "junit.xml"


def write(verdicts: Verdicts, folder: Path, name: str = "verdict.json") -> list[Gathered]:
    """Write the report into the folder that holds the evidence; gives what it found for it.

    `name` is the verdicts' file: a replay does not overwrite what the run itself decided.
    """
    (folder / name).write_bytes(verdict_format.to_json(verdicts))
    most = MOST // max(len(verdicts.runs), 1)
    gathered = [gather(Path(run.directory), run, most) for run in verdicts.runs]
    facts = [environment.told(run) for run in verdicts.runs]
    page.write(verdicts, gathered, facts, folder / PAGE)
    stories = {
        run.directory: more.stories for run, more in zip(verdicts.runs, gathered, strict=True)
    }
    junit.write(verdicts, stories, folder / JUNIT)
    return gathered
