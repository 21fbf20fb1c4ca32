"""What the distribution promises: one version, no dependencies, types and SQL inside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

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


def test_the_readme_of_the_package_is_the_readme() -> None:
    """Where a package index shows it, nothing lies beside it that a link could lead to."""
    readme = pytest.importorskip("release.readme", reason="not in the source distribution")
    shown = (ROOT / toml("pyproject.toml")["project"]["readme"]).read_text("utf-8")
    assert shown == readme.packaged((ROOT / "README.md").read_text("utf-8")), "run `make readme`"
    assert list(readme.relative_links(shown)) == []
    assert "ends in a worker that survives a kill" in shown
    assert "[tutorial](docs/tutorial.md)" not in shown
    assert "tutorial (`docs/tutorial.md`)" in shown


def test_the_core_depends_on_nothing() -> None:
    assert toml("pyproject.toml")["project"].get("dependencies", []) == []


def test_importing_imports_no_third_party_module() -> None:
    loaded = in_new_process(
        "import sys; before = set(sys.modules); import fencepost, json;"
        "names = {n.partition('.')[0] for n in set(sys.modules) - before};"
        "print(json.dumps([[n, getattr(sys.modules[n], '__file__', None)] for n in names]))"
    )
    # PyPy's list of its standard library lacks the modules that others have in C.
    standard = {*sys.stdlib_module_names, *sys.builtin_module_names}
    library = Path(os.__file__).parent

    def is_standard(name: str, file: str | None) -> bool:
        where = Path(file or "/")
        return name in standard or (library in where.parents and "site-packages" not in where.parts)

    assert [name for name, file in loaded if not is_standard(name, file)] == ["fencepost"]


def test_importing_does_not_load_an_engine() -> None:
    loaded = in_new_process("import sys, fencepost, json; print(json.dumps(sorted(sys.modules)))")
    assert "sqlite3" not in loaded
    assert "fencepost._native" not in loaded


def test_the_public_names_are_there() -> None:
    for name in fencepost.__all__:
        assert hasattr(fencepost, name), name


def test_the_package_carries_types_and_sql() -> None:
    package = Path(fencepost.__file__).parent
    assert (package / "py.typed").is_file()
    assert (package / "_native.pyi").is_file()
    assert {"schema.sql", "additions.sql", "runs.sql"} <= {
        file.name for file in (package / "sql").iterdir()
    }


def test_no_sql_stands_in_the_code() -> None:
    """Statements live in `sql/`, once."""
    for file in Path(fencepost.__file__).parent.rglob("*.py"):
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


def test_the_sql_is_that_of_the_code(tmp_path: Path) -> None:
    """An upgrade under a running process does not give it the SQL of another version."""
    code = (
        "import json, shutil, sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "import fencepost\n"
        f"shutil.rmtree({str(tmp_path / 'fencepost' / 'sql')!r})\n"
        f"with fencepost.open({str(tmp_path / 'store.sqlite')!r}, engine='python') as store:\n"
        "    seq = store.feed.record(run_id='r', workflow_ref='w', type='t')\n"
        "print(json.dumps([fencepost.__file__, seq]))\n"
    )
    package = Path(fencepost.__file__).parent
    shutil.copytree(package, tmp_path / "fencepost", ignore=shutil.ignore_patterns("*.so"))
    file, seq = in_new_process(f"import warnings; warnings.simplefilter('ignore')\n{code}")
    assert file == str(tmp_path / "fencepost" / "__init__.py")
    assert seq == 1
