"""Evidence on disk: a real run, and the same run with a lie planted in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from fencepost_stress import cli

RUN = "python"


def real_run(folder: Path) -> Path:
    """A short run with faults; gives the folder of the command."""
    out = folder / "run"
    arguments = ["--engine", RUN, "--processes", "3", "--seconds", "3", "--seed", "11"]
    code = cli.main([*arguments, "--shrink", "0", "--out", str(out)])
    # A run this short may miss something that must happen sometimes; it must break nothing.
    assert code in {0, 2}
    return out


def planted(out: Path, folder: Path) -> tuple[Path, dict[str, Any]]:
    """A copy in which a refused completion says that it succeeded; gives its invocation too."""
    copy = folder / "planted"
    shutil.copytree(out, copy)
    for path in sorted((copy / RUN / "history").glob("worker-*.jsonl")):
        lines = path.read_text().splitlines(keepends=True)
        calls: dict[int, list[Any]] = {}
        for index, line in enumerate(lines):
            record = json.loads(line)
            if record[0] == "i":
                calls[record[2]] = record
            elif record[0] == "o" and record[3] is False:
                call = calls[record[2]]
                if call[3] == "runs.complete":
                    lines[index] = json.dumps([*record[:3], True]) + "\n"
                    path.write_text("".join(lines))
                    return copy, {"process": path.stem, "call": call[2], **call[4]}
    raise AssertionError("no completion was refused in this run")
