"""What the documentation has to tell, read from the code itself, and what of it is missing.

Needs no Sphinx: `complete` holds the built pages to it, and the tests hold it to the code.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

import fencepost
import fencepost.paths
from fencepost import errors
from fencepost.cli import exits, make_parser

FACETS = ("resources", "queue", "effects", "requests", "events", "runs", "feed")
ROOT = Path(__file__).parents[2]
SOURCES = (Path(fencepost.__file__).parent, ROOT / "stress" / "src", ROOT / "build_backend")
_VARIABLE = re.compile(
    r"\bFENCEPOST_[A-Z][A-Z_]*[A-Z]\b"
    r"|environ(?:\.get\(|\[)\s*[\"'](\w+)[\"'](?!\] = )"  # read, not set
)


def python_names() -> set[str]:
    """Everything public of the library, by the names under which it is documented."""
    names = {f"fencepost.{name}" for name in fencepost.__all__} - {"fencepost.FencepostError"}
    names |= {f"fencepost.errors.{name}" for name in error_classes()}
    names |= {f"fencepost.observing.{name}" for name in fencepost.observing.__all__}
    for cls in (fencepost.Store, fencepost.Lease, fencepost.observing.Hooks):
        full = _public(cls)
        names |= {f"{full}.{name}" for name in _methods(cls)}
    names |= {f"fencepost.paths.{name}" for name in vars(fencepost.paths) if _is_own(name)}
    for facet in FACETS:
        cls = getattr(__import__(f"fencepost.{facet}", fromlist=[facet]), facet.capitalize())
        full = f"{cls.__module__}.{cls.__name__}"
        names |= {full, *(f"{full}.{name}" for name in _methods(cls))}
    for name in {*fencepost.__all__, *fencepost.observing.__all__}:
        value = getattr(fencepost, name, None) or getattr(fencepost.observing, name)
        if dataclasses.is_dataclass(value) and isinstance(value, type):
            shown = (field.name for field in dataclasses.fields(value) if field.init)
            names |= {f"{_public(value)}.{field}" for field in shown}
    return names


def error_classes() -> dict[str, type[errors.FencepostError]]:
    """The errors by the names of their classes."""
    return {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.FencepostError)
    }


def _public(cls: type) -> str:
    in_public = fencepost if cls.__name__ in fencepost.__all__ else fencepost.observing
    return f"{in_public.__name__}.{cls.__name__}"


def _methods(cls: type) -> Iterator[str]:
    for name, _ in inspect.getmembers(
        cls, lambda one: inspect.isfunction(one) or isinstance(one, property)
    ):
        if not name.startswith("_"):
            yield name


def _is_own(name: str) -> bool:
    return inspect.getmodule(getattr(fencepost.paths, name)) is fencepost.paths


def commands() -> dict[str, set[str]]:
    """The commands and their options, `--help` left out."""
    (subparsers,) = [
        action
        for action in make_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return {
        name: {
            option
            for action in parser._actions
            for option in action.option_strings
            if option.startswith("--") and option != "--help"
        }
        for name, parser in subparsers.choices.items()
    }


def stress_commands() -> dict[str, set[str]]:
    """The commands of the harness and their options."""
    from fencepost_stress import cli

    return {
        name: {
            option
            for parameter in command.params
            if isinstance(parameter, click.Option)
            for option in parameter.opts
        }
        for name, command in (("stress", cli.stress), ("stress replay", cli.replay))
    }


def exit_codes() -> dict[int, str]:
    """What each exit code means."""
    return dict(exits.MEANINGS)


def variables() -> set[str]:
    """The environment variables that the sources read."""
    found = {fencepost.paths.BASE_VARIABLE}
    for folder in SOURCES:
        for path in folder.rglob("*.py"):
            for match in _VARIABLE.finditer(path.read_text("utf-8")):
                found.add(match[1] or match[0])
    return found


def missing_names(documented: Iterable[str]) -> list[str]:
    """The public names that have no entry."""
    return sorted(python_names() - set(documented))


def missing_commands(text: str, stress_text: str) -> Iterator[str]:
    """The commands and options that the reference of the command line does not have."""
    for page, wanted in ((text, commands()), (stress_text, stress_commands())):
        for command, options in wanted.items():
            if not re.search(rf"fencepost {command}\b", page):
                yield f"fencepost {command}"
            yield from (f"fencepost {command} {o}" for o in sorted(options) if o not in page)


def missing_codes(text: str) -> Iterator[str]:
    """The exit codes and meanings that a page does not tell."""
    for code, meaning in exit_codes().items():
        if meaning not in text or str(code) not in text:
            yield f"exit code {code}: {meaning}"


def missing_errors(text: str) -> Iterator[str]:
    """The errors' codes that their page does not have."""
    for name, cls in error_classes().items():
        if cls.code not in text.split():
            yield f"the code {cls.code} of {name}"


def missing_variables(text: str) -> Iterator[str]:
    """The environment variables that a page does not tell."""
    yield from sorted(name for name in variables() if name not in text.split())
