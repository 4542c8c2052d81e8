"""parllama's sessions: a file for each chat, with its messages in a row."""

import json
from collections.abc import Iterator
from typing import Final

from ollm_tui.decode.json_fields import as_object, number, objects, string, strings
from ollm_tui.exchange.foreign import (
    ForeignChat,
    ForeignMessage,
    Origin,
    content_id,
    picture,
    time_ms,
)
from ollm_tui.protocol.blocks import Block, TextContent, ThinkingContent
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.records import ChatRecord
from ollm_tui.store.rows import ConversationSettings

_APP: Final = "parllama"
_MAX_HOT: Final = 2


def fits(data: JsonMapping) -> bool:
    """Return whether an object is a session of parllama."""
    return "llm_config" in data and isinstance(data.get("messages"), list)


def read(data: JsonMapping, origin: Origin) -> ChatRecord | None:
    """Return the chat, or None if it has no message."""
    config = _config(data.get("llm_config"))
    listed = objects(data.get("messages"))
    system_prompt = None
    if listed and listed[0].get("role") == "system":
        system_prompt = string(listed[0], "content")
        listed = listed[1:]
    model = string(config, "model_name")
    messages = list(_messages(listed, model))
    temperature = number(config, "temperature")
    is_usual = temperature is not None and 0 <= temperature <= _MAX_HOT
    return ForeignChat(
        app=_APP,
        id=string(data, "id") or string(data, "session_id") or origin.path.stem,
        title=string(data, "name"),
        messages=messages,
        leaf=messages[-1].id if messages else None,
        updated_ms=time_ms(data, "last_updated"),
        settings=ConversationSettings(
            model=model,
            system_prompt=system_prompt,
            options=GenerationOptions(temperature=temperature if is_usual else None),
        ),
    ).record(origin)


def _config(value: JsonValue) -> JsonObject:
    """Return the settings of the model, which some versions write as a text of JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return as_object(value)


def _messages(listed: list[JsonObject], model: str | None) -> Iterator[ForeignMessage]:
    parent: str | None = None
    for one in listed:
        message = _message(one)
        if message is None:
            continue
        name = content_id(parent, message)
        yield ForeignMessage(id=name, parent=parent, message=message, model=model)
        parent = name


def _message(one: JsonObject) -> Message | None:
    blocks: list[Block] = []
    if thinking := string(one, "thinking"):
        blocks.append(ThinkingContent(thinking))
    blocks += [shown for each in strings(one.get("images")) if (shown := picture(each))]
    if text := string(one, "content"):
        blocks.append(TextContent(text))
    calls = [_call(at, call) for at, call in enumerate(objects(one.get("tool_calls")), 1)]
    if not blocks and not calls:
        return None
    return Message(string(one, "role") or "unknown", blocks, tool_calls=calls)


def _call(at: int, call: JsonObject) -> ToolCall:
    function = as_object(call.get("function"))
    arguments = function.get("arguments")
    return ToolCall(
        id=f"call-{at}",
        name=string(function, "name") or "tool",
        args=arguments if isinstance(arguments, dict) else None,
    )
