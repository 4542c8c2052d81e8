"""A conversation as the Messages API wants it told; pure.

There are two roles that take turns. Results of tools are what the user says, first in the message
after the calls; the system prompt stands apart; messages of one role in a row are one message.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence

from ollm_tui.protocol.blocks import Block, ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.providers.pictures import picture_base64, picture_type, unsendable

_SYSTEM = frozenset({"system", "developer"})
_SAYERS = {"user": "user", "tool": "user", "assistant": "assistant"}
_ID = re.compile(r"[A-Za-z0-9_-]+")
_NAMELESS = "unnamed"
_OWN_CALL_KEYS = frozenset({"caller"})


def wire_system(request: Request) -> str:
    """Give the system prompt: the request's, and what stands in the conversation."""
    said = [_words(m) for m in request.conversation if m.role in _SYSTEM]
    return "\n\n".join(text for text in (request.system_prompt, *said) if text and text.strip())


def wire_messages(messages: Sequence[Message], signer: str) -> list[JsonValue]:
    """Give the messages with user and assistant in turns.

    Raises:
        AIError: UNSUPPORTED_FEATURE for a role, UNSUPPORTED_MODALITY for content without a place.
    """
    told: list[tuple[str, list[JsonObject]]] = []
    for message in messages:
        if message.role in _SYSTEM:
            continue
        role, blocks = _role(message), _blocks(message, signer)
        if told and told[-1][0] == role:
            told[-1][1].extend(blocks)
        elif blocks:
            told.append((role, blocks))
    return [{"role": role, "content": _content(blocks)} for role, blocks in told]


def used_tools(messages: Iterable[Message]) -> list[str]:
    """Give the names of the tools that were called, each once."""
    names = [_name(call) for message in messages for call in message.tool_calls]
    return [*dict.fromkeys(names)]


def _words(message: Message) -> str:
    """Give the text of a system message, which can hold nothing else."""
    for block in message.content:
        if not isinstance(block, TextContent | ThinkingContent):
            raise unsendable(block)
    return message.text


def _role(message: Message) -> str:
    found = _SAYERS.get(message.role)
    if found is None:
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"Anthropic does not know the role {message.role!r}.",
            hint="Use system, user, assistant or tool.",
        )
    return found


def _content(blocks: list[JsonObject]) -> JsonValue:
    """Put results first, as the API wants it; plain text stays a string."""
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return [*sorted(blocks, key=lambda block: block["type"] != "tool_result")]


def _blocks(message: Message, signer: str) -> list[JsonObject]:
    found = [wire for block in message.content if (wire := _block(block, signer)) is not None]
    if message.role == "tool":
        return [_result(message, found)]
    return [*found, *(wire_call(call) for call in message.tool_calls)]


def _block(block: Block, signer: str) -> JsonObject | None:
    """Give one block; None for one that the API refuses or that is not for its eyes."""
    match block:
        case TextContent():
            return {"type": "text", "text": block.text} if block.text.strip() else None
        case ImageContent():
            return {"type": "image", "source": _source(block)}
        case ThinkingContent():
            return _thought(block) if block.signer == signer else None
        case _:
            raise unsendable(block)


def _thought(block: ThinkingContent) -> JsonObject | None:
    if block.signature is None:
        return None  # cut short, so that nobody vouches for it
    if block.sealed:
        return {"type": "redacted_thinking", "data": block.signature}
    return {"type": "thinking", "thinking": block.text, "signature": block.signature}


def _source(picture: ImageContent) -> JsonObject:
    if picture.data is None and picture.url and not picture.url.startswith("data:"):
        return {"type": "url", "url": picture.url}
    data = picture_base64(picture)
    return {"type": "base64", "media_type": picture_type(picture), "data": data}


def _result(message: Message, content: list[JsonObject]) -> JsonObject:
    wire: JsonObject = {"type": "tool_result", "tool_use_id": _id(message.tool_call_id or "")}
    if content:
        wire["content"] = _content(content)
    if message.metadata.get("is_error") is True:
        wire["is_error"] = True
    return wire


def wire_call(call: ToolCall) -> JsonObject:
    """Give a call of the history; arguments that were no object go back as an empty one."""
    own = {key: value for key, value in call.extra.items() if key in _OWN_CALL_KEYS}
    return {
        **own,
        "type": "tool_use",
        "id": _id(call.id),
        "name": _name(call),
        "input": call.args or {},
    }


def _name(call: ToolCall) -> str:
    return call.name or _NAMELESS


def _id(id_: str) -> str:
    """Give an id in the letters that the API allows; other servers' ids hold all kinds."""
    if _ID.fullmatch(id_):
        return id_
    mark = hashlib.sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"call_{mark}"
