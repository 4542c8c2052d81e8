"""Read chats from a damaged database, page by page, and write them to a sound one.

SQLite gives up at a broken page that leads to others. Here each leaf of a table is read on its own,
so only the contents of broken pages are lost. Deleted rows were overwritten (`secure_delete`).
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import counted
from ollm_tui.store.sqlite_pages import Value, layouts, read_rows
from ollm_tui.store.tags import tags_column, usable_tags

Row: TypeAlias = dict[str, Value]
CONVERSATION: Final = (
    "number", "id", "title", "title_by", "created_ms", "updated_ms", "model", "provider",
    "system_prompt", "options", "leaf_id", "revision", "deleted_ms", "is_pinned", "is_archived",
    "tags", "total_messages", "size_bytes",
)  # fmt: skip
_COUNTS: Final = 2
"""The last columns of a conversation, which triggers write."""
MESSAGE: Final = (
    "number", "id", "conversation_id", "parent_id", "depth", "role", "state", "writer", "model",
    "created_ms", "updated_ms", "body", "settings",
)  # fmt: skip
_ID_LENGTH: Final = 36
_STATES: Final = frozenset({"complete", "streaming", "interrupted", "stopped", "failed"})
LOST_TITLE: Final = "Chat from a damaged file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """The result of salvaging a damaged file."""

    chats: int
    messages: int
    missing: int
    """Messages known to be lost or broken; others may be lost without a trace."""

    @property
    def counts(self) -> str:
        """A summary: `3 chats with 12 messages`."""
        chats = counted(self.chats, "chat")
        messages = counted(self.messages, "message")
        return f"{chats} with {messages}"

    def __str__(self) -> str:
        if not self.chats and not self.messages:
            return "Nothing could be read of it"
        if not self.missing:
            return f"{self.counts} were saved from it; nothing else is known to be missing"
        lost = counted(self.missing, "message")
        lost = lost if self.missing == 1 else f"at least {lost}"
        return f"{self.counts} were saved from it; {lost} could not be read"


def salvage(damaged: Path, connection: sqlite3.Connection) -> Salvaged:
    """Write what can be read of a damaged file to an empty database of the newest schema.

    Raises:
        OSError: the file cannot be read.
        sqlite3.Error: it cannot be written.
    """
    chats, messages, broken = _read(damaged)
    missing = broken + _mend(chats, messages)
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        _insert(connection, "conversations", CONVERSATION[:-_COUNTS], chats.values())
        _insert(connection, "messages", MESSAGE, messages.values())
    return Salvaged(chats=len(chats), messages=len(messages), missing=missing)


def _read(damaged: Path) -> tuple[dict[str, Row], dict[str, Row], int]:
    """Read chats and messages by the layout that fits best; return also how many are broken."""
    best: tuple[dict[str, Row], dict[str, Row], int] = ({}, {}, 0)
    for layout in layouts(damaged):
        chats: dict[str, Row] = {}
        messages: dict[str, Row] = {}
        for number, values in read_rows(damaged, layout):
            if (row := _message(number, values)) is not None:
                _keep_newest(messages, row)
            elif (row := _conversation(number, values)) is not None:
                _keep_newest(chats, row)
        broken = sum(_is_broken(row) for row in messages.values())
        if len(messages) - broken > len(best[1]) - best[2] or not best[1]:
            best = chats, messages, broken
    return best


def _keep_newest(rows: dict[str, Row], row: Row) -> None:
    """Keep the later of two copies of a row, as a torn page may leave them."""
    before = rows.get(str(row["id"]))
    if before is None or _int(before["updated_ms"]) <= _int(row["updated_ms"]):
        rows[str(row["id"])] = row


def _conversation(number: int, values: Sequence[Value]) -> Row | None:
    row = _row(CONVERSATION, number, values, later=7)
    if row is None or row["title_by"] not in {"question", "model", "person"}:
        return None
    texts = all(isinstance(row[name], str) for name in ("title", "options"))
    deleted = row["deleted_ms"] if isinstance(row["deleted_ms"], int) else None
    tags = row["tags"].split() if isinstance(row["tags"], str) else ()
    later: Row = {
        "revision": _int(row["revision"]),
        "deleted_ms": deleted,
        "is_pinned": int(row["is_pinned"] == 1),
        "is_archived": int(row["is_archived"] == 1),
        "tags": tags_column(usable_tags(tags)),
    }
    return {**row, **later} if texts else None


def _message(number: int, values: Sequence[Value]) -> Row | None:
    row = _row(MESSAGE, number, values, later=1)
    if row is None:
        return None
    parent = row["parent_id"]
    is_one = (
        _is_id(row["conversation_id"])
        and (parent is None or _is_id(parent))
        and isinstance(row["depth"], int)
        and isinstance(row["role"], str)
        and row["state"] in _STATES
        and isinstance(row["body"], str)
    )
    return row if is_one else None


def _row(names: Sequence[str], number: int, values: Sequence[Value], later: int) -> Row | None:
    """Return a row with an id and times; as many of the last columns as are `later` may miss."""
    missing = len(names) - len(values)
    if not 0 <= missing <= later or not _is_id(values[1]):
        return None
    row: Row = dict(zip(names, (number, *values[1:], *[None] * missing), strict=True))
    has_times = isinstance(row["created_ms"], int) and isinstance(row["updated_ms"], int)
    return row if has_times else None


def _is_id(value: Value) -> bool:
    return isinstance(value, str) and len(value) == _ID_LENGTH


def _int(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _is_broken(message: Row) -> bool:
    with suppress(ValueError, RecursionError):
        json.loads(str(message["body"]))
        return False
    return True


def _mend(chats: dict[str, Row], messages: dict[str, Row]) -> int:
    """Repair the references between rows; return how many messages are known to be lost.

    A message whose parent is lost follows the nearest one left before it, and one whose chat is
    lost belongs to the chat of its parent.
    """
    lost = {
        str(row["parent_id"])
        for row in messages.values()
        if row["parent_id"] is not None and row["parent_id"] not in messages
    }
    lines: dict[str, list[Row]] = {}
    for row in sorted(messages.values(), key=lambda row: _int(row["number"])):
        parent = messages.get(str(row["parent_id"]))
        if row["conversation_id"] not in chats and parent is not None:
            row["conversation_id"] = parent["conversation_id"]
        line = lines.setdefault(str(row["conversation_id"]), [])
        if row["parent_id"] is not None and parent is None:
            row["parent_id"] = _nearest(line, _int(row["depth"]))
        line.append(row)
    for chat_id, line in lines.items():
        chat = chats.get(chat_id) or chats.setdefault(chat_id, _made_up(chat_id, line))
        if chat["leaf_id"] not in messages:
            if chat["leaf_id"] is not None:
                lost.add(str(chat["leaf_id"]))
            chat["leaf_id"] = line[-1]["id"]
    for chat_id, chat in chats.items():
        if chat_id not in lines and chat["leaf_id"] is not None:
            lost.add(str(chat["leaf_id"]))
            chat["leaf_id"] = None
    return len(lost)


def _nearest(line: Sequence[Row], depth: int) -> Value:
    above = (row for row in reversed(line) if _int(row["depth"]) < depth)
    return max(above, key=lambda row: _int(row["depth"]), default={"id": None})["id"]


def _made_up(chat_id: str, line: Sequence[Row]) -> Row:
    """Return a row for a conversation of which only messages are left."""
    times = [_int(row["updated_ms"]) for row in line]
    texts: Row = {"id": chat_id, "title": LOST_TITLE, "title_by": "question", "options": "{}"}
    model = next((row["model"] for row in reversed(line) if row["model"] is not None), None)
    return {
        **dict.fromkeys(CONVERSATION),
        **texts,
        "created_ms": min(times),
        "updated_ms": max(times),
        "model": model,
        "revision": 0,
        "is_pinned": 0,
        "is_archived": 0,
        "tags": "",
    }


def _insert(
    connection: sqlite3.Connection, table: str, names: Sequence[str], rows: Iterable[Row]
) -> None:
    columns, marks = ", ".join(names), ", ".join("?" * len(names))
    statement = f"INSERT INTO {table} ({columns}) VALUES ({marks})"
    for row in sorted(rows, key=lambda row: _int(row["number"])):
        connection.execute(statement, [None, *(row[name] for name in names[1:])])
