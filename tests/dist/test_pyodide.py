"""The pure wheel where no wheel of ours is for: CPython compiled to WebAssembly."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

CODE = """
import io, json, sys, warnings
from contextlib import redirect_stdout
from glob import glob

warnings.simplefilter("ignore")
import fencepost
from fencepost.cli import main

printed = io.StringIO()
with redirect_stdout(printed):
    exec({example!r}, {{}})
    conformance = main(["conformance", *sorted(glob("/source/tests/vectors/*.jsonl"))])
info = fencepost.engine_info()
print(json.dumps([sys.platform, info.engine, info.reason, conformance, printed.getvalue()]))
"""


@pytest.mark.slow
def test_the_pure_wheel_in_pyodide(
    pure_wheel: Path, source: Path, example: str, wheelhouse: Path, tmp_path: Path
) -> None:
    """The README's example, and the recorded behaviour."""
    node = shutil.which("node")
    pyodide = wheelhouse / "node_modules" / "pyodide"
    if node is None or not pyodide.exists():
        pytest.skip("no Node.js here to run Pyodide with")
    code = tmp_path / "code.py"
    code.write_text(CODE.format(example=example))
    runner = Path(__file__).with_name("pyodide.mjs")
    done = subprocess.run(
        [node, str(runner), str(pyodide), str(pure_wheel), str(source), str(code)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )
    # An error of Pyodide quotes its whole program first.
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    platform, engine, reason, conformance, printed = json.loads(done.stdout)
    assert (platform, engine, conformance) == ("emscripten", "python", 0)
    assert reason == "the native extension is not installed: this is the pure build"
    assert "fence 1 is of an earlier owner" in printed
    assert printed.count("cases pass") == len(list((source / "tests" / "vectors").glob("*.jsonl")))
