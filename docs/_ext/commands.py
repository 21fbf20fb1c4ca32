"""The parser of `fencepost` as its reference shows it."""

from __future__ import annotations

import argparse

from fencepost.cli import make_parser


def parser() -> argparse.ArgumentParser:
    """The parser without the exit codes under every command: the page has them once."""
    whole = make_parser()
    whole.epilog = None
    for action in whole._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                one.epilog = None
            action.choices["stress"].description = (
                "Prove the store's promises under contention and faults; "
                "its options are on the page of the stress command."
            )
    return whole
