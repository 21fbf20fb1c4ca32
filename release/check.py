"""Checks the artefacts in `dist/` before anybody gets them: `python -m release.check`.

Every finding is said, then the exit code is 1.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from . import readme, third_party, versions
from .artefacts import NAMES, Artefact, load

ROOT = Path(__file__).parent.parent
FILES = Path(__file__).parent / "files"
EXTENSIONS = (".so", ".pyd", ".dylib")
EXTENSION = "fencepost/_native.abi3.so"
# What glibc itself is made of; everything else that the extension needs is in it.
SYSTEM_LIBRARIES = {
    *("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libgcc_s.so.1"),
    *("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"),
}
SAME_METADATA = ("Name", "Version", "Summary", "Requires-Python", "License-Expression")


def findings(artefacts: list[Artefact], strange: list[str]) -> Iterator[str]:
    """Everything that is wrong with a set of artefacts."""
    yield from (f"{name}: is no artefact of a release" for name in strange)
    kinds = {artefact.kind: artefact for artefact in artefacts}
    yield from (f"{kind}: was not built" for kind in NAMES if kind not in kinds)
    yield from versions_differ(artefacts)
    for artefact in artefacts:
        yield from files_differ(artefact)
        yield from misses_licences(artefact)
        yield from links_lead_nowhere(artefact)
    if "fencepost-native" in kinds:
        yield from extension_is_wrong(kinds["fencepost-native"])
    for kind in ("fencepost-pure", "stress-wheel"):
        if kind in kinds:
            yield from is_not_pure(kinds[kind])
    if {"fencepost-native", "fencepost-pure"} <= set(kinds):
        yield from wheels_differ(kinds["fencepost-native"], kinds["fencepost-pure"])
    yield from tool_complains("twine", "check", "--strict", *(str(a.path) for a in artefacts))


def versions_differ(artefacts: list[Artefact]) -> Iterator[str]:
    """The sources and the artefacts name one version."""
    said = versions.said()
    for artefact in artefacts:
        said[artefact.path.name] = artefact.version
        said[f"{artefact.path.name}, its metadata"] = artefact.metadata["Version"]
    wanted = said["pyproject.toml"]
    yield from (
        f"{where}: has version {version}, pyproject.toml has {wanted}"
        for where, version in said.items()
        if version != wanted
    )


def files_differ(artefact: Artefact) -> Iterator[str]:
    """The files are those of the list in `release/files/`, and no others."""
    wanted, there = listed(artefact.kind), set(artefact.listing())
    for name in sorted(there - wanted):
        yield f"{artefact.path.name}: {name} is not in {artefact.kind}.txt, nor tracked by git"
    for name in sorted(wanted - there):
        yield f"{artefact.path.name}: {name} is missing"


def listed(kind: str) -> set[str]:
    """The files that an artefact has to have.

    A line of its list is the name of a file, or `inside/ <- folder/`: what git tracks in
    this folder of the repository is, all of it, in that folder of the artefact.
    """
    names = set()
    for line in (FILES / f"{kind}.txt").read_text("utf-8").splitlines():
        inside, arrow, folder = line.partition(" <- ")
        if not arrow:
            names.add(line)
            continue
        tracked = subprocess.run(
            ["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True
        )
        names |= {inside + name.removeprefix(folder) for name in tracked.stdout.splitlines()}
    return names


def misses_licences(artefact: Artefact) -> Iterator[str]:
    """Each licence file that the metadata names is there, and it is that of the repository."""
    named = artefact.metadata.get_all("License-File", [])
    if "LICENSE" not in named:
        yield f"{artefact.path.name}: its metadata names no LICENSE"
    for name in named:
        inside = f"{artefact.dist_info}/licenses/{name}" if artefact.wheel else name
        if artefact.contents.get(inside) != (ROOT / name).read_bytes():
            yield f"{artefact.path.name}: {inside} is not the repository's {name}"


def links_lead_nowhere(artefact: Artefact) -> Iterator[str]:
    """The description is read on an index, where the repository's files are not beside it."""
    for target in readme.relative_links(artefact.description):
        yield f"{artefact.path.name}: its description links to {target}, which is no address"


def extension_is_wrong(wheel: Artefact) -> Iterator[str]:
    """One extension, of the stable ABI, for old systems, that brings its SQLite along."""
    extensions = [name for name in wheel.contents if name.endswith(EXTENSIONS)]
    if extensions != [EXTENSION]:
        yield f"{wheel.path.name}: has the extensions {extensions}, not {EXTENSION} alone"
        return
    if "manylinux" not in wheel.platform:
        yield f"{wheel.path.name}: is for {wheel.platform}, which is no manylinux"
    dynamic = ELFFile(io.BytesIO(wheel.contents[EXTENSION])).get_section_by_name(".dynamic")
    if not isinstance(dynamic, DynamicSection):
        yield f"{wheel.path.name}: its extension is no shared library"
        return
    needed = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
    for library in sorted(needed - SYSTEM_LIBRARIES):
        yield f"{wheel.path.name}: its extension needs {library} of the system"
    tag = _audited_platform(wheel)
    if tag not in wheel.platform:
        yield f"{wheel.path.name}: auditwheel finds {tag}"
    yield from tool_complains("abi3audit", "--strict", "--summary", str(wheel.path))


def _audited_platform(wheel: Artefact) -> str:
    done = _tool("auditwheel", "show", "--json", str(wheel.path))
    return str(json.loads(done.stdout)["overall_tag"]) if done.returncode == 0 else done.stderr


def is_not_pure(wheel: Artefact) -> Iterator[str]:
    """No extension, nothing of Rust, and its metadata says so."""
    for name in wheel.contents:
        if name.endswith((*EXTENSIONS, ".rs")) or Path(name).name.startswith("Cargo."):
            yield f"{wheel.path.name}: {name} has no place in a pure wheel"
    if b"Root-Is-Purelib: true" not in wheel.contents[f"{wheel.dist_info}/WHEEL"]:
        yield f"{wheel.path.name}: does not say that it is pure"


def wheels_differ(native: Artefact, pure: Artefact) -> Iterator[str]:
    """Both wheels hold the same Python and SQL, and say the same of themselves."""
    ours, theirs = native.package(), pure.package()
    for name in sorted(set(ours) | set(theirs)):
        if name not in (EXTENSION, "fencepost/_build.txt") and ours.get(name) != theirs.get(name):
            yield f"{name}: differs between the native and the pure wheel"
    for key in SAME_METADATA:
        if native.metadata[key] != pure.metadata[key]:
            yield f"{key}: {native.metadata[key]!r} (native) is not {pure.metadata[key]!r} (pure)"


def tool_complains(name: str, *arguments: str) -> Iterator[str]:
    """What a tool of the environment has against the artefacts."""
    done = _tool(name, *arguments)
    if done.returncode != 0:
        yield f"{name}: {(done.stdout + done.stderr).strip()}"


def _tool(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def main(arguments: list[str] | None = None) -> int:
    """Check or record; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m release.check", description=__doc__)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where the artefacts are")
    asked = parser.parse_args(arguments)
    artefacts, strange = load(asked.dist)
    wrong = list(findings(artefacts, strange))
    if readme.main(["--check"]):
        wrong.append(f"{readme.FILE.name}: see above")
    if third_party.main(["--check"]):
        wrong.append(f"{third_party.FILE.name}: see above")
    for finding in wrong:
        print(finding, file=sys.stderr)
    for artefact in artefacts:
        print(f"{artefact.path.name}: {len(artefact.contents)} files")
    print(f"release check: {len(wrong)} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
