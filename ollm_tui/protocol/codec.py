"""Blocks, messages, calls and chat events as JSON-safe data, for `--json`, store and exports.

Everything carries `type`; what is None or empty is left out; raw bytes travel as base64.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, assert_never

from ollm_tui.protocol import chat_events as chat
from ollm_tui.protocol.base64_text import from_base64, to_base64
from ollm_tui.protocol.blocks import (
    AudioContent,
    Block,
    DocumentContent,
    EmbeddingContent,
    ImageContent,
    MediaContent,
    MediaData,
    TextContent,
    ThinkingContent,
    UnknownContent,
    VideoContent,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.message import Message, Timings, Usage
from ollm_tui.protocol.tools import ToolCall, ToolResult


def _present(**values: JsonValue) -> JsonObject:
    return {key: value for key, value in values.items() if value is not None}


def _media_to_json(data: MediaData | None) -> JsonObject:
    match data:
        case None:
            return {}
        case bytes():
            return {"data": to_base64(data), "encoding": "base64"}
        case str():
            return {"data": data}


def block_to_json(block: Block) -> JsonObject:
    """Return a block as data; an unknown one exactly as it was read."""
    match block:
        case UnknownContent():
            return {"type": block.type, **block.data}
        case TextContent():
            return {"type": "text", "text": block.text}
        case ThinkingContent():
            proof = _present(
                signature=block.signature, signer=block.signer, sealed=block.sealed or None
            )
            return {"type": "thinking", "text": block.text} | proof
        case EmbeddingContent():
            return {"type": "embedding", "vector": list(block.vector)}
        case ImageContent() | AudioContent() | VideoContent() | DocumentContent():
            known = {name: getattr(block, name) for name in _described(block)}
            return {"type": block.type} | _media_to_json(block.data) | _present(**known)
        case _:
            assert_never(block)


def _string(data: JsonMapping, key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None


def _integer(data: JsonMapping, key: str) -> int | None:
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(data: JsonMapping, key: str) -> float | None:
    value = data.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _object(data: JsonMapping, key: str) -> JsonObject:
    value = data.get(key)
    return dict(value) if isinstance(value, dict) else {}


def _media(data: JsonMapping) -> MediaData | None:
    value = _string(data, "data")
    if value is not None and data.get("encoding") == "base64":
        try:
            return from_base64(value)
        except ValueError as error:
            raise _malformed(str(data.get("type")), "data") from error
    return value


def _thinking_block(data: JsonMapping) -> Block:
    return ThinkingContent(
        _need(data, "text"),
        _string(data, "signature"),
        _string(data, "signer"),
        sealed=data.get("sealed") is True,
    )


def _media_block(kind: type[MediaContent], data: JsonMapping) -> Block:
    known = {name: _MEDIA_FIELDS.get(name, _string)(data, name) for name in _described(kind)}
    return kind(data=_media(data), **known)


def _described(kind: Any) -> list[str]:
    """Return the fields of media beside the data itself."""
    return [one.name for one in fields(kind) if one.name not in {"data", "type"}]


_MEDIA_FIELDS: Mapping[str, Callable[[JsonMapping, str], Any]] = {
    "width": _integer,
    "height": _integer,
    "duration_s": _number,
}


def _embedding_block(data: JsonMapping) -> Block:
    vector = data.get("vector")
    if not isinstance(vector, list) or not all(isinstance(n, int | float) for n in vector):
        raise _malformed("embedding", "vector")
    return EmbeddingContent(tuple(float(n) for n in vector if isinstance(n, int | float)))


_READERS: Mapping[str, Callable[[JsonMapping], Block]] = {
    "text": lambda data: TextContent(_need(data, "text")),
    "thinking": _thinking_block,
    "image": partial(_media_block, ImageContent),
    "audio": partial(_media_block, AudioContent),
    "video": partial(_media_block, VideoContent),
    "document": partial(_media_block, DocumentContent),
    "embedding": _embedding_block,
}


def _malformed(what: str, key: str) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, f"A {what} has no usable {key!r}.")


def _need(data: JsonMapping, key: str) -> str:
    value = _string(data, key)
    if value is None:
        raise _malformed(str(data.get("type", "value")), key)
    return value


def block_from_json(data: JsonMapping) -> Block:
    """Read a block, also of an unknown type; BAD_REQUEST if a required key is missing."""
    kind = _need(data, "type")
    reader = _READERS.get(kind)
    if reader is None:
        return UnknownContent(kind, {key: value for key, value in data.items() if key != "type"})
    return reader(data)


def call_to_json(call: ToolCall) -> JsonObject:
    """Return a tool call as data; `args` is null if they were not a JSON object."""
    body: JsonObject = {"id": call.id, "name": call.name, "args": call.args}
    if call.raw_args:
        body["raw_args"] = call.raw_args
    if call.extra:
        body["extra"] = dict(call.extra)
    return body


def call_from_json(data: JsonMapping) -> ToolCall:
    """Read a tool call; BAD_REQUEST if it has no id or name."""
    args = data.get("args")
    return ToolCall(
        id=_need(data, "id"),
        name=_need(data, "name"),
        args=args if isinstance(args, dict) else None,
        raw_args=_string(data, "raw_args") or "",
        extra=_object(data, "extra"),
    )


_MESSAGE_TEXTS = tuple(one.name for one in fields(Message) if one.type == str | None)


def message_to_json(message: Message) -> JsonObject:
    """Return a message as data, metadata included: remove that before sending it anywhere."""
    body: JsonObject = {
        "role": message.role,
        "content": [block_to_json(block) for block in message.content],
    }
    body |= _present(**{name: getattr(message, name) for name in _MESSAGE_TEXTS})
    if message.tool_calls:
        body["tool_calls"] = [call_to_json(call) for call in message.tool_calls]
    if message.metadata:
        body["metadata"] = dict(message.metadata)
    return body


def message_from_json(data: JsonMapping) -> Message:
    """Read a message, whose `content` may be a string; BAD_REQUEST if a key is missing."""
    content = data.get("content", "")
    if isinstance(content, list):
        blocks = tuple(block_from_json(b) for b in content if isinstance(b, dict))
    else:
        blocks = (TextContent(content),) if isinstance(content, str) and content else ()
    calls = data.get("tool_calls")
    return Message(
        _need(data, "role"),
        blocks,
        tool_calls=[call_from_json(c) for c in calls if isinstance(c, dict)]
        if isinstance(calls, list)
        else (),
        metadata=_object(data, "metadata"),
        **{name: _string(data, name) for name in _MESSAGE_TEXTS},
    )


def usage_to_json(usage: Usage) -> JsonObject:
    """Return token counts as data."""
    counts = {one.name: getattr(usage, one.name) for one in fields(usage)}
    return _present(**counts | {"extra": dict(usage.extra) or None})


def timings_to_json(timings: Timings) -> JsonObject:
    """Return timings as data, in seconds."""
    return _present(**{one.name: getattr(timings, one.name) for one in fields(timings)})


def error_to_json(error: AIError) -> JsonObject:
    """Return an error as data."""
    body: JsonObject = {
        "code": int(error.code),
        "name": error.known_code.name,
        "message": error.message,
        "retryable": error.retryable,
    }
    body |= _present(hint=error.hint, status=error.status, provider=error.provider)
    return body | ({"details": dict(error.details)} if error.details else {})


_EVENTS: Mapping[type[chat.ChatEvent], str] = {
    chat.TextDelta: "text",
    chat.ThinkingDelta: "thinking",
    chat.Withdrawn: "withdrawn",
    chat.ToolCallStart: "tool_call_start",
    chat.ToolCallOutput: "tool_call_output",
    chat.ToolCallResult: "tool_call_result",
    chat.PromptProgress: "prompt_progress",
    chat.ContextWarning: "context_warning",
    chat.Compacted: "compacted",
    chat.PicturesLeftOut: "pictures_left_out",
    chat.Retrying: "retrying",
    chat.MediaDelta: "media",
    chat.NoAnswer: "no_answer",
    chat.StructuredAnswer: "structured_answer",
    chat.TurnComplete: "turn_complete",
    chat.Finish: "finish",
    chat.ErrorEvent: "error",
}
_LEFT_OUT = frozenset({"instead", "usage", "timings", "hidden", "done", "total", "why"})
"""Fields that are left out if they are None; all others are always there."""


def event_to_json(event: chat.ChatEvent) -> JsonObject:
    """Return a chat event as data that carries `type`."""
    body: JsonObject = {"type": _EVENTS[type(event)]}
    for one in fields(event):
        value = getattr(event, one.name)
        if isinstance(value, ToolResult):
            body |= {"result": value.content, "is_error": value.is_error, "outcome": value.outcome}
        elif value is not None or one.name not in _LEFT_OUT:
            body[one.name] = _field_to_json([*value] if isinstance(value, tuple) else value)
    return body


def _field_to_json(value: ToolCall | AIError | Usage | Timings | bytes | JsonValue) -> JsonValue:
    match value:
        case ToolCall():
            return call_to_json(value)
        case AIError():
            return error_to_json(value)
        case Usage():
            return usage_to_json(value)
        case Timings():
            return timings_to_json(value)
        case bytes():
            return to_base64(value)
        case _:
            return value
