"""What all tests of the repository need before they begin."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    # A shell starts its background jobs with SIGINT ignored, and so would every process of a test.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
