"""One shell for all commands of a page, as a reader has one terminal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

END = "--end of output--"
_JOB = re.compile(r"\S*bash: line \d+: +\d+ (Killed|Terminated)")


class Shell:
    """bash in a folder, with the interpreter that runs the tests first on its path."""

    def __init__(self, folder: Path, **environment: str) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("FENCEPOST_")}
        self._bash = subprocess.Popen(
            ["/bin/bash", "--norc", "--noprofile"],
            cwd=folder,
            env={
                **inherited,
                "PATH": path,
                "NO_COLOR": "1",
                "COLUMNS": "100",
                # What the interpreter's SQLite may be told to be; the pages speak of it once.
                "PYTHONWARNINGS": "ignore:the Python engine runs on SQLite:RuntimeWarning",
                **environment,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def run(self, command: str) -> str:
        """What the command prints on either stream, and its exit code when it is not 0."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.write(
            f"{{ {command}\n}} </dev/null 2>&1; code=$?; echo; echo '{END}' $code\n"
        )
        self._bash.stdin.flush()
        lines = []
        for line in self._bash.stdout:
            if line.startswith(END):
                code = int(line.split()[-1])
                said = "".join(lines).removesuffix("\n")
                return said if code == 0 else f"{said}exit code {code}\n"
            if not _JOB.match(line):  # the shell's own remark, which an interactive one words apart
                lines.append(line)
        raise AssertionError(f"the shell ended in: {command}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.killpg(self._bash.pid, signal.SIGKILL)
        with self._bash:
            self._bash.kill()
