"""The pytest plugin: a fixture that stresses code of your own in your own test suite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .library import Result


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fencepost")
    group.addoption(
        "--stress-seed",
        type=int,
        default=None,
        help="seed of stress scenarios; drawn by default, and named when one fails",
    )
    group.addoption(
        "--stress-seconds",
        type=float,
        default=None,
        help="seconds of load of each stress scenario, whatever the test says",
    )


@pytest.fixture
def stress_scenario(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Result]:
    """A callable that runs a function in many processes under faults, and judges the store.

    It takes the function and the options of `fencepost_stress.library.run_code`, fails the
    test unless everything was kept, and returns the `Result`.
    """
    # Only here: whoever has the harness installed should not pay for it in every test run.
    from .library import run_code

    runs = iter(range(1, 1000))

    def stress(function: Callable[[Any], None], **options: Any) -> Result:
        seed = request.config.getoption("--stress-seed")
        seconds = request.config.getoption("--stress-seconds")
        if seed is not None:
            options["seed"] = seed
        if seconds is not None:
            options["seconds"] = seconds
        result = run_code(function, tmp_path / f"stress-{next(runs)}", **options)
        if not result.valid:
            again = f"again: pytest '{request.node.nodeid}' --stress-seed {result.verdict.seed}"
            pytest.fail(f"{result.explain()}\n{again}", pytrace=False)
        return result

    return stress
