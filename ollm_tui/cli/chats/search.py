"""`ollm chats search`: the messages of all saved chats that match."""

from functools import partial
from pathlib import Path

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.chats.reading import DEFAULT_LIMIT, UNTITLED, moment_text, time_text
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.store.search.lookup import SearchHit
from ollm_tui.store.search.query import SearchQuery, parse_query
from ollm_tui.store.search.service import ChatSearch


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
    """Write the messages that match, the best first."""
    query = _query(arguments)
    search = ChatSearch(path)
    try:
        await search.update(partial(_draw_progress, output))
        if output.is_watched:
            output.draw("")
        results = await search.search(query, limit=arguments.chats.limit or DEFAULT_LIMIT)
    finally:
        await search.close()
    if results.notice is not None:
        output.note(results.notice)
    for hit in results.hits:
        if arguments.as_json:
            output.json(_hit_json(hit), is_answer=True)
        else:
            _print_hit(hit, output)
    if not results.hits:
        output.note("No message matches.")
    return OK if results.hits else ERROR


def _draw_progress(output: Output, done: int, total: int) -> None:
    if output.is_watched and done < total:
        output.draw(f"Indexing: {done:,} of {counted(total, 'message')}")


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


def _print_hit(hit: SearchHit, output: Output) -> None:
    title = clean_line(hit.chat_title).strip() or UNTITLED
    output.line(f"{time_text(hit.created_ms)}  {clean_line(hit.role)}  {title}  ({hit.chat_id})")
    output.line(f"    {clean_line(hit.snippet.text)}")
