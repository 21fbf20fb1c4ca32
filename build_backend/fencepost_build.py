"""Builds fencepost: with its Rust extension by maturin, or without it by hatchling.

`FENCEPOST_BUILD` chooses. `native` builds the extension or fails. `pure` leaves it out.
`auto`, the default, builds it where a cargo that is new enough is found, and otherwise
says why not and leaves it out. Only what the chosen build needs is asked for, and no
toolchain is ever downloaded. What a pure build says stays with it: `fencepost info`
repeats it. The source distribution is made by hatchling, so that it needs no cargo either.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

CHOICES = ("auto", "native", "pure")
NATIVE = ("maturin>=1.9.4,<2",)
PURE = ("hatchling>=1.26,<2",)
PACKAGE = Path("python", "fencepost")

Settings: TypeAlias = "Mapping[str, Any] | None"


@dataclass(frozen=True)
class Choice:
    """What is built; `reason` says why it has no extension, and is empty where it has."""

    native: bool
    reason: str = ""
    asked: bool = False


def choose() -> Choice:
    """What `FENCEPOST_BUILD` and this machine lead to. SystemExit where that is nothing."""
    asked = os.environ.get("FENCEPOST_BUILD", "auto")
    if asked not in CHOICES:
        raise SystemExit(f"FENCEPOST_BUILD: {asked!r} is none of {', '.join(CHOICES)}")
    if asked == "pure":
        return Choice(native=False, reason="this is the pure build", asked=True)
    missing = _missing()
    if not missing:
        return Choice(native=True)
    if asked == "native":
        raise SystemExit(
            f"FENCEPOST_BUILD=native can't be done: {missing}. Install what is missing (see "
            "https://rustup.rs), or build without the extension: FENCEPOST_BUILD=pure"
        )
    return Choice(native=False, reason=f"built from source, where {missing}")


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    """What a source distribution needs."""
    return list(PURE)


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """What the chosen build needs, and nothing that only the other one needs."""
    choice = choose()
    _say(choice)
    return list(NATIVE if choice.native else PURE)


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """The same as for a wheel."""
    return get_requires_for_build_wheel(config_settings)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """The source distribution."""
    return str(import_module("hatchling.build").build_sdist(sdist_directory, config_settings))


def build_wheel(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """The wheel of the chosen build."""
    return _build("build_wheel", wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """A wheel that points to this source; the extension, where it has one, is built into it."""
    choose()  # Refuses before anything is removed.
    # An import must never find an extension that does not belong to this source.
    for kind in ("so", "pyd", "dylib"):
        for stale in PACKAGE.glob(f"_native*.{kind}"):
            print(f"fencepost: removing {stale}, of an earlier build", file=sys.stderr)
            stale.unlink()
    return _build("build_editable", wheel_directory, config_settings, metadata_directory)


def _build(hook: str, *arguments: Any) -> str:
    choice = choose()
    _say(choice)
    if not choice.native:
        return str(getattr(import_module("hatchling.build"), hook)(*arguments))
    # Maturin would fetch a toolchain of its own accord where it finds no cargo.
    os.environ["MATURIN_NO_INSTALL_RUST"] = "1"
    try:
        return str(getattr(import_module("maturin"), hook)(*arguments))
    except SystemExit:
        print(
            "fencepost: the native engine did not build, see above. FENCEPOST_BUILD=pure builds "
            "without it",
            file=sys.stderr,
            flush=True,
        )
        raise


def _say(choice: Choice) -> None:
    if choice.native or choice.asked:
        return
    print(
        f"fencepost: no native engine: {choice.reason}. What is installed runs on the sqlite3 of "
        "the interpreter; `fencepost info` says so. FENCEPOST_BUILD=native insists on the "
        "native one.",
        file=sys.stderr,
        flush=True,
    )


def _missing() -> str:
    """What a native build lacks here, empty where it lacks nothing."""
    if sys.implementation.name != "cpython":
        return f"{platform.python_implementation()} has no stable ABI for extensions"
    needed = _needed_rust()
    cargo = shutil.which("cargo")
    if cargo is None:
        return f"no cargo was found (Rust {needed} or newer is needed)"
    # A cargo of rustup may stand for a toolchain that is not there, and would fetch it.
    environment = {**os.environ, "RUSTUP_AUTO_INSTALL": "0"}
    try:
        asked = subprocess.run(
            [cargo, "--version"], capture_output=True, text=True, check=False, env=environment
        )
    except OSError as error:
        return f"{cargo} does not run: {error.strerror}"
    found = re.match(r"cargo (\d+)\.(\d+)", asked.stdout)
    if asked.returncode != 0 or found is None:
        said = (asked.stderr or asked.stdout).strip().partition("\n")[0]
        return f"{cargo} does not run: {said}"
    if (int(found[1]), int(found[2])) < tuple(int(part) for part in needed.split(".")):
        return f"cargo is {found[1]}.{found[2]} (Rust {needed} or newer is needed)"
    return ""


def _needed_rust() -> str:
    workspace: dict[str, Any] = tomllib.loads(Path("Cargo.toml").read_text("utf-8"))
    return str(workspace["workspace"]["package"]["rust-version"])
