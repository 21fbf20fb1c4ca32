"""What doctor finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SEVERITIES = ("error", "warning", "note")
"""An error is damage or work that stands still; a warning may become one; a note is none."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Attributes:
        code: a stable word for this kind of finding.
        severity: one of `SEVERITIES`.
        message: what was found.
        advice: what to do about it.
        details: more of it as plain JSON values; the members depend on the code.
    """

    code: str
    severity: str
    message: str
    advice: str
    details: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "advice": self.advice,
            "details": self.details,
        }
