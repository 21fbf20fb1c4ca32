"""The exit codes of every command, in one place."""

from __future__ import annotations

OK = 0
FAILED = 1
UNDECIDED = 2
INTERRUPTED = 130
BAD_USAGE = 254
HARNESS_FAILED = 255

MEANINGS = {
    OK: "done, and nothing is wrong",
    FAILED: "something is wrong, is not there, or was refused; standard error says what",
    UNDECIDED: "undecided (stress)",
    INTERRUPTED: "interrupted by Ctrl-C",
    BAD_USAGE: "bad usage; nothing was done",
    HARNESS_FAILED: "the harness itself failed (stress)",
}


def described() -> str:
    """The codes as the help shows them."""
    return "exit codes:\n" + "\n".join(f"  {code:<5}{text}" for code, text in MEANINGS.items())
