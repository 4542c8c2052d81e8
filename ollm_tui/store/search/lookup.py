"""Find messages: with the index, or without one by reading every message. Blocking."""

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.store.listing import tagged_chats
from ollm_tui.store.search.index_file import open_for_reading, words_table
from ollm_tui.store.search.query import SearchQuery
from ollm_tui.store.search.texts import text_of
from ollm_tui.store.search.vectors import Cancelled
from ollm_tui.store.search.words import Snippet, Term, has_terms, snippet

_READ_AT_ONCE: Final = 100
_MESSAGES: Final = "messages AS m ON m.number"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A message that matches."""

    chat_id: str
    chat_title: str
    """Empty for a chat without a question."""
    message_id: str
    number: int
    """Later messages have greater ones."""
    role: str
    model: str | None
    created_ms: int
    snippet: Snippet


def search_index(
    index: sqlite3.Connection, query: SearchQuery, limit: int, before: int | None = None
) -> list[SearchHit]:
    """Return the newest messages that match, from those with a number below `before` on.

    Raises:
        sqlite3.Error: the index cannot be read, or the search was interrupted.
    """
    if not query.terms:
        return _hits(index, query, "messages AS m", "m.number", [], (_below(before), limit))
    hits: list[SearchHit] = []
    shards = index.execute("SELECT number FROM shards ORDER BY number DESC").fetchall()
    for (shard,) in shards:
        table = words_table(shard)
        # CROSS JOIN begins with the words, whose order SQLite then need not make by sorting.
        source = f"{table} AS w CROSS JOIN {_MESSAGES} = w.rowid AND {table} MATCH ?"
        page = (_below(before), limit - len(hits))
        hits += _hits(index, query, source, "w.rowid", [fts_expression(query)], page)
        if len(hits) >= limit:
            break
    return hits


def hits_of(
    index: sqlite3.Connection, query: SearchQuery, numbers: Sequence[int]
) -> dict[int, SearchHit]:
    """Return those of some messages of which the facts of a search are true, by their numbers.

    Raises:
        sqlite3.Error: the index cannot be read.
    """
    source = f"(SELECT value AS number FROM json_each(?)) AS n CROSS JOIN {_MESSAGES} = n.number"
    page = (_below(None), len(numbers))
    hits = _hits(index, query, source, "m.number", [json.dumps(numbers)], page)
    return {hit.number: hit for hit in hits}


def with_tagged_chats(query: SearchQuery, chats: Path) -> SearchQuery:
    """Return a search that names the chats with its tags: the index does not know tags.

    Raises:
        OSError: the file of the chats cannot be opened.
        sqlite3.Error: it cannot be read.
    """
    if not query.tags:
        return query
    with closing(open_for_reading(chats)) as connection:
        return replace(query, chats=tuple(tagged_chats(connection, query.tags)))


def _below(before: int | None) -> int:
    return 2**62 if before is None else before


def fts_expression(query: SearchQuery) -> str:
    """Return the terms as FTS5 takes them; they have only letters and digits."""
    return " AND ".join(
        '"{}"{}'.format(" ".join(term.words), " *" if term.is_prefix else "")
        for term in query.terms
    )


def _hits(
    index: sqlite3.Connection,
    query: SearchQuery,
    source: str,
    number: str,
    values: Sequence[str],
    page: tuple[int, int],
) -> list[SearchHit]:
    of_facts, more = _conditions(query)
    where = " AND ".join((f"{number} < ?", *of_facts))
    rows = index.execute(
        "SELECT c.id, c.title, m.id, m.number, m.role, m.model, m.created_ms, t.packed"
        f" FROM {source} CROSS JOIN chats AS c ON c.number = m.chat"
        f" LEFT JOIN texts AS t ON t.number = m.number WHERE {where}"
        f" ORDER BY {number} DESC LIMIT ?",
        (*values, page[0], *more, page[1]),
    )
    return [
        _hit(row[:7], zlib.decompress(row[7]).decode() if row[7] else "", query.terms)
        for row in rows
    ]


def _conditions(query: SearchQuery) -> tuple[list[str], list[str | int]]:
    conditions: list[str] = []
    values: list[str | int] = []
    if query.roles:
        conditions.append(f"m.role IN ({', '.join('?' * len(query.roles))})")
        values += query.roles
    for model in query.models:
        conditions.append("instr(lower(m.model), ?)")
        values.append(model)
    if query.chats is not None:
        conditions.append("c.number IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(query.chats))
    if query.after_ms is not None:
        conditions.append("m.created_ms >= ?")
        values.append(query.after_ms)
    if query.before_ms is not None:
        conditions.append("m.created_ms < ?")
        values.append(query.before_ms)
    return conditions, values


def _hit(row: tuple[str | int, ...], text: str, terms: tuple[Term, ...]) -> SearchHit:
    chat_id, title, message_id, number, role, model, created_ms = row
    return SearchHit(
        chat_id=str(chat_id),
        chat_title=str(title),
        message_id=str(message_id),
        number=int(number),
        role=str(role),
        model=str(model) or None,
        created_ms=int(created_ms),
        snippet=snippet(text, terms),
    )


def search_chats(
    chats: sqlite3.Connection,
    query: SearchQuery,
    limit: int,
    before: int | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> list[SearchHit]:
    """Return the same as `search_index`, by reading every message of the chats.

    Raises:
        sqlite3.Error: the chats cannot be read.
        Cancelled: the search is no longer wanted.
    """
    conditions, values = _conditions(query)
    conditions += ["m.number < ?", "m.state <> 'streaming'", "c.deleted_ms IS NULL"]
    conditions.append("m.id NOT IN (SELECT message_id FROM deleted_messages)")
    statement = (
        "SELECT c.id, c.title, m.id, m.number, m.role, coalesce(m.model, ''), m.created_ms, m.body"
        " FROM messages AS m JOIN conversations AS c ON c.id = m.conversation_id"
        f" WHERE {' AND '.join(conditions)} ORDER BY m.number DESC LIMIT {_READ_AT_ONCE}"
    )
    hits: list[SearchHit] = []
    at = _below(before)
    while len(hits) < limit:
        # In pages, since a program that saves waits for a statement that reads.
        rows = chats.execute(statement, (*values, at)).fetchall()
        hits += _matching(rows, query, is_cancelled)
        if len(rows) < _READ_AT_ONCE:
            break
        at = rows[-1][3]
    return hits[:limit]


def _matching(
    rows: list[tuple[str | int, ...]], query: SearchQuery, is_cancelled: Callable[[], bool]
) -> Iterator[SearchHit]:
    for row in rows:
        if is_cancelled():
            raise Cancelled
        text = text_of(str(row[7]))
        if has_terms(text, query.terms):
            yield _hit(row[:7], text, query.terms)
