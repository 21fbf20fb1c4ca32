"""Warns of what is public and not documented; `make docs` fails on a warning."""

from __future__ import annotations

import promised
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

COMMAND_LINE = "reference/command-line"
STRESS_COMMAND_LINE = "reference/stress-command-line"
ENVIRONMENT = "reference/environment"
ERRORS = "reference/errors"

_logger = logging.getLogger(__name__)


def check(_app: Sphinx, env: BuildEnvironment) -> None:
    def text(page: str) -> str:
        return env.get_doctree(page).astext()

    missing = [
        *promised.missing_names(env.domaindata["py"]["objects"]),
        *promised.missing_commands(text(COMMAND_LINE), text(STRESS_COMMAND_LINE)),
        *promised.missing_codes(text(COMMAND_LINE)),
        *promised.missing_errors(text(ERRORS)),
        *promised.missing_variables(text(ENVIRONMENT)),
    ]
    for what in missing:
        _logger.warning("%s is not documented", what)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
