"""JUnit's XML, which CI viewers show: a suite a run, a case a property."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from ..verdict import Property, RunVerdict, Verdicts
from .prose import prose
from .story import Story

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(verdicts: Verdicts, stories: Mapping[str, Sequence[Story]], path: Path) -> None:
    """Write the verdicts. `stories` are the violations in words, by the directory of their run."""
    root = ET.Element("testsuites", name="fencepost stress")
    for run in verdicts.runs:
        _suite(root, run, stories.get(run.directory, ()))
    # The schema that Jenkins reads by has no `skipped` here.
    for kind in ("tests", "failures", "errors"):
        root.set(kind, str(sum(int(suite.get(kind, 0)) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', 0)) for suite in root):.3f}")
    ET.indent(root)
    path.write_bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def _suite(root: ET.Element, run: RunVerdict, stories: Sequence[Story]) -> None:
    name = f"fencepost_stress.{run.engine}"
    suite = ET.SubElement(root, "testsuite", name=name)
    properties = ET.SubElement(suite, "properties")
    for key, value in (
        ("seed", run.seed),
        ("profile", run.profile),
        ("verdict", run.verdict),
        ("repeat", run.repeat),
        *sorted(run.counts.items()),
        *((f"faults.{kind}", number) for kind, number in sorted(run.faults.items())),
    ):
        ET.SubElement(properties, "property", name=key, value=_clean(str(value)))
    for one in run.properties:
        told = [story for story in stories if story.id == one.id]
        _property(suite, name, one, told, run)
    for sometime in run.sometimes:
        if sometime.required:
            case = _case(suite, name, f"sometimes: {sometime.name}", 0.0)
            if not sometime.count:
                _note(case, "error", "unknown", "never happened", "")
    if run.verdict == "unknown" and not suite.findall("testcase/error"):
        case = _case(suite, name, "the run", 0.0)
        _note(case, "error", "unknown", "; ".join(run.reasons), "")
    suite.set("tests", str(len(suite.findall("testcase"))))
    for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(kind, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("time", f"{run.run_seconds + run.check_seconds:.3f}")


def _property(
    suite: ET.Element, name: str, one: Property, stories: Sequence[Story], run: RunVerdict
) -> None:
    case = _case(suite, name, f"{one.id} {one.promise}", one.seconds)
    if one.verdict == "invalid":
        text = "\n\n".join([*("\n".join(prose(story)) for story in stories), run.repeat])
        _note(case, "failure", one.id, f"{one.violation_count} violations: {one.reason}", text)
    elif one.verdict == "unknown":
        _note(case, "error", "unknown", one.reason, "")
    elif one.verdict == "not claimed":
        _note(case, "skipped", None, one.reason or "not claimed", "")


def _case(suite: ET.Element, classname: str, name: str, seconds: float) -> ET.Element:
    return ET.SubElement(
        suite, "testcase", classname=classname, name=_clean(name), time=f"{seconds:.3f}"
    )


def _note(case: ET.Element, tag: str, kind: str | None, message: str, text: str) -> None:
    note = ET.SubElement(case, tag, message=_clean(message))
    if kind is not None:
        note.set("type", kind)
    note.text = _clean(text) or None


def _clean(text: str) -> str:
    """Without the characters that XML has no way to hold."""
    return _NOT_XML.sub("\ufffd", text)
