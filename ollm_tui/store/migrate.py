"""Migrate a database to the newest schema, completely or not at all."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from ollm_tui.config.private_file import sync_folder
from ollm_tui.dataclass import dataclass
from ollm_tui.store.files import make_file

APPLICATION_ID: Final = 0x6F6C6C6D  # "ollm"


BEFORE: Final = "{0.stem}-before-{1}{0.suffix}"
"""The name of the copy made before a migration, from the path of the database and the step."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step; released ones are never edited."""

    number: int
    sql: str


def shipped_migrations() -> tuple[Migration, ...]:
    """Read the steps that come with the package, in order."""
    files = sorted(Path(__file__).with_name("migrations").glob("*.sql"))
    return tuple(
        Migration(int(file.name.partition("_")[0]), file.read_text("utf-8")) for file in files
    )


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the number of the newest step that was applied."""
    return _number(connection, "user_version")


def application_id(connection: sqlite3.Connection) -> int:
    """Return the application id of the database, 0 if it has none."""
    return _number(connection, "application_id")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    value = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return value if isinstance(value, int) else 0


def migrate(connection: sqlite3.Connection, steps: Sequence[Migration], path: Path | None) -> None:
    """Apply the missing steps in one transaction under an exclusive lock.

    A database that is not empty is copied first, to `NAME-before-N.db` beside it.

    Raises:
        sqlite3.Error: a step failed; the database is unchanged.
    """
    version = schema_version(connection)
    missing = [step for step in steps if step.number > version]
    if not missing:
        return
    if path is not None and version > 0:
        back_up(connection, path.with_name(BEFORE.format(path, missing[-1].number)))
    connection.execute("BEGIN EXCLUSIVE")
    try:
        for step in missing:
            for statement in statements(step.sql):
                connection.execute(statement)
        _check_references(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {missing[-1].number}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; `executescript` would commit the open transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def back_up(connection: sqlite3.Connection, target: Path) -> None:
    """Copy a database to a file that gets its name once it is complete and on the disk."""
    fresh = target.with_name(f"{target.name}.part")
    fresh.unlink(missing_ok=True)
    make_file(fresh)
    with closing(sqlite3.connect(fresh)) as copy:
        copy.execute("PRAGMA synchronous = FULL")
        connection.backup(copy)
    fresh.replace(target)
    sync_folder(target.parent)


def _check_references(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise sqlite3.IntegrityError("a migration left references to nothing")
