"""Rows of one run file copied into another as they stand, so that nothing of them is read anew or lost."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from simulator.core.errors import RunFileError

# Notes are joined, and the plan is written, by whoever puts the parts together.
_NOT_COPIED = ("about", "conversations")
_OF_THE_PLAN = frozenset({"id", "position", "persona", "repeat", "case"})


def copy_rows(whole: Path, part: Path, conversations: Iterable[str]) -> None:
    """Everything that was said, graded, called and judged in these conversations of a part.

    What belongs to no conversation, as calls do, is copied too. The part is only read.
    """
    try:
        with closing(sqlite3.connect(whole, isolation_level=None, timeout=10)) as file:
            file.execute("ATTACH DATABASE ? AS part", (str(part),))
            file.execute("BEGIN")
            file.execute("CREATE TEMP TABLE mine (id TEXT PRIMARY KEY)")
            file.executemany("INSERT INTO mine VALUES (?)", ((each,) for each in conversations))
            _copy_all(file)
            file.execute("DROP TABLE temp.mine")
            file.execute("COMMIT")
    except sqlite3.Error as error:
        msg = f"{part}: cannot be copied ({error}). Is the disk full, or the file damaged?"
        raise RunFileError(msg) from None


def _copy_all(file: sqlite3.Connection) -> None:
    for table in _tables(file, "main"):
        names = _columns(file, "main", table)
        shared = [name for name in _columns(file, "part", table) if name in names]
        if table == "conversations":
            _copy_endings(file, [name for name in shared if name not in _OF_THE_PLAN])
        elif table not in _NOT_COPIED and shared:
            columns = ", ".join(f'"{name}"' for name in shared)
            mine = " WHERE conversation IN (SELECT id FROM mine)" if "conversation" in shared else ""
            source = f'SELECT {columns} FROM part."{table}"{mine}'  # noqa: S608 - names of our own schema
            file.execute(f'INSERT OR IGNORE INTO main."{table}" ({columns}) {source}')


def _copy_endings(file: sqlite3.Connection, names: list[str]) -> None:
    sets = ", ".join(f'"{name}" = p."{name}"' for name in names)
    file.execute(
        f"UPDATE main.conversations SET {sets} FROM part.conversations AS p "  # noqa: S608 - as above
        "WHERE p.id = main.conversations.id AND p.id IN (SELECT id FROM mine)"
    )


def _tables(file: sqlite3.Connection, schema: str) -> Iterator[str]:
    query = f"SELECT name FROM {schema}.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"  # noqa: S608
    return iter([name for (name,) in file.execute(query)])


def _columns(file: sqlite3.Connection, schema: str, table: str) -> list[str]:
    """The columns of a table, but for a number that only counts its rows; none where there is no table."""
    found = list(file.execute(f'PRAGMA {schema}.table_info("{table}")'))
    keys = [row for row in found if row[5]]
    counts = keys[0][1] if len(keys) == 1 and keys[0][2].upper() == "INTEGER" else None
    return [row[1] for row in found if row[1] != counts]
