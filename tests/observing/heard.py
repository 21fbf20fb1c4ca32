"""A listener for the tests."""

from __future__ import annotations

from typing import Any

from fencepost.observing import StoreEvent


class Heard(list[StoreEvent]):
    """A listener that keeps what it is told."""

    def __call__(self, event: StoreEvent) -> None:
        self.append(event)

    def facts(self) -> list[dict[str, Any]]:
        """The events but for the calls, without what all have; the list is empty then."""
        common = {"path", "engine", "operation"}
        found = [
            {name: value for name, value in event.to_dict().items() if name not in common}
            for event in self
            if event.kind != "call"
        ]
        self.clear()
        return found
