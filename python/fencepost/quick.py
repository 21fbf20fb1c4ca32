"""What the extension answers sooner than the rules written in Python, where it is installed.

Its yes is one that the rules would give, and whatever else it sees it leaves to them: no
rule, and no word of a refusal, lives there. Without the extension everything is left.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .engine.select import native_module
from .errors import EngineUnavailableError

_NAMES = ("canonical_json", "is_run_claim", "are_keys", "holds")


def use(native: ModuleType | None) -> None:
    """Ask this extension from now on; None leaves everything to the rules."""
    for name in _NAMES:
        globals()[name] = _left_to_the_rules if native is None else getattr(native, name)


def choose() -> None:
    """Ask the extension that is installed, unless the environment wants Python alone."""
    native = None
    if os.environ.get("FENCEPOST_ENGINE") != "python":
        try:
            native = native_module()
        except EngineUnavailableError:
            # Who opens a store with it is told.
            native = None
    use(native)


def _left_to_the_rules(*_arguments: object) -> None:
    return None


def _chosen_first(name: str) -> Callable[..., Any]:
    def ask(*arguments: object) -> Any:
        choose()
        return globals()[name](*arguments)

    return ask


# The extension is looked for at the first question: an import alone does not need it.
canonical_json: Callable[[object, int | None], str | None] = _chosen_first("canonical_json")
"""The canonical text of a value, of at most so many bytes; None where it is not sure."""

is_run_claim: Callable[[object, object], bool | None] = _chosen_first("is_run_claim")
"""Whether these are, for sure, a run id and a claim token."""

are_keys: Callable[..., bool | None] = _chosen_first("are_keys")
"""Whether all of these are, for sure, keys."""

holds: Callable[[tuple[Any, ...], str], bool | None] = _chosen_first("holds")
"""Whether a row is, for sure, of these kinds, a letter a column: `t`ext or `i`nteger, or null."""
