"""Evidence on disk: a real run, and the same run with a lie planted in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fencepost_stress import cli

RUN = "python"


def real_run(folder: Path) -> Path:
    """A short run with faults, in which a completion was refused; gives the command's folder."""
    for seconds in (3, 6, 12):
        out = folder / f"run-{seconds}"
        arguments = ["--engine", RUN, "--processes", "3", "--seconds", str(seconds), "--seed", "11"]
        code = cli.main([*arguments, "--shrink", "0", "--out", str(out)])
        # A run this short may miss something that must happen sometimes; it must break nothing.
        assert code in {0, 2}
        if next(_refused(out), None) is not None:
            return out
    raise AssertionError("no completion was refused in these runs")


def planted(out: Path, folder: Path) -> tuple[Path, dict[str, Any]]:
    """A copy in which a refused completion says that it succeeded; gives its invocation too."""
    copy = folder / "planted"
    shutil.copytree(out, copy)
    path, index, call = next(_refused(copy))
    lines = path.read_text().splitlines(keepends=True)
    lines[index] = json.dumps([*json.loads(lines[index])[:3], True]) + "\n"
    path.write_text("".join(lines))
    return copy, {"process": path.stem, "call": call[2], **call[4]}


def _refused(out: Path) -> Iterator[tuple[Path, int, list[Any]]]:
    """The completions that were refused: the file, the line of the answer, the invocation."""
    for path in sorted((out / RUN / "history").glob("worker-*.jsonl")):
        calls: dict[int, list[Any]] = {}
        for index, line in enumerate(path.read_text().splitlines()):
            record = json.loads(line)
            if record[0] == "i":
                calls[record[2]] = record
            elif record[0] == "o" and record[3] is False:
                call = calls[record[2]]
                if call[3] == "runs.complete":
                    yield path, index, call
