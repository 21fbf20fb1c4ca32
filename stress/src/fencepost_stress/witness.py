"""The witness: triggers that log every row change inside the transaction that makes it.

SQLite lets one writer commit at a time, so the order of `seq` is the order of commits;
a rolled back transaction takes its witness rows with it, so `seq` has no gaps for what
was committed.

A trigger cannot see a transaction's identity, and needs not to. Two facts stand in
for it:

1. Transactions that write never interleave, so the rows of one transaction are
   neighbours in `seq`.
2. Every call carries something that no other call carries (a claim token, a
   specification), and that thing is in the row it writes. `identity` says which
   columns those are. A call that changes several tables has its token in the first
   row; the rows that belong to it follow at once.

The harness makes the database and its triggers before any worker opens it, and reads
them after the last one closed it, in a process that never has a store open: a second
SQLite library in a process with an open store would drop the store's locks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec

from .rows import EVENTS, FEED, RESOURCES, RUNS, TABLES, Change, RunRow, TableRow

DDL = """
CREATE TABLE fencepost_witness (
  seq INTEGER PRIMARY KEY,
  tbl TEXT NOT NULL,
  before TEXT,
  after TEXT
);
"""

PRUNED_DDL = """
CREATE TABLE fencepost_witness_pruned (n INTEGER PRIMARY KEY, seq INTEGER NOT NULL, before TEXT);
"""

_PAGE = 5000
_DECODE = {name: msgspec.json.Decoder(row).decode for name, row in TABLES.items()}


class WitnessError(Exception):
    """The witness of a database can't be read as evidence."""


def install(path: Path, *, pruned: bool = False) -> None:
    """Add the witness to a database that no process has open.

    Where it is to be `pruned` the witness leaves out deletions of events and of done runs,
    which nothing else makes; the runs are in a log of their own.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        database.execute(DDL)
        if pruned:
            database.execute(PRUNED_DDL)
            database.execute(_pruned_log())
        for statement in _triggers(pruned):
            database.execute(statement)
        database.execute("COMMIT")


_PRUNED = {FEED: "WHEN 0 ", EVENTS: "WHEN 0 ", RUNS: "WHEN OLD.status <> 'done' "}


def _triggers(pruned: bool) -> Iterator[str]:
    for table, row in TABLES.items():
        old = _json(row._fields, "OLD")
        new = _json(row._fields, "NEW")
        for event, before, after in (
            ("INSERT", "NULL", new),
            ("UPDATE", old, new),
            ("DELETE", old, "NULL"),
        ):
            log = f"VALUES ('{table}', {before}, {after})"
            # A resource's deletion comes before those that it brings with it.
            when = "BEFORE" if (table, event) == (RESOURCES, "DELETE") else "AFTER"
            only = _PRUNED.get(table, "") if pruned and event == "DELETE" else ""
            yield (
                f"CREATE TRIGGER fencepost_witness_{table}_{event.lower()} "
                f"{when} {event} ON {table} {only}BEGIN "
                f"INSERT INTO fencepost_witness (tbl, before, after) {log}; END"
            )


def _pruned_log() -> str:
    row = _json(TABLES[RUNS]._fields, "OLD")
    log = f"VALUES ((SELECT coalesce(max(seq), 0) FROM fencepost_witness), {row})"  # noqa: S608
    return (
        f"CREATE TRIGGER fencepost_witness_{RUNS}_pruned "
        f"AFTER DELETE ON {RUNS} WHEN OLD.status = 'done' BEGIN "
        f"INSERT INTO fencepost_witness_pruned (seq, before) {log}; END"
    )


def _json(columns: Iterable[str], alias: str) -> str:
    return f"json_array({', '.join(f'{alias}.{column}' for column in columns)})"


def _connect(path: Path) -> sqlite3.Connection:
    # Not immutable: after a SIGKILL the newest commits are in the WAL only.
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)


def read(path: Path) -> Iterator[Change]:
    """The committed changes in commit order, a page at a time."""
    with closing(_connect(path)) as database:
        last = 0
        while True:
            page = database.execute(
                "SELECT seq, tbl, before, after FROM fencepost_witness "
                "WHERE seq > ? ORDER BY seq LIMIT ?",
                (last, _PAGE),
            ).fetchall()
            for seq, table, before, after in page:
                try:
                    decode = _DECODE[table]
                    yield Change(
                        seq,
                        table,
                        None if before is None else decode(before),
                        None if after is None else decode(after),
                    )
                except (KeyError, msgspec.MsgspecError) as error:
                    raise WitnessError(f"witness row {seq} of {table}: {error!r}") from error
            if len(page) < _PAGE:
                return
            last = page[-1][0]


def pruned(path: Path) -> Iterator[tuple[int, RunRow]]:
    """The done runs that were deleted, in order, each with the last `seq` before."""
    with closing(_connect(path)) as database:
        log = "SELECT seq, before FROM fencepost_witness_pruned ORDER BY n"
        for seq, before in database.execute(log):
            yield seq, msgspec.json.decode(before, type=RunRow)


@dataclass(frozen=True, slots=True)
class Table:
    """The rows that a table holds, read anew by each iteration."""

    path: Path
    name: str

    def __iter__(self) -> Iterator[TableRow]:
        row = TABLES[self.name]
        columns = ", ".join(row._fields)
        with closing(_connect(self.path)) as database:
            for values in database.execute(f"SELECT {columns} FROM {self.name}"):  # noqa: S608
                yield row._make(values)


def journal_mode(path: Path) -> str:
    """How the database keeps its journal; empty when that can't be read."""
    try:
        with closing(_connect(path)) as database:
            return str(database.execute("PRAGMA journal_mode").fetchone()[0])
    except sqlite3.DatabaseError:
        return ""


def integrity(path: Path) -> tuple[list[str], list[str]]:
    """What `integrity_check` and `foreign_key_check` complain about."""
    with closing(_connect(path)) as database:
        found = [str(row[0]) for row in database.execute("PRAGMA integrity_check")]
        foreign = [str(row) for row in database.execute("PRAGMA foreign_key_check")]
    return [line for line in found if line != "ok"], foreign
