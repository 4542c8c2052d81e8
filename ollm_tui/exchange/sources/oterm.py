"""oterm's `store.db`: chats with their messages in a row."""

import json
from collections.abc import Iterator
from typing import Final

from ollm_tui.decode.json_fields import as_object, number, positive, strings
from ollm_tui.exchange.foreign import ForeignChat, ForeignMessage, Origin, content_id
from ollm_tui.exchange.sources.sqlite_file import Row, Tables, text
from ollm_tui.protocol.blocks import Block, ImageContent, TextContent
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.store.records import ChatRecord
from ollm_tui.store.rows import ConversationSettings

_APP: Final = "oterm"
_MAX_HOT: Final = 2


def fits(tables: Tables) -> bool:
    """Return whether a database is oterm's."""
    return tables.has("chat", "id", "model") and tables.has(
        "message", "id", "chat_id", "author", "text"
    )


def read(tables: Tables, origin: Origin) -> Iterator[ChatRecord]:
    """Yield the chats; those without a message are left out."""
    columns = ("id", "name", "model", "system", "parameters", "thinking")
    for chat in tables.rows("chat", columns, "ORDER BY id"):
        record = _chat(chat, tables, origin)
        if record is not None:
            yield record


def _chat(chat: Row, tables: Tables, origin: Origin) -> ChatRecord | None:
    chat_id = chat["id"]
    if not isinstance(chat_id, int):
        return None
    columns = ("id", "author", "text", "images")
    rows = tables.rows("message", columns, "WHERE chat_id = ? ORDER BY id", (chat_id,))
    model = text(chat, "model")
    messages = list(_messages(rows, model))
    if not messages:
        return None
    parameters = as_object(_loaded(text(chat, "parameters")))
    temperature = number(parameters, "temperature")
    is_usual = temperature is not None and 0 <= temperature <= _MAX_HOT
    return ForeignChat(
        app=_APP,
        # The numbers begin at 1 in each of its databases.
        id=f"{chat_id}/{messages[0].id}",
        title=text(chat, "name"),
        messages=messages,
        leaf=messages[-1].id,
        settings=ConversationSettings(
            model=model,
            system_prompt=text(chat, "system"),
            options=GenerationOptions(
                temperature=temperature if is_usual else None,
                max_tokens=positive(parameters, "max_tokens"),
            ),
        ),
    ).record(origin)


def _messages(rows: list[Row], model: str | None) -> Iterator[ForeignMessage]:
    parent: str | None = None
    for row in rows:
        pictures = strings(_loaded(text(row, "images")))
        blocks: list[Block] = [ImageContent(data=one) for one in pictures if one]
        if (words := text(row, "text")) is not None:
            blocks.append(TextContent(words))
        if not blocks:
            continue
        message = Message(text(row, "author") or "unknown", blocks)
        name = content_id(parent, message)
        yield ForeignMessage(id=name, parent=parent, message=message, model=model)
        parent = name


def _loaded(value: str | None) -> JsonValue:
    try:
        loaded: JsonValue = json.loads(value or "null")
    except (ValueError, RecursionError):
        return None
    return loaded
