"""LM Studio's conversations: a list of places, each with the versions that were written there.

Each version of a place follows the version that was selected at the place before it. An answer is
made of steps: text, thinking, calls of tools and their results.
"""

import json
from collections.abc import Iterator
from typing import Final

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.json_fields import as_object, integer, objects, string
from ollm_tui.exchange.foreign import (
    ForeignChat,
    ForeignMessage,
    Origin,
    content_id,
    message_or_none,
    time_ms,
)
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.blocks import Block, TextContent, ThinkingContent, UnknownContent
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.records import ChatRecord
from ollm_tui.store.rows import ConversationSettings

_APP: Final = "lm-studio"
_SUFFIX: Final = lazy_re(r"\.conversation$")
_SYSTEM_PROMPT: Final = "llm.prediction.systemPrompt"


def fits(data: JsonMapping) -> bool:
    """Return whether an object is a conversation of LM Studio."""
    return any(isinstance(one.get("versions"), list) for one in objects(data.get("messages")))


def read(data: JsonMapping, origin: Origin) -> ChatRecord | None:
    """Return the chat, or None if it has no message."""
    created_ms = time_ms(data, "createdAt")
    places = _Places(created_ms)
    for place in objects(data.get("messages")):
        places.add(place)
    model = as_object(data.get("lastUsedModel"))
    return ForeignChat(
        app=_APP,
        id=f"{created_ms}" if created_ms else _SUFFIX.sub("", origin.path.stem),
        title=string(data, "name"),
        messages=places.messages,
        leaf=places.end,
        created_ms=created_ms,
        updated_ms=time_ms(data, "assistantLastMessagedAt") or time_ms(data, "userLastMessagedAt"),
        settings=ConversationSettings(
            model=string(model, "identifier") or places.model,
            system_prompt=string(data, "systemPrompt") or _system_prompt(data),
        ),
    ).record(origin)


def _system_prompt(data: JsonMapping) -> str | None:
    config = as_object(data.get("perChatPredictionConfig"))
    named = (one for one in objects(config.get("fields")) if one.get("key") == _SYSTEM_PROMPT)
    return next((string(one, "value") for one in named), None)


@dataclass(slots=True)
class _Places:
    created_ms: int
    messages: list[ForeignMessage] = field(default_factory=list)
    end: str | None = None
    model: str | None = None

    def add(self, place: JsonObject) -> None:
        """Add the versions of a place; the next one follows the selected version."""
        versions = objects(place.get("versions"))
        selected = integer(place, "currentlySelected") or 0
        start = end = self.end
        for number, version in enumerate(versions):
            last = self._add_version(version, start)
            if number == min(max(selected, 0), len(versions) - 1):
                end = last
        self.end = end

    def _add_version(self, version: JsonObject, parent: str | None) -> str | None:
        model = string(as_object(version.get("senderInfo")), "senderName")
        self.model = model or self.model
        for message in _messages(version):
            name = content_id(parent, message)
            self.messages.append(
                ForeignMessage(
                    id=name, parent=parent, message=message, model=model, created_ms=self.created_ms
                )
            )
            parent = name
        return parent


def _messages(version: JsonObject) -> Iterator[Message]:
    role = string(version, "role") or "unknown"
    if version.get("type") != "multiStep":
        message = message_or_none(role, (_block(part) for part in objects(version.get("content"))))
        if message is not None:
            yield message
        return
    blocks: list[Block] = []
    calls: list[ToolCall] = []
    for step in objects(version.get("steps")):
        is_thinking = as_object(step.get("style")).get("type") == "thinking"
        for part in objects(step.get("content")):
            match part.get("type"):
                case "toolCallResult":
                    if blocks or calls:
                        yield Message(role, blocks, tool_calls=calls)
                    blocks, calls = [], []
                    yield _result(part)
                case "toolCallRequest":
                    calls.append(_call(part))
                case "text" if is_thinking:
                    blocks.append(ThinkingContent(string(part, "text") or ""))
                case _:
                    blocks.append(_block(part))
    blocks = [one for one in blocks if not isinstance(one, TextContent) or one.text]
    if blocks or calls:
        yield Message(role, blocks, tool_calls=calls)


def _block(part: JsonObject) -> Block:
    if part.get("type") == "text":
        return TextContent(string(part, "text") or "")
    rest = {key: value for key, value in part.items() if key != "type"}
    return UnknownContent(string(part, "type") or "part", rest)


def _call_id(part: JsonMapping) -> str:
    return string(part, "toolCallRequestId") or f"{integer(part, 'callId') or 0}"


def _call(part: JsonObject) -> ToolCall:
    arguments = part.get("parameters")
    return ToolCall(
        id=_call_id(part),
        name=string(part, "name") or "tool",
        args=arguments if isinstance(arguments, dict) else None,
        raw_args=arguments if isinstance(arguments, str) else "",
    )


def _result(part: JsonObject) -> Message:
    content = part.get("content")
    text = content if isinstance(content, str) else _dumped(part)
    return Message("tool", text, name=string(part, "name"), tool_call_id=_call_id(part))


def _dumped(part: JsonObject) -> str:
    try:
        return json.dumps(part.get("content"), ensure_ascii=False)
    except (RecursionError, ValueError):
        return ""
