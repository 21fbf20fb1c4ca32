"""`fencepost completion SHELL`: completion scripts, made from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .exits import OK

_SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class _Option:
    names: tuple[str, ...]
    help: str
    choices: tuple[str, ...]
    takes_value: bool


@dataclass(frozen=True, slots=True)
class _Command:
    name: str
    help: str
    options: tuple[_Option, ...]
    words: tuple[str, ...]
    """What a positional argument can be, where it is one of a few."""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "completion",
        help="print a completion script for a shell",
        description="Print a completion script: `source <(fencepost completion bash)`, and alike.",
    )
    parser.add_argument("shell", choices=_SHELLS)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    from . import make_parser  # it imports this module

    commands = list(_commands(make_parser()))
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell]
    print("\n".join(write(commands)))
    return OK


def _commands(parser: argparse.ArgumentParser) -> Iterator[_Command]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, sub in action.choices.items():
                yield _command(name, helps.get(name, ""), sub)


def _command(name: str, help: str, parser: argparse.ArgumentParser) -> _Command:
    options: list[_Option] = []
    words: list[str] = []
    for action in parser._actions:
        choices = tuple(str(choice) for choice in action.choices or ())
        if action.option_strings:
            options.append(
                _Option(tuple(action.option_strings), action.help or "", choices, action.nargs != 0)
            )
        else:
            words.extend(choices)
    return _Command(name, help, tuple(options), tuple(words))


def _names(command: _Command) -> str:
    return " ".join(name for option in command.options for name in option.names)


def _bash(commands: list[_Command]) -> Iterator[str]:
    yield "_fencepost() {"
    yield '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"'
    yield '    local name="" options="" words="" i'
    yield "    for ((i = 1; i < COMP_CWORD; i++)); do"
    yield '        [[ ${COMP_WORDS[i]} == -* ]] || { name="${COMP_WORDS[i]}"; break; }'
    yield "    done"
    yield '    case "$name" in'
    every = " ".join(command.name for command in commands)
    yield f'        "") options="--help --version" words="{every}" ;;'
    for command in commands:
        yield f'        {command.name}) options="{_names(command)}"'
        yield f'            words="{" ".join(command.words)}"'
        valued = [option for option in command.options if option.takes_value]
        if valued:
            yield '            case "$before" in'
            for option in valued:
                # Of an option without choices the value may be a path.
                yield f'                {"|".join(option.names)}) options=""'
                yield f'                    words="{" ".join(option.choices)}" ;;'
            yield "            esac"
        yield "            ;;"
    yield "    esac"
    yield '    if [[ $word == -* ]]; then words="$options"; fi'
    yield '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")'
    yield "    if [[ ${#COMPREPLY[@]} -eq 0 && $word != -* && -n $name ]]; then"
    yield "        compopt -o filenames 2>/dev/null"
    yield '        mapfile -t COMPREPLY < <(compgen -f -- "$word")'
    yield "    fi"
    yield "}"
    yield "complete -F _fencepost fencepost"


def _zsh(commands: list[_Command]) -> Iterator[str]:
    yield "#compdef fencepost"
    yield "_fencepost() {"
    yield "    local -a commands"
    yield "    commands=("
    for command in commands:
        yield f"        {_quoted(f'{command.name}:{_plain(command.help)}')}"
    yield "    )"
    yield "    if (( CURRENT == 2 )); then _describe 'command' commands; return; fi"
    yield "    case $words[2] in"
    for command in commands:
        yield f"        {command.name}) shift words; (( CURRENT-- ))"
        specs = [spec for option in command.options for spec in _zsh_specs(option)]
        rest = f"({' '.join(command.words)})" if command.words else "_files"
        quoted = " ".join(_quoted(spec) for spec in specs)
        yield f"            _arguments {quoted} '*:word:{rest}' ;;"
    yield "    esac"
    yield "}"
    yield 'if [[ $zsh_eval_context == *loadautofunc* ]]; then _fencepost "$@"'
    yield "else compdef _fencepost fencepost; fi"


def _zsh_specs(option: _Option) -> Iterator[str]:
    for name in option.names:
        spec = f"{name}[{_plain(option.help)}]"
        if option.takes_value:
            spec += f":value:({' '.join(option.choices)})" if option.choices else ":value:_files"
        yield spec


def _fish(commands: list[_Command]) -> Iterator[str]:
    for command in commands:
        yield (
            "complete -c fencepost -f -n __fish_use_subcommand "
            f"-a {command.name} -d {_quoted(_plain(command.help))}"
        )
        within = f"complete -c fencepost -n '__fish_seen_subcommand_from {command.name}'"
        for option in command.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = ""
            if option.takes_value:
                value = f" -x -a {_quoted(' '.join(option.choices))}" if option.choices else " -r"
            yield f"{within} {names}{value} -d {_quoted(_plain(option.help))}"
        if command.words:
            yield f"{within} -f -a {_quoted(' '.join(command.words))}"


def _plain(text: str) -> str:
    """Help text without what means something to a shell's completion."""
    return text.replace("%(default)s", "").translate({ord(c): "" for c in "[]:'`\\$"})


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
