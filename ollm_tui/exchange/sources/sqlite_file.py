"""Databases of other programs, opened for reading only and trusted with nothing."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from ollm_tui.protocol.errors import AIError, ErrorCode

Row: TypeAlias = Mapping[str, str | int | float | bytes | None]
MAX_VALUE_BYTES: Final = 64 * 1024 * 1024
_MAX_STEPS: Final = 2_000_000_000
"""Steps of SQLite's machine for one query, in thousands of millions: minutes."""
_STEP: Final = 1_000_000


class Tables:
    """The tables of an open database. Views and virtual tables count as absent."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._steps = 0
        connection.set_progress_handler(self._count, _STEP)
        listed = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        self._columns: dict[str, frozenset[str]] = {}
        for name, sql in listed.fetchall():
            if isinstance(sql, str) and not sql.lstrip().upper().startswith("CREATE VIRTUAL"):
                shown = connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
                self._columns[str(name)] = frozenset(str(column) for (column,) in shown)

    def has(self, table: str, *columns: str) -> bool:
        """Return whether there is a table with these columns."""
        return self._columns.get(table, frozenset()) >= set(columns) and table in self._columns

    def rows(
        self,
        table: str,
        columns: Sequence[str],
        where: str = "",
        values: Sequence[str | int] = (),
    ) -> list[Row]:
        """Return rows of a table; a column that it does not have is None.

        The names and the condition are the program's own, the values are foreign.
        """
        there = [name for name in columns if name in self._columns.get(table, ())]
        listed = ", ".join(f'"{name}"' for name in there)
        self._steps = 0
        query = f'SELECT {listed} FROM "{table}" {where}'
        listed_rows = self._connection.execute(query, values)
        empty: dict[str, str | int | float | bytes | None] = dict.fromkeys(columns)
        return [empty | dict(zip(there, row, strict=True)) for row in listed_rows]

    def _count(self) -> int:
        self._steps += _STEP
        return int(self._steps > _MAX_STEPS)


@contextmanager
def open_tables(path: Path) -> Iterator[Tables]:
    """Open a database that another program may have open, too.

    Raises:
        AIError: it is damaged, or cannot be read.
    """
    try:
        address = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=5)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
            connection.text_factory = _text
            yield Tables(connection)
    except sqlite3.Error as error:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"The database cannot be read ({error}).",
            hint="Quit the program that it is of, and try again.",
        ) from error


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def text(row: Row, column: str) -> str | None:
    """Return a value that is text and not empty, or None."""
    value = row.get(column)
    return value if isinstance(value, str) and value else None
