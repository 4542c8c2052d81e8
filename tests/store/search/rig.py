"""Chats to search in, an index made at once, and a search that reads everything, to compare."""

import re
import unicodedata
from contextlib import closing
from pathlib import Path

from ollm_tui.store.search.index_file import IndexPlace, open_for_reading
from ollm_tui.store.search.indexer import indexing
from ollm_tui.store.search.lookup import SearchHit, search_chats, search_index
from ollm_tui.store.search.query import SearchQuery, parse_query


def update(path: Path) -> int:
    """Bring the index up to date; returns how many messages that took."""
    with indexing(IndexPlace(path)) as indexer:
        assert indexer is not None
        return sum(indexer.run())


def by_index(
    path: Path, query: SearchQuery | str, limit: int = 1000, before: int | None = None
) -> list[SearchHit]:
    query = parse_query(query) if isinstance(query, str) else query
    with closing(open_for_reading(IndexPlace(path).index)) as index:
        return search_index(index, query, limit, before)


def by_reading(
    path: Path, query: SearchQuery | str, limit: int = 1000, before: int | None = None
) -> list[SearchHit]:
    query = parse_query(query) if isinstance(query, str) else query
    with closing(open_for_reading(path)) as chats:
        return search_chats(chats, query, limit, before)


def texts(hits: list[SearchHit]) -> list[str]:
    return [hit.snippet.text for hit in hits]


def plain_words(text: str) -> list[str]:
    """Split as a reader would: letters and digits, without case and accents."""
    decomposed = unicodedata.normalize("NFD", text.casefold())
    bare = "".join(one for one in decomposed if not "\u0300" <= one <= "\u036f")
    return re.findall(r"[^\W_]+", bare)
