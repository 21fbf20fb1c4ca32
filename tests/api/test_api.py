"""The public API does not change unnoticed."""

from __future__ import annotations

import difflib

from tests.api.listing import RECORDED, listing

NOTICE = """\
The public API is another than the recorded one. Where that is meant: `make api`, and a
line in CHANGELOG.md that says what changed; docs/versions.md says what may change when.
"""


def test_the_public_api_is_the_recorded_one() -> None:
    recorded, present = RECORDED.read_text("utf-8"), listing()
    changes = difflib.unified_diff(
        recorded.splitlines(), present.splitlines(), "recorded", "present", lineterm="", n=0
    )
    assert recorded == present, NOTICE + "\n".join(changes)
