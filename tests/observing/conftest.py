"""What the tests of listeners share."""

from __future__ import annotations

import pytest

from tests.observing.heard import Heard


@pytest.fixture
def heard() -> Heard:
    return Heard()
