"""The chat document: a chat as JSON, with all that the store keeps of it.

`docs/reference/chat.schema.json` describes it. A document of a newer version is refused.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final, get_args

from ollm_tui.decode.json_fields import as_object, integer, objects, string, strings
from ollm_tui.decode.json_guard import json_pieces
from ollm_tui.protocol.codec import message_from_json, message_to_json
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.store.options_json import settings_from_object, settings_to_object
from ollm_tui.store.records import TITLE_AUTHORS, ChatRecord, MessageRecord, in_order
from ollm_tui.store.rows import MessageState, ended_state
from ollm_tui.store.tags import usable_tags

FORMAT: Final = "ollm-chat"
VERSION: Final = 1
_MAX_ID_LENGTH: Final = 200
_MAX_TITLE_LENGTH: Final = 10_000
_STATES: Final[Mapping[str, MessageState]] = {
    state: state for state in get_args(MessageState) if state != "streaming"
}


def document_pieces(record: ChatRecord) -> Iterator[str]:
    """Yield a chat as a JSON text of plain ASCII, with each message on a line."""
    encoder = json.JSONEncoder(separators=(",", ":"))
    head: JsonObject = {"format": FORMAT, "version": VERSION, "chat": _chat_to_json(record)}
    yield encoder.encode(head)[:-1]
    yield ',"messages":['
    before = "\n"
    for one in record.messages:
        yield before
        yield from json_pieces(_to_json(one), encoder)
        before = ",\n"
    yield "\n]}\n"


def _chat_to_json(record: ChatRecord) -> JsonObject:
    marks: JsonObject = {"tags": list(record.tags)} if record.tags else {}
    marks |= {"pinned": True} if record.is_pinned else {}
    marks |= {"archived": True} if record.is_archived else {}
    return {
        "id": record.id,
        "title": record.title,
        "title_by": record.title_by,
        "created_ms": record.created_ms,
        "updated_ms": record.updated_ms,
        "leaf": record.leaf_id,
        "settings": settings_to_object(record.settings),
        **marks,
    }


def _to_json(one: MessageRecord) -> JsonObject:
    data: JsonObject = {
        "id": one.id,
        "parent": one.parent_id,
        "state": one.state,
        "created_ms": one.created_ms,
        "updated_ms": one.updated_ms,
    }
    if one.model is not None:
        data["model"] = one.model
    if one.settings is not None:
        data["settings"] = settings_to_object(one.settings)
    return data | {"message": message_to_json(one.message)}


def is_document(data: JsonMapping) -> bool:
    """Return whether an object says that it is a chat document."""
    return data.get("format") == FORMAT


def read_document(data: JsonMapping) -> ChatRecord:
    """Return the chat of a document.

    Raises:
        AIError: BAD_REQUEST if it is of a newer version, or a required key has no usable value.
    """
    version = integer(data, "version")
    if version is None or version < 1:
        raise _unusable("version")
    if version > VERSION:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"It is of a newer version of ollm (format {version}, this one knows {VERSION}).",
            hint="Update ollm to import it.",
        )
    chat = as_object(data.get("chat"))
    if not isinstance(data.get("messages"), list):
        raise _unusable("messages")
    messages = in_order(_read_message(one) for one in objects(data.get("messages")))
    title = chat.get("title")
    return ChatRecord(
        id=_id(chat, "id"),
        title=title[:_MAX_TITLE_LENGTH] if isinstance(title, str) else "",
        title_by=TITLE_AUTHORS.get(str(chat.get("title_by")), "question"),
        created_ms=_time(chat, "created_ms"),
        updated_ms=_time(chat, "updated_ms"),
        settings=settings_from_object(as_object(chat.get("settings"))),
        leaf_id=string(chat, "leaf"),
        messages=messages,
        tags=usable_tags(list(strings(chat.get("tags")))),
        is_pinned=chat.get("pinned") is True,
        is_archived=chat.get("archived") is True,
    )


def _read_message(data: JsonMapping) -> MessageRecord:
    settings: JsonValue = data.get("settings")
    message = message_from_json(as_object(data.get("message")))
    model = data.get("model")
    return MessageRecord(
        id=_id(data, "id"),
        parent_id=string(data, "parent"),
        message=message,
        state=_STATES.get(str(data.get("state"))) or ended_state(message),
        created_ms=_time(data, "created_ms"),
        updated_ms=_time(data, "updated_ms"),
        model=model if isinstance(model, str) else None,
        settings=settings_from_object(settings) if isinstance(settings, dict) else None,
    )


def _id(data: JsonMapping, key: str) -> str:
    value = string(data, key)
    if value is None or len(value) > _MAX_ID_LENGTH or not value.isprintable():
        raise _unusable(key)
    return value


def _time(data: JsonMapping, key: str) -> int:
    value = integer(data, key)
    return value if value is not None and value >= 0 else 0


def _unusable(key: str) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, f"It has no usable {key!r}.")
