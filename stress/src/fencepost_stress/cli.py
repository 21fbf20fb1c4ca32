"""`fencepost stress`: run the harness, check saved evidence, try the mutants."""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from rich.console import Console

from . import ending as endings, plan as plans, profiles, report, trials, verdict as verdicts
from .check import check
from .mutants import MUTANTS
from .plan import FAULTS, FaultKind, Plan, Synchronous, make_plan
from .profiles import PROFILES
from .progress import Progress
from .run import HarnessError, execute
from .shrink import by_words, shrink
from .sut import ENGINES, MUTANT, capabilities, command_line
from .sut.systems import UnknownSystemError
from .verdict import EXIT_CODES, RunVerdict, Verdicts
from .workloads import CUSTOM, WORKLOADS

EXIT_BAD_USAGE = 254
EXIT_HARNESS_FAILURE = 255

_SEEDS = 1_000_000
_SHRINK_SECONDS = 60.0
_SHRUNK = "shrunk"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code.

    0 valid, 1 invalid (or a mutant was not caught), 2 unknown, 254 bad usage,
    255 the harness itself failed.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    command: click.Command = stress
    if arguments[:1] == ["replay"]:
        command, arguments = replay, arguments[1:]
    try:
        code = command.main(arguments, prog_name=_prog(command), standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return EXIT_BAD_USAGE
    except (click.Abort, KeyboardInterrupt):
        print("interrupted; all workers are gone, nothing was decided", file=sys.stderr)
        return EXIT_HARNESS_FAILURE
    except UnknownSystemError as error:
        print(f"fencepost stress: {error}", file=sys.stderr)
        return EXIT_BAD_USAGE
    except (HarnessError, OSError) as error:
        print(f"fencepost stress: {error}", file=sys.stderr)
        return EXIT_HARNESS_FAILURE
    except Exception:  # noqa: BLE001 - a defect of the harness must not look like a verdict
        traceback.print_exc()
        return EXIT_HARNESS_FAILURE
    return int(code)


def _prog(command: click.Command) -> str:
    return "fencepost stress" if command is stress else "fencepost stress replay"


def _fault_kinds(_context: object, _parameter: object, value: str) -> tuple[FaultKind, ...]:
    named = [] if value in {"", "none"} else value.split(",")
    named = list(FAULTS) if value == "all" else named
    for name in named:
        if name not in FAULTS:
            raise click.BadParameter(f"{name!r} is none of {', '.join(FAULTS)}, none")
    return tuple(kind for kind in FAULTS if kind in named)


@click.command(
    epilog="'fencepost stress replay DIR' decides saved evidence again, running nothing."
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice([*ENGINES, "all"]),
    help="What to test; may be given several times. Default: all.",
)
@click.option(
    "--sut",
    "systems",
    multiple=True,
    metavar="NAME",
    help="Test another queue: an adapter that comes along, or module:Class.",
)
@click.option("--command", help="Test a queue behind a command that speaks the protocol.")
@click.option("--processes", type=click.IntRange(2, 256), help="Default: the profile's.")
@click.option(
    "--seconds",
    type=click.FloatRange(1, 864_000),
    help="Seconds of load for each run. Default: the profile's.",
)
@click.option(
    "--faults",
    default=None,
    callback=lambda context, parameter, value: (
        None if value is None else _fault_kinds(context, parameter, value)
    ),
    help=f"Of {', '.join(FAULTS)}, with commas between; or all; or none. "
    "Default: the profile's, for mutants those that they need.",
)
@click.option("--seed", type=click.IntRange(0), default=None, help="Default: drawn, and reported.")
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default="quick",
    show_default=True,
    help="quick: kills and pauses on every engine. ci: all faults, and some mutants. "
    "soak: all faults for ten minutes. mutants: as --mutants.",
)
@click.option("--workload", type=click.Choice(list(WORKLOADS)), default="mixed", show_default=True)
@click.option(
    "--synchronous",
    type=click.Choice(["full", "normal"]),
    default="normal",
    show_default=True,
    help="The store's; a killed process loses nothing with either.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Keep the evidence here. Default: a temporary folder, removed after a valid run.",
)
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Carry out this plan.json, and nothing that the other options say.",
)
@click.option(
    "--shrink",
    "budget",
    type=click.FloatRange(0),
    default=_SHRINK_SECONDS,
    show_default=True,
    help="Seconds for running a failed plan again and making it smaller; 0: leave it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON on stdout.")
@click.option("--mutants", is_flag=True, help="Try the broken stores NAMES; default all of them.")
@click.argument("names", nargs=-1, metavar="[NAMES]...")
def stress(
    engines: tuple[str, ...],
    systems: tuple[str, ...],
    command: str | None,
    processes: int | None,
    seconds: float | None,
    faults: tuple[FaultKind, ...] | None,
    seed: int | None,
    profile: str,
    workload: str,
    synchronous: Synchronous,
    out: Path | None,
    plan_file: Path | None,
    budget: float,
    as_json: bool,
    mutants: bool,
    names: tuple[str, ...],
) -> int:
    """Let processes contend on one database, hurt them, and judge the store by evidence."""
    mutants = mutants or profile == profiles.MUTANTS
    usual = PROFILES[profiles.MUTANTS if mutants else profile]
    _refuse(names, mutants, engines, plan_file)
    others = command_line.named(systems, command)
    if others and (mutants or engines or plan_file is not None):
        raise click.UsageError("--sut and --command go without --engine, --mutants and --plan")
    if others and not set(faults or ()) <= set(command_line.FAULTS):
        raise click.UsageError(f"on other queues: {', '.join(command_line.FAULTS)}, none")
    if others and workload not in capabilities.WORKLOADS:
        raise click.UsageError(f"on other queues: --workload {' or '.join(capabilities.WORKLOADS)}")
    if seed is None:
        seed = random.randrange(_SEEDS)

    def make(engine: str) -> Plan:
        return make_plan(
            seed=seed,
            engine=engine,
            processes=processes or usual.processes,
            seconds=seconds or usual.seconds,
            faults=usual.faults if faults is None else faults,
            profile=profile,
            workload=workload,
            synchronous=synchronous,
        )

    def make_mutant(engine: str, number: int) -> Plan:
        mutant = MUTANTS[engine.removeprefix(MUTANT)]
        return make_plan(
            seed=seed + number,
            engine=engine,
            processes=processes or mutant.processes or PROFILES[profiles.MUTANTS].processes,
            seconds=seconds if mutants and seconds else PROFILES[profiles.MUTANTS].seconds,
            faults=mutant.faults if faults is None else faults,
            profile=profile,
            workload=mutant.workload if workload == "mixed" else workload,
            synchronous=synchronous,
        )

    folder = _folder(out)
    kept = out is not None
    try:
        if others:
            progress = Progress(Console(stderr=True))
            runs = command_line.run_systems(
                others,
                folder,
                progress,
                seed=seed,
                processes=processes or usual.processes,
                seconds=seconds or usual.seconds,
                faults=command_line.FAULTS if faults is None else faults,
                profile=profile,
                workload=workload,
            )
            result = _conclude(runs, folder, "verdict.json", as_json, kept)
            kept = kept or result != 0
        elif mutants:
            result = trials.try_all(names or tuple(MUTANTS), make_mutant, folder, as_json, False)
            kept = kept or result != 0
        else:
            wanted = ENGINES if "all" in engines else tuple(dict.fromkeys(engines or usual.engines))
            made = [make(engine) for engine in wanted]
            if plan_file is not None:
                made = [_plan_of(plan_file)]
            result = _run_engines(made, folder, as_json, kept, plan_file)
            if result == EXIT_CODES["invalid"] and budget:
                _shrink_first(made, folder, budget, as_json)
            if usual.sampled and plan_file is None:
                sampled = trials.sample(seed, usual.sampled)
                missed = trials.try_all(sampled, make_mutant, folder / "mutants", as_json, True)
                result = missed or result
            kept = kept or result != 0
    finally:
        if not kept:
            # What went wrong before must not be hidden by a folder that is gone already.
            shutil.rmtree(folder, ignore_errors=True)
    return result


def _refuse(
    names: Sequence[str], mutants: bool, engines: Sequence[str], plan_file: Path | None
) -> None:
    """Raise when the options do not go together."""
    if names and not mutants:
        raise click.UsageError(f"what is {names[0]!r}? Names go with --mutants")
    for name in names:
        if name not in MUTANTS:
            raise click.UsageError(f"no mutant {name!r}; there are {', '.join(MUTANTS)}")
    if plan_file is not None and (mutants or engines):
        raise click.UsageError("--plan names its engine itself")
    if mutants and engines:
        raise click.UsageError("--mutants are engines themselves; leave --engine out")


def _folder(out: Path | None) -> Path:
    if out is None:
        return Path(tempfile.mkdtemp(prefix="fencepost-stress-"))
    if out.exists() and any(out.iterdir()):
        raise click.UsageError(f"{out} is not empty; evidence is never overwritten")
    out.mkdir(parents=True, exist_ok=True)
    return out.resolve()


def _plan_of(path: Path) -> Plan:
    plan = plans.load(path)
    if plan.workload == CUSTOM:
        raise click.UsageError(f"{path} is of somebody's own code: run the test that has it")
    return plan


def _run_engines(
    plans: Sequence[Plan], folder: Path, as_json: bool, kept: bool, plan_file: Path | None
) -> int:
    progress = Progress(Console(stderr=True))
    runs: list[RunVerdict] = []
    for plan in plans:
        histories = folder / plan.engine / "history"
        label = f"{plan.engine}, seed {plan.seed}"
        with progress.of(label, histories, plan.clock_error_ms):
            execute(plan, folder / plan.engine, progress.watch)
            progress.phase("checking")
            run = check(folder / plan.engine)
        if plan_file is not None:
            # The options of a plan that was changed do not give it again.
            run = msgspec.structs.replace(run, repeat=f"fencepost stress --plan {plan_file}")
        runs.append(run)
    return _conclude(runs, folder, "verdict.json", as_json, kept)


def _conclude(
    runs: Sequence[RunVerdict], folder: Path, name: str, as_json: bool, kept: bool
) -> int:
    """Write the report where the evidence stays, and say the verdict."""
    result = Verdicts(verdicts.SCHEMA, verdicts.worst(run.verdict for run in runs), tuple(runs))
    written = report.write(result, folder, name) if kept or result.verdict != "valid" else []
    if as_json:
        click.echo(verdicts.to_json(result).decode(), nl=False)
    else:
        report.show(Console(), result, written, folder)
    return EXIT_CODES[result.verdict]


def _shrink_first(made: Sequence[Plan], folder: Path, budget: float, as_json: bool) -> None:
    """Make the first plan that failed smaller."""
    judged = verdicts.read(folder / "verdict.json").runs
    plan, run = next(
        pair for pair in zip(made, judged, strict=True) if pair[1].verdict == "invalid"
    )
    progress = Progress(Console(stderr=True))
    with progress.of(f"shrinking {plan.engine}, seed {plan.seed}"):
        result, more = shrink(plan, run, folder / _SHRUNK, budget, progress.watch)
    if not as_json:
        report.show_smallest(Console(), by_words(result), more)


@click.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON on stdout.")
def replay(directory: Path, as_json: bool) -> int:
    """Decide the evidence in DIRECTORY again: one run's, or all runs of one command.

    What a failed plan became when it was made smaller is evidence of its own, below `shrunk`.
    """
    found = [
        path.parent
        for path in sorted(directory.glob("**/plan.json"))
        if _SHRUNK not in path.relative_to(directory).parts
    ]
    if not found:
        raise click.UsageError(f"{directory} holds no evidence: there is no plan.json in it")
    missing = [path for path in found if not endings.is_there(path)]
    if missing:
        raise HarnessError(f"{missing[0]} holds no end.json: its run did not end")
    runs = [command_line.check_any(path) for path in found]
    return _conclude(runs, directory, "replay.json", as_json, kept=True)
