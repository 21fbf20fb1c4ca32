"""I1: the database is sound at the end, and the write-ahead log stayed bounded."""

from __future__ import annotations

from collections.abc import Sequence

from ..operations import Event
from .base import End, Finding, Ledger


class Integrity:
    id = "I1"
    promise = "integrity and foreign keys are clean; the write-ahead log stays bounded"

    def __init__(self) -> None:
        self.ledger = Ledger(self)

    def feed(self, events: Sequence[Event]) -> None:
        """Nothing: this property is about the file."""

    def finish(self, end: End) -> Finding:
        self.ledger.exercised = end.wal_samples
        for line in end.integrity:
            self.ledger.violation(f"integrity_check: {line}")
        for line in end.foreign_keys:
            self.ledger.violation(f"foreign_key_check: {line}")
        if end.wal_peak_bytes > end.wal_limit_bytes:
            self.ledger.violation(
                f"the write-ahead log grew to {end.wal_peak_bytes} bytes, "
                f"over its limit of {end.wal_limit_bytes}"
            )
        return self.ledger.finding(wal_peak_bytes=end.wal_peak_bytes)
