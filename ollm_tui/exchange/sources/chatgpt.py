"""ChatGPT's export: a tree of nodes below `mapping`, some of them without a message."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ollm_tui.decode.json_fields import as_object, objects, string
from ollm_tui.exchange.foreign import (
    ForeignChat,
    ForeignMessage,
    Origin,
    message_or_none,
    time_ms,
)
from ollm_tui.protocol.blocks import (
    Block,
    ImageContent,
    TextContent,
    ThinkingContent,
    UnknownContent,
)
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.records import ChatRecord
from ollm_tui.store.rows import ConversationSettings, MessageState

_APP = "chatgpt"
_EVERYBODY = "all"
_UNFINISHED: Mapping[str, MessageState] = {"in_progress": "interrupted"}


def fits(data: JsonMapping) -> bool:
    """Return whether an object is a conversation of ChatGPT."""
    return isinstance(data.get("mapping"), dict)


def read(data: JsonMapping, origin: Origin) -> ChatRecord | None:
    """Return the chat, or None if it has no message."""
    mapping = {key: as_object(node) for key, node in as_object(data.get("mapping")).items()}
    messages = _joined(list(_messages(mapping, origin)))
    current = string(data, "current_node")
    models = [one.model for one in messages if one.model]
    return ForeignChat(
        app=_APP,
        id=string(data, "id") or string(data, "conversation_id") or origin.path.stem,
        title=string(data, "title"),
        messages=messages,
        leaf=current,
        created_ms=time_ms(data, "create_time"),
        updated_ms=time_ms(data, "update_time"),
        settings=ConversationSettings(
            model=string(data, "default_model_slug") or (models[-1] if models else None)
        ),
    ).record(origin)


def _messages(mapping: Mapping[str, JsonObject], origin: Origin) -> Iterator[ForeignMessage]:
    for node_id, node in mapping.items():
        sent = as_object(node.get("message"))
        metadata = as_object(sent.get("metadata"))
        parent = string(node, "parent")
        stopped = as_object(metadata.get("finish_details")).get("type") == "interrupted"
        yield ForeignMessage(
            id=node_id,
            parent=parent,
            message=_message(node_id, sent, _call_before(parent, mapping), origin),
            created_ms=time_ms(sent, "create_time"),
            model=string(metadata, "model_slug"),
            state="stopped" if stopped else _UNFINISHED.get(str(sent.get("status"))),
        )


def _joined(messages: list[ForeignMessage]) -> list[ForeignMessage]:
    """Put thinking, which has nodes of its own, into the answer behind it."""
    thoughts = {one.id: one for one in messages if _is_thinking(one)}
    used: set[str] = set()
    joined = []
    for one in messages:
        blocks: list[Block] = []
        before = thoughts.get(one.parent or "")
        if one.message is not None and one.message.role == "assistant" and one.id not in thoughts:
            passed: set[str] = set()
            while before is not None and before.message is not None and before.id not in passed:
                passed.add(before.id)
                blocks = [*before.message.content, *blocks]
                before = thoughts.get(before.parent or "")
            used |= passed
        if blocks and one.message is not None:
            whole = replace(one.message, content=(*blocks, *one.message.content))
            one = replace(one, message=whole)
        joined.append(one)
    return [replace(one, message=None) if one.id in used else one for one in joined]


def _is_thinking(one: ForeignMessage) -> bool:
    message = one.message
    return (
        message is not None
        and message.role == "assistant"
        and not message.tool_calls
        and all(isinstance(block, ThinkingContent) for block in message.content)
    )


def _call_before(parent: str | None, mapping: Mapping[str, JsonObject]) -> str | None:
    """Return the id of the call that a result follows."""
    before = as_object(mapping.get(parent or "", {}).get("message"))
    return parent if _is_call(before) else None


def _is_call(sent: JsonMapping) -> bool:
    role = string(as_object(sent.get("author")), "role")
    return role == "assistant" and (string(sent, "recipient") or _EVERYBODY) != _EVERYBODY


def _message(
    node_id: str, sent: JsonMapping, call_id: str | None, origin: Origin
) -> Message | None:
    author = as_object(sent.get("author"))
    role = string(author, "role") or "unknown"
    content = as_object(sent.get("content"))
    blocks = list(_blocks(content, origin))
    if _is_call(sent):
        return _call(node_id, sent, blocks)
    if role == "tool":
        return message_or_none(role, blocks, name=string(author, "name"), call_id=call_id)
    return message_or_none(role, blocks)


def _call(node_id: str, sent: JsonMapping, blocks: list[Block]) -> Message:
    text = "".join(one.text for one in blocks if isinstance(one, TextContent))
    others = [one for one in blocks if not isinstance(one, TextContent)]
    call = ToolCall(
        id=node_id,
        name=string(sent, "recipient") or "tool",
        args=_arguments(text),
        raw_args=text,
    )
    return Message("assistant", others, tool_calls=[call])


def _arguments(text: str) -> JsonObject | None:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _blocks(content: JsonMapping, origin: Origin) -> Iterator[Block]:
    kind = string(content, "content_type") or "text"
    match kind:
        case "text" | "multimodal_text":
            parts = content.get("parts")
            for part in parts if isinstance(parts, list) else ():
                yield from _part(part, origin)
        case "thoughts":
            yield from _thoughts(content)
        case "reasoning_recap":
            yield ThinkingContent(string(content, "content") or "")
        case "code" | "execution_output" | "tether_quote" | "system_error":
            yield TextContent(string(content, "text") or "")
        case "tether_browsing_display":
            yield TextContent(string(content, "result") or "")
        case "user_editable_context":
            named = (string(content, name) for name in ("user_profile", "user_instructions"))
            yield TextContent("\n\n".join(text for text in named if text))
        case _:
            yield UnknownContent(kind, {k: v for k, v in content.items() if k != "content_type"})


def _part(part: JsonValue, origin: Origin) -> Iterator[Block]:
    if isinstance(part, str):
        yield TextContent(part)
    elif isinstance(part, dict):
        match string(part, "content_type"):
            case "image_asset_pointer":
                yield _picture(string(part, "asset_pointer"), origin)
            case "audio_transcription":
                yield TextContent(string(part, "text") or "")
            case kind:
                rest = {key: value for key, value in part.items() if key != "content_type"}
                yield UnknownContent(kind or "part", rest)


def _picture(pointer: str | None, origin: Origin) -> Block:
    """Return the picture of an archive; without one, what names it."""
    there = origin.pictures.block(pointer) if origin.pictures is not None and pointer else None
    return there or ImageContent(name=pointer)


def _thoughts(content: JsonMapping) -> Iterator[Block]:
    parts = []
    for thought in objects(content.get("thoughts")):
        parts += [string(thought, "summary"), string(thought, "content")]
    text = "\n\n".join(part for part in parts if part)
    if text:
        yield ThinkingContent(text)
