"""Stores that do nothing wrong because they do nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from fencepost.engine.protocol import Row
from fencepost.failures import sqlite_failure

from .base import SOMETIMES, Mutant

_Result = TypeVar("_Result")
_SQLITE_BUSY = 5


class NothingEver(Mutant):
    name = "always-empty"
    bug = "there is never anything to claim"
    killers = (SOMETIMES,)

    def claim_runs(
        self,
        runner_id: str,  # noqa: ARG002
        claim_tokens: Sequence[str],  # noqa: ARG002
        lease_ms: int,  # noqa: ARG002
        exclude_run_ids: Sequence[str],  # noqa: ARG002
        now: int | None,
    ) -> list[Row]:
        self.reached()
        self._now(now)
        return []

    def claim_next(
        self,
        controllers: Sequence[str],  # noqa: ARG002
        claim_tokens: Sequence[str],  # noqa: ARG002
        lease_ms: int,  # noqa: ARG002
        now: int | None,
    ) -> list[Row]:
        self.reached()
        self._now(now)
        return []


class RefusesEverything(Mutant):
    name = "always-refuses"
    bug = "every call is refused, so no promise is ever tried"
    killers = (SOMETIMES,)

    def _write(self, work: Callable[[], _Result]) -> _Result:
        if getattr(work, "func", None) == self._create_schema:
            return super()._write(work)
        self.reached()
        raise sqlite_failure(_SQLITE_BUSY, self._path, "always busy")
