"""`ollm chats search`: the messages of all saved chats that match."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.chats.reading import DEFAULT_LIMIT, UNTITLED, moment_text, time_text
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import default_paths
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.store.search.lookup import SearchHit
from ollm_tui.store.search.query import SearchQuery, parse_query
from ollm_tui.store.search.service import ChatSearch

if TYPE_CHECKING:
    from ollm_tui.store.search.similar import SimilarHit, SimilarSearch


def _query(arguments: Arguments) -> SearchQuery:
    # The shell has removed the quotation marks of words that belong together.
    words = (
        f'"{word}"' if " " in word and '"' not in word else word for word in arguments.chats.words
    )
    query = parse_query(" ".join(words))
    if query.notes:
        raise UsageError(query.notes[0])
    if query.is_empty:
        raise UsageError("There is nothing to search for.", "Try: ollm chats search WORDS")
    return query


async def search_chats(arguments: Arguments, output: Output, path: Path) -> int:
    """Write the messages that match, the newest first, then similar ones if they are wanted."""
    query = _query(arguments)
    if not arguments.chats.similar:
        return await _search(arguments, output, query, ChatSearch(path))
    # Only a search with a model needs a runtime.
    from ollm_tui.runtime.compose import open_runtime
    from ollm_tui.runtime.media.similar import similar_search

    paths = default_paths()
    loaded = await to_thread.run_sync(load_config, paths, os.environ, arguments.flags)
    failure: AIError | None = None
    async with open_runtime(loaded, paths, imports_tools=False) as runtime:
        try:
            search = ChatSearch(path)
            search.similar = similar_search(runtime)
            return await _search(arguments, output, query, search)
        except AIError as error:  # as itself, not in a group of what closes here
            failure = error
    raise failure


async def _search(
    arguments: Arguments, output: Output, query: SearchQuery, search: ChatSearch
) -> int:
    limit = arguments.chats.limit or DEFAULT_LIMIT
    similar: Sequence[SimilarHit] = ()
    try:
        await search.update(partial(_draw_progress, output, "Indexing"))
        results = await search.search(query, limit=limit)
        if search.similar is not None:
            similar = await _similar(search.similar, output, query, results.hits)
    finally:
        if output.is_watched:
            output.draw("")
        await search.close()
    if results.notice is not None:
        output.note(results.notice)
    for hit in results.hits:
        _write(hit, None, arguments, output)
    for one in similar:
        _write(one.hit, one.similarity, arguments, output)
    if results.hits or similar:
        return OK
    output.note("No message matches.")
    return ERROR


async def _similar(
    search: "SimilarSearch", output: Output, query: SearchQuery, hits: Sequence[SearchHit]
) -> "Sequence[SimilarHit]":
    """Return messages of similar meaning, after all have their vectors."""
    if not await search.update(partial(_draw_progress, output, "Reading for similar messages")):
        output.note("Another window is preparing the similar messages; this lists those so far.")
    results = await search.search(query, without=[hit.message_id for hit in hits])
    if results.notice is not None:
        output.note(results.notice)
    return results.hits


def _write(hit: SearchHit, similarity: float | None, arguments: Arguments, output: Output) -> None:
    if arguments.as_json:
        line = _hit_json(hit)
        if similarity is not None:
            line |= {"type": "similar", "similarity": round(similarity, 4)}
        output.json(line, is_answer=True)
    else:
        _print_hit(hit, output, similarity)


def _draw_progress(output: Output, what: str, done: int, total: int) -> None:
    if output.is_watched and done < total:
        output.draw(f"{what}: {done:,} of {counted(total, 'message')}")


def _hit_json(hit: SearchHit) -> JsonObject:
    return {
        "type": "match",
        "chat": hit.chat_id,
        "title": hit.chat_title,
        "message": hit.message_id,
        "role": hit.role,
        "model": hit.model,
        "created_at": moment_text(hit.created_ms),
        "text": hit.snippet.text,
        "marks": [list(mark) for mark in hit.snippet.marks],
    }


def _print_hit(hit: SearchHit, output: Output, similarity: float | None) -> None:
    title = clean_line(hit.chat_title).strip() or UNTITLED
    mark = "" if similarity is None else f"  similar {similarity:.0%}"
    about = f"{time_text(hit.created_ms)}  {clean_line(hit.role)}  {title}  ({hit.chat_id}){mark}"
    output.line(about)
    output.line(f"    {clean_line(hit.snippet.text)}")
