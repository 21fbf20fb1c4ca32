"""The README is true: its examples run, and the tests it names exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_the_examples_run(engine: str, tmp_path: Path) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "FENCEPOST_ENGINE": engine, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "fence 1 is of an earlier owner" in done.stdout


def test_the_named_tests_exist() -> None:
    named, file = [], ""
    for text in re.findall(r"`((?:[\w/]+/test_\w+\.py)?(?:::test_\w+)?)`", README):
        path, _, test = text.partition("::")
        file = path or file
        if file:
            named.append((file, test))
    assert len(named) > 20
    for file, test in named:
        assert not test or f"def {test}(" in (ROOT / file).read_text("utf-8"), (file, test)
        assert (ROOT / file).is_file(), file
