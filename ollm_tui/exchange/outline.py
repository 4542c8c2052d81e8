"""A chat as it is read: its messages in order, its branches, its settings in words."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean, clean_line
from ollm_tui.decode.counted import size_text
from ollm_tui.protocol.blocks import AudioContent, Block, ImageContent, VideoContent
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.message import COMPACTION, SUMMARY, Message, is_compaction
from ollm_tui.protocol.request import thinking_level, thinking_mode
from ollm_tui.store.records import ChatRecord, MessageRecord
from ollm_tui.store.rows import ConversationSettings

_BEGINNING: Final = 60
_LATEST_MS: Final = 253_402_300_799_000
"""The end of the year 9999, where `datetime` ends."""
ENDINGS: Final[Mapping[str, str]] = {
    "interrupted": "This answer was interrupted.",
    "stopped": "This answer was stopped.",
    "failed": "This answer ended with an error.",
}


@dataclass(frozen=True, slots=True)
class Fork:
    """The beginning of another branch."""

    number: int
    """2 for the first one beside the active branch."""
    behind: MessageRecord | None
    """The message that it follows; None if it begins with another first message."""


def outline(record: ChatRecord) -> Iterator[MessageRecord | Fork]:
    """Yield the active branch, then what the others add to it, each message once."""
    by_id = {one.id: one for one in record.messages}
    shown: set[str] = set()
    for one in record.branch().messages:
        shown.add(one.id)
        yield one
    parents = {one.parent_id for one in record.messages}
    number = 1
    for leaf in record.messages:
        if leaf.id in parents or leaf.id in shown:
            continue
        added: list[MessageRecord] = []
        at: MessageRecord | None = leaf
        while at is not None and at.id not in shown:
            added.append(at)
            at = by_id.get(at.parent_id or "")
        shown.update(one.id for one in added)
        number += 1
        yield Fork(number, at)
        yield from reversed(added)


def speaker(one: MessageRecord) -> str:
    """Return who wrote a message."""
    message = one.message
    match message.role:
        case "user" if is_compaction(message):
            is_summary = message.metadata.get(COMPACTION) == SUMMARY
            return "Summary of the messages above" if is_summary else "Messages left out"
        case "user":
            return "You"
        case "assistant":
            return clean_line(one.model or "") or "Assistant"
        case "system":
            return "System"
        case "tool":
            return f"Result of {clean_line(message.name)}" if message.name else "Tool result"
        case role:
            return clean_line(role)


def time_text(time_ms: int) -> str:
    """Return a time as `2026-11-24 00:56 UTC`; empty if it is unknown."""
    if not 0 < time_ms <= _LATEST_MS:
        return ""
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def title_text(record: ChatRecord) -> str:
    """Return the title on one line."""
    return clean_line(record.title).strip() or "Chat"


def beginning(message: Message) -> str:
    """Return the first words of a message on one line."""
    words = " ".join(clean(message.text[: 4 * _BEGINNING]).split())
    return words if len(words) <= _BEGINNING else f"{words[: _BEGINNING - 1]}…"


def settings_rows(settings: ConversationSettings) -> list[tuple[str, str]]:
    """Return the settings that are not the default, without the system prompt, in words."""
    think = settings.should_think
    rows: list[tuple[str, JsonValue]] = [
        ("model", settings.model),
        ("profile", settings.profile),
        ("thinking", None if think is None else thinking_level(think) or thinking_mode(think)),
        ("tools", ", ".join(settings.tools) or None),
    ]
    options = settings.options
    rows += [(one.name, _plain(getattr(options, one.name))) for one in fields(options)]
    return [(name, _words(value)) for name, value in rows if value is not None]


def _plain(value: JsonValue | tuple[str, ...] | Mapping[str, JsonValue]) -> JsonValue:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _words(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clean_line(text)


def as_text(text: str) -> str:
    """Return foreign text with usual line ends and no control characters."""
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))


def described(block: Block) -> str:
    """Return a line for a block that cannot be shown: `Picture: cat.png, image/png, 12 kB`."""
    match block:
        case ImageContent():
            kind = "Picture"
        case AudioContent():
            kind = "Sound"
        case VideoContent():
            kind = "Video"
        case _:
            return f"Content of the type {clean_line(block.type)}"
    name = block.name if isinstance(block, ImageContent) else None
    link = block.url if block.url and block.url[:5].lower() != "data:" else None
    details = (name, block.mime_type, _size(block.data), link)
    words = ", ".join(clean_line(one) for one in details if one)
    return f"{kind}: {words}" if words else kind


def _size(data: bytes | str | None) -> str:
    if not data:
        return ""
    return size_text(len(data) if isinstance(data, bytes) else len(data) * 3 // 4)
