"""Runs of the harness that are to decide something, on whatever machine the tests run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from fencepost_stress import cli

_Result = TypeVar("_Result")
TIMES_LONGER = (1, 2, 4)


def until_decided(
    run: Callable[[float, str], _Result], is_unknown: Callable[[_Result], bool], seconds: float
) -> _Result:
    """The first run that decides something.

    On a busy machine a short run may miss what must happen sometimes, or be stopped for so
    long that nobody can say whose fault it was. It says that it is unknown then, and the
    next one is longer; what is broken is never tried again.

    `run` is given its seconds and a name.
    """
    for times in TIMES_LONGER:
        result = run(seconds * times, f"out-{times}")
        if not is_unknown(result):
            break
    return result


def decided(
    capsys: pytest.CaptureFixture[str], folder: Path, seconds: float, *arguments: str
) -> tuple[int, dict[str, Any], Path]:
    """The exit code, the verdict and the folder of a run with these arguments."""

    def run(seconds: float, name: str) -> tuple[int, dict[str, Any], Path]:
        out = folder / name
        code = cli.main([*arguments, "--seconds", f"{seconds:g}", "--out", str(out), "--json"])
        return code, json.loads(capsys.readouterr().out), out

    return until_decided(run, lambda result: result[0] == 2, seconds)
