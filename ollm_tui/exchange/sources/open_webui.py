"""Open WebUI's export: a list of chats, each with its messages below `chat.history`.

Chats of older versions have a list of messages only. Thinking is part of the text there, in a
`<details>` element.
"""

import html
import re
from collections.abc import Iterator
from typing import Final

from ollm_tui.decode.json_fields import as_object, objects, string, strings
from ollm_tui.exchange.foreign import (
    ForeignChat,
    ForeignMessage,
    Origin,
    message_or_none,
    picture,
    time_ms,
)
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.blocks import Block, TextContent, ThinkingContent, UnknownContent
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.store.records import ChatRecord
from ollm_tui.store.rows import ConversationSettings

_APP: Final = "open-webui"
_OPENS: Final = lazy_re(r'<details type="reasoning"[^>]*>\s*')
_SUMMARY: Final = lazy_re(r"<summary>[^<]*</summary>\s*")
_CLOSES: Final = "</details>"
_QUOTED: Final = lazy_re(r"^> ?", re.MULTILINE)


def fits(data: JsonMapping) -> bool:
    """Return whether an object is a chat of Open WebUI."""
    chat = as_object(data.get("chat"))
    return isinstance(as_object(chat.get("history")).get("messages"), dict) or (
        isinstance(chat.get("messages"), list)
    )


def read(data: JsonMapping, origin: Origin) -> ChatRecord | None:
    """Return the chat, or None if it has no message."""
    chat = as_object(data.get("chat"))
    history = as_object(chat.get("history"))
    listed = {key: as_object(one) for key, one in as_object(history.get("messages")).items()}
    if not listed:
        listed = dict(_in_a_row(objects(chat.get("messages"))))
    messages = [_message(key, one) for key, one in listed.items()]
    params = as_object(chat.get("params"))
    models = strings(chat.get("models")) or [one.model for one in messages if one.model]
    return ForeignChat(
        app=_APP,
        id=string(data, "id") or string(chat, "id") or origin.path.stem,
        title=string(data, "title") or string(chat, "title"),
        messages=messages,
        leaf=string(history, "currentId") or next(reversed(listed), None),
        created_ms=time_ms(data, "created_at") or time_ms(chat, "timestamp"),
        updated_ms=time_ms(data, "updated_at"),
        settings=ConversationSettings(
            model=models[0] if models else None,
            system_prompt=string(params, "system") or string(chat, "system"),
        ),
    ).record(origin)


def _in_a_row(messages: list[JsonObject]) -> Iterator[tuple[str, JsonObject]]:
    """Yield messages of a list with the one before as parent, unless they name one themselves."""
    before: str | None = None
    for at, one in enumerate(messages):
        key = string(one, "id") or f"#{at}"
        yield key, one if "parentId" in one else one | {"parentId": before}
        before = key


def _message(key: str, one: JsonObject) -> ForeignMessage:
    failed = bool(one.get("error"))
    return ForeignMessage(
        id=key,
        parent=string(one, "parentId"),
        message=_content(one),
        created_ms=time_ms(one, "timestamp"),
        model=string(one, "model"),
        state="failed" if failed else "interrupted" if one.get("done") is False else None,
    )


def _content(one: JsonObject) -> Message | None:
    blocks: list[Block] = []
    for file in objects(one.get("files")):
        shown = picture(file.get("url"), string(file, "name")) if _is_picture(file) else None
        rest = {key: value for key, value in file.items() if key != "type"}
        blocks.append(shown or UnknownContent(string(file, "type") or "file", rest))
    text = one.get("content")
    if isinstance(text, str):
        blocks += [block for block in _texts(text) if block.text]
    elif text:
        blocks.append(UnknownContent("content", {"content": text}))
    error = one.get("error")
    words = error.get("content") if isinstance(error, dict) else error
    if isinstance(words, str) and not blocks:
        blocks.append(TextContent(words))
    return message_or_none(string(one, "role") or "unknown", blocks)


def _is_picture(file: JsonMapping) -> bool:
    kind = string(file, "content_type") or ""
    return file.get("type") == "image" or kind.startswith("image/")


def _texts(text: str) -> Iterator[TextContent | ThinkingContent]:
    """Yield thinking and text in their order."""
    at = 0
    while (opened := _OPENS.search(text, at)) is not None:
        end = text.find(_CLOSES, opened.end())
        if end < 0:
            break
        yield TextContent(text[at : opened.start()].strip("\n"))
        summary = _SUMMARY.match(text, opened.end(), end)
        thought = html.unescape(text[summary.end() if summary else opened.end() : end])
        yield ThinkingContent(_QUOTED.sub("", thought).strip("\n"))
        at = end + len(_CLOSES)
    yield TextContent(text[at:].lstrip("\n") if at else text)
