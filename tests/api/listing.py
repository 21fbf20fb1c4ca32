"""The public API as text, one line a name; `make api` records it in `fencepost.txt`.

What is public is what a program may use and keep: the names of the package and of its
public modules, the methods of what they give back, the fields of records, the codes of
errors, and the commands with their options and exit codes. It is read from the imported
package, so that a name that moves, and is still there, is no change.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from fencepost.cli import exits, make_parser
from fencepost.errors import FencepostError, refusal

MODULES = (
    "fencepost",
    "fencepost.errors",
    "fencepost.observing",
    "fencepost.observing.opentelemetry",
    "fencepost.observing.prometheus",
    "fencepost.paths",
)
FACETS = ("resources", "queue", "effects", "requests", "events", "runs", "feed")
INTERNAL = ("from_row", "from_stored", "of_new")
MADE_BY_CALLERS = ("OpenTelemetry", "StoreCollector")
RECORDED = Path(__file__).with_name("fencepost.txt")


def listing() -> str:
    """All of it, sorted, with a line feed at the end."""
    lines = {"fencepost.__version__: str"}
    for name in MODULES:
        module = import_module(name)
        for member in _names(module):
            lines |= set(_member(f"{name}.{member}", getattr(module, member)))
    for facet in FACETS:
        cls = getattr(import_module(f"fencepost.{facet}"), facet.capitalize())
        lines |= set(_members(f"fencepost.Store.{facet}", cls))
    lines |= set(_commands())
    return "\n".join(sorted(lines)) + "\n"


def _names(module: ModuleType) -> Iterator[str]:
    """What the module promises: its `__all__`, or what it defines itself without an underscore."""
    exported = getattr(module, "__all__", None)
    for name, value in vars(module).items():
        if exported is not None:
            public = name in exported and name != "__version__"
        else:
            own = getattr(value, "__module__", None) == module.__name__
            public = own and not name.startswith("_")
        # The engines make errors by a function, which is not for callers.
        if public and not isinstance(value, ModuleType) and value is not refusal:
            yield name


def _member(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, type):
        yield from _class(name, value)
    elif callable(value):
        yield f"{name}{_signature(value)}"
    else:
        yield f"{name}: {type(value).__name__}"


def _class(name: str, cls: type) -> Iterator[str]:
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    head = f"{name}({bases})" if bases else name
    if issubclass(cls, FencepostError):
        yield f"{head} code={cls.code!r} retryable={cls.retryable}"
        if "__init__" in vars(cls):
            given = inspect.signature(cls.__init__).parameters
            yield from (f"{name}.{field}" for field in given if field not in ("self", "message"))
        return
    yield head
    if dataclasses.is_dataclass(cls):
        for field in dataclasses.fields(cls):
            default = "" if field.default is dataclasses.MISSING else f" = {field.default!r}"
            yield f"{name}.{field.name}: {field.type}{default}"
    else:
        yield from (f"{name}.{attribute}" for attribute in _attributes(cls))
    if cls.__name__ in MADE_BY_CALLERS:
        yield f"{name}.__init__{_signature(cls.__init__)}"  # type: ignore[misc]
    yield from _members(name, cls)


def _attributes(cls: type) -> Iterator[str]:
    """What the class's documentation names as its attributes."""
    _, _, section = (inspect.getdoc(cls) or "").partition("Attributes:\n")
    for names in re.findall(r"^    (\w+(?:, \w+)*):", section, re.MULTILINE):
        yield from names.split(", ")


def _members(name: str, cls: type) -> Iterator[str]:
    fields = [field.name for field in dataclasses.fields(cls)] if _is_data(cls) else []
    for member in dir(cls):
        # Rows are how the engines give records.
        if member.startswith("_") or member in fields or member in INTERNAL:
            continue
        # What a class has from `dict` or `Warning`; PyPy's are functions like ours.
        if any(member in vars(base) for base in cls.__mro__ if base.__module__ == "builtins"):
            continue
        value = inspect.getattr_static(cls, member)
        if isinstance(value, property):
            returned = inspect.signature(value.fget).return_annotation if value.fget else None
            yield f"{name}.{member}: {returned} (property)"
        elif isinstance(value, (classmethod, staticmethod)):
            yield f"{name}.{member}{_signature(value.__func__)}"
        elif inspect.isfunction(value):
            yield f"{name}.{member}{_signature(value)}"
        elif inspect.ismemberdescriptor(value):
            yield f"{name}.{member}"


def _is_data(cls: type) -> bool:
    return dataclasses.is_dataclass(cls)


def _signature(function: Callable[..., Any]) -> str:
    """As in the source; `inspect` alone quotes annotations, and shows enumerations at length."""
    signature = inspect.signature(function)
    shown, star = [], False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        if parameter.kind is parameter.VAR_POSITIONAL:
            star = True
        text = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        text += parameter.name
        if parameter.annotation is not parameter.empty:
            text += f": {parameter.annotation}"
        if parameter.default is not parameter.empty:
            default = parameter.default
            text += f" = {default.name if isinstance(default, enum.Enum) else repr(default)}"
        shown.append(text)
    kind = "async " if inspect.iscoroutinefunction(function) else ""
    return f"({', '.join(shown)}) -> {kind}{signature.return_annotation}"


def _commands() -> Iterator[str]:
    for action in make_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, parser in action.choices.items():
                yield f"$ fencepost {name}"
                for option in parser._actions:
                    shown = "|".join(option.option_strings) or (option.metavar or option.dest)
                    if shown != "-h|--help":
                        yield f"$ fencepost {name} {shown}"
    for name, code in vars(exits).items():
        if name.isupper() and isinstance(code, int):
            yield f"exit code {int(code)}: {name}"


if __name__ == "__main__":
    RECORDED.write_text(listing(), "utf-8")
