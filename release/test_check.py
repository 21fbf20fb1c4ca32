"""The check finds what it is for: each test spoils the artefacts of `dist/` in one way.

Run by `make dist-check`, after the check has found nothing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from . import check
from .artefacts import Artefact, load


@pytest.fixture(scope="session")
def artefacts() -> dict[str, Artefact]:
    found, strange = load(check.ROOT / "dist")
    assert not strange
    return {artefact.kind: artefact for artefact in found}


def spoilt(artefact: Artefact, **contents: bytes | None) -> Artefact:
    """A copy with these files put in, or taken out."""
    changed = {**artefact.contents, **contents}
    return replace(
        artefact, contents={name: text for name, text in changed.items() if text is not None}
    )


def test_a_missing_and_a_strange_artefact(artefacts: dict[str, Artefact]) -> None:
    some = [artefact for kind, artefact in artefacts.items() if kind != "fencepost-pure"]
    found = list(check.findings(some, ["fencepost-0.1.0-cp311-cp311-linux_x86_64.whl"]))
    assert found == [
        "fencepost-0.1.0-cp311-cp311-linux_x86_64.whl: is no artefact of a release",
        "fencepost-pure: was not built",
    ]


def test_another_version(artefacts: dict[str, Artefact]) -> None:
    (finding,) = check.versions_differ([replace(artefacts["fencepost-sdist"], version="9.9")])
    assert "has version 9.9, pyproject.toml has " in finding


def test_files_that_came_and_went(artefacts: dict[str, Artefact]) -> None:
    sdist = artefacts["fencepost-sdist"]
    changed = spoilt(sdist, **{"rust/secret.pem": b"", "Cargo.lock": None, "conftest.py": None})
    assert list(check.files_differ(changed)) == [
        f"{sdist.path.name}: rust/secret.pem is not in fencepost-sdist.txt, nor tracked by git",
        f"{sdist.path.name}: Cargo.lock is missing",
        f"{sdist.path.name}: conftest.py is missing",
    ]


def test_a_link_that_leads_nowhere(artefacts: dict[str, Artefact]) -> None:
    for artefact in artefacts.values():
        name = f"{artefact.dist_info}/METADATA" if artefact.wheel else "PKG-INFO"
        text = artefact.contents[name] + b"[a](docs/a.md) [b](https://example.org) [c](#c)\n"
        assert list(check.links_lead_nowhere(artefact)) == []
        assert list(check.links_lead_nowhere(spoilt(artefact, **{name: text}))) == [
            f"{artefact.path.name}: its description links to docs/a.md, which is no address",
            f"{artefact.path.name}: its description links to #c, which is no address",
        ]


@pytest.mark.parametrize("content", [None, b"another licence"])
def test_a_licence_that_is_not_ours(content: bytes | None, artefacts: dict[str, Artefact]) -> None:
    for artefact in artefacts.values():
        name = f"{artefact.dist_info}/licenses/LICENSE" if artefact.wheel else "LICENSE"
        (finding,) = check.misses_licences(spoilt(artefact, **{name: content}))
        assert finding.endswith("is not the repository's LICENSE")


@pytest.mark.parametrize("name", ["fencepost/_native.abi3.so", "fencepost/x.rs", "Cargo.toml"])
def test_a_pure_wheel_that_is_not(name: str, artefacts: dict[str, Artefact]) -> None:
    (finding,) = check.is_not_pure(spoilt(artefacts["fencepost-pure"], **{name: b""}))
    assert f"{name} has no place in a pure wheel" in finding


def test_two_extensions(artefacts: dict[str, Artefact]) -> None:
    changed = spoilt(artefacts["fencepost-native"], **{"fencepost/_native.so": b""})
    (finding,) = check.extension_is_wrong(changed)
    assert "not fencepost/_native.abi3.so alone" in finding


def test_an_extension_that_needs_the_systems_sqlite(
    artefacts: dict[str, Artefact], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that links it would be reported: here libm stands for what is not allowed."""
    monkeypatch.setattr(check, "SYSTEM_LIBRARIES", check.SYSTEM_LIBRARIES - {"libm.so.6"})
    (finding,) = check.extension_is_wrong(artefacts["fencepost-native"])
    assert finding.endswith("its extension needs libm.so.6 of the system")


def test_a_wheel_for_an_older_system_than_it_is(artefacts: dict[str, Artefact]) -> None:
    (finding,) = check.extension_is_wrong(
        replace(artefacts["fencepost-native"], platform="manylinux_2_5_x86_64")
    )
    assert "auditwheel finds manylinux_2_17_" in finding


def test_wheels_with_other_code(artefacts: dict[str, Artefact]) -> None:
    native, pure = artefacts["fencepost-native"], artefacts["fencepost-pure"]
    assert list(check.wheels_differ(native, spoilt(pure, **{"fencepost/store.py": b""}))) == [
        "fencepost/store.py: differs between the native and the pure wheel"
    ]
