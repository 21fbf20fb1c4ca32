"""What the distribution promises: one version, no dependencies, types and SQL inside."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import fencepost

ROOT = Path(__file__).parent.parent


def toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text("utf-8"))


def in_new_process(code: str) -> Any:
    """What a new interpreter prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_versions_agree() -> None:
    version = fencepost.__version__
    assert toml("pyproject.toml")["project"]["version"] == version
    assert toml("Cargo.toml")["workspace"]["package"]["version"] == version


def test_the_core_depends_on_nothing() -> None:
    assert toml("pyproject.toml")["project"].get("dependencies", []) == []


def test_importing_imports_no_third_party_module() -> None:
    loaded = in_new_process(
        "import sys; before = set(sys.modules); import fencepost, json;"
        "print(json.dumps(sorted({n.partition('.')[0] for n in set(sys.modules) - before})))"
    )
    assert set(loaded) - set(sys.stdlib_module_names) == {"fencepost"}


def test_importing_does_not_load_an_engine() -> None:
    loaded = in_new_process("import sys, fencepost, json; print(json.dumps(sorted(sys.modules)))")
    assert "sqlite3" not in loaded
    assert "fencepost._native" not in loaded


def test_the_public_names_are_there() -> None:
    for name in fencepost.__all__:
        assert hasattr(fencepost, name), name


def test_the_package_carries_types_and_sql() -> None:
    package = ROOT / "python" / "fencepost"
    assert (package / "py.typed").is_file()
    assert (package / "_native.pyi").is_file()
    assert {"schema.sql", "additions.sql", "runs.sql"} <= {
        file.name for file in (package / "sql").iterdir()
    }


def test_no_sql_stands_in_the_code() -> None:
    """Statements live in `sql/`, once."""
    for file in (ROOT / "python" / "fencepost").rglob("*.py"):
        text = file.read_text("utf-8")
        for word in ("SELECT ", "INSERT INTO", "UPDATE ", "DELETE FROM"):
            assert word not in text, f"{file.name} holds SQL: {word}"


def test_engine_info_names_both_libraries(both_engines: tuple[str, ...]) -> None:
    for engine in both_engines:
        info = fencepost.engine_info(engine)
        assert info.engine == engine
        assert "engine argument" in info.reason
        assert info.native_sqlite
        assert info.python_sqlite
