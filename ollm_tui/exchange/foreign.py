"""Makes a record of a chat of another program, under ids that are the same each time."""

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.json_fields import number
from ollm_tui.decode.json_guard import repaired
from ollm_tui.exchange.archive_pictures import ArchivePictures
from ollm_tui.protocol.blocks import Block, ImageContent, TextContent
from ollm_tui.protocol.codec import message_to_json
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.store.records import ChatRecord, MessageRecord, in_order
from ollm_tui.store.rows import (
    TITLE_LENGTH,
    ConversationSettings,
    MessageState,
    ended_state,
    title_of,
)

_IDS: Final = uuid.UUID("6f6c6c6d-0000-8000-8000-000000000015")
SOURCE: Final = "source"
"""The metadata key for the program and the id that a message has there."""
_MILLISECONDS_FROM: Final = 100_000_000_000
"""A larger number of seconds would be in the year 5138: such a time is in milliseconds."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The file that a chat is from."""

    path: Path
    changed_ms: int
    """When the file was changed, for chats without times."""
    pictures: ArchivePictures | None = None
    """The pictures beside the chats, if the file is an archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignMessage:
    """A message under the ids of its program."""

    id: str
    parent: str | None
    message: Message | None
    """None if there is nothing in it: what follows it then follows the one before it."""
    created_ms: int = 0
    model: str | None = None
    state: MessageState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignChat:
    """A chat under the ids of its program."""

    app: str
    id: str
    title: str | None
    messages: Iterable[ForeignMessage]
    leaf: str | None
    """The message where it is continued."""
    created_ms: int = 0
    updated_ms: int = 0
    settings: ConversationSettings = field(default_factory=ConversationSettings)

    def record(self, origin: Origin) -> ChatRecord | None:
        """Return the record of the chat, or None if it has no message."""
        known: dict[str, ForeignMessage] = {}
        for one in self.messages:
            known.setdefault(one.id, one)
        messages = in_order(self._record_of(one, known) for one in known.values() if one.message)
        if not messages:
            return None
        created_ms = self.created_ms or _first(messages) or origin.changed_ms
        leaf = _with_content(self.leaf, known)
        questions = (title_of(one.message) for one in messages)
        title = repaired(self.title or "") or next(filter(None, questions), "")
        return ChatRecord(
            id=stable_id(self.app, self.id),
            title=" ".join(title.split())[:TITLE_LENGTH],
            title_by="model" if self.title else "question",
            created_ms=created_ms,
            updated_ms=max(self.updated_ms or _last(messages), created_ms),
            settings=self.settings,
            leaf_id=None if leaf is None else stable_id(self.app, self.id, leaf),
            messages=tuple(_at(one, created_ms) for one in messages),
        )

    def _record_of(self, one: ForeignMessage, known: Mapping[str, ForeignMessage]) -> MessageRecord:
        parent = _with_content(one.parent, known)
        message = one.message or Message(one.id)
        source: JsonObject = {"app": self.app, "id": one.id}
        state = one.state or ended_state(message)
        ended: JsonObject = {} if state == "complete" else {"ended": state}
        message = replace(message, metadata={**message.metadata, **ended, SOURCE: source})
        return MessageRecord(
            id=stable_id(self.app, self.id, one.id),
            parent_id=None if parent is None else stable_id(self.app, self.id, parent),
            message=message,
            state=state,
            created_ms=one.created_ms,
            updated_ms=one.created_ms,
            model=one.model if message.role == "assistant" else None,
        )


def _with_content(name: str | None, known: Mapping[str, ForeignMessage]) -> str | None:
    """Return a message, or the nearest one before it that has content."""
    passed: set[str] = set()
    while name is not None and name not in passed and (one := known.get(name)) is not None:
        if one.message is not None:
            return name
        passed.add(name)
        name = one.parent
    return None


def _at(one: MessageRecord, usual_ms: int) -> MessageRecord:
    return one if one.created_ms else replace(one, created_ms=usual_ms, updated_ms=usual_ms)


def _first(messages: Iterable[MessageRecord]) -> int:
    return min((one.created_ms for one in messages if one.created_ms), default=0)


def _last(messages: Iterable[MessageRecord]) -> int:
    return max((one.created_ms for one in messages), default=0)


def stable_id(*parts: str) -> str:
    """Return the id that a chat or message of another program has here, each time the same."""
    return str(uuid.uuid5(_IDS, repaired("\x1f".join(parts))))


def content_id(parent: str | None, message: Message) -> str:
    """Return an id for a message of a program that gives none, or reuses those of others.

    A message that was changed there is another one, beside the one that was imported before.
    """
    try:
        text = json.dumps(message_to_json(message), sort_keys=True, default=str)
    except (RecursionError, ValueError):
        text = message.text
    return hashlib.sha256(f"{parent}\x1f{text}".encode("utf-8", "replace")).hexdigest()[:32]


def message_or_none(
    role: str, blocks: Iterable[Block], *, name: str | None = None, call_id: str | None = None
) -> Message | None:
    """Return a message, or None if there is nothing in it."""
    content = [one for one in blocks if not isinstance(one, TextContent) or one.text]
    if not content:
        return None
    return Message(role or "unknown", content, name=name, tool_call_id=call_id)


def time_ms(data: JsonMapping, key: str) -> int:
    """Return a time in seconds, milliseconds or ISO 8601 as milliseconds; 0 if it is unknown."""
    value = data.get(key)
    if isinstance(value, str):
        return _iso_ms(value)
    seconds = number(data, key)
    if seconds is None or not seconds > 0:
        return 0
    return int(seconds if seconds >= _MILLISECONDS_FROM else seconds * 1000)


def _iso_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0, int(moment.timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0


def picture(address: JsonValue, name: str | None = None) -> ImageContent | None:
    """Return the picture of a `data:` address or of a link; None for anything else."""
    if not isinstance(address, str) or not address:
        return None
    if address[:5].lower() == "data:":
        head, comma, body = address.partition(",")
        if not comma or not head.lower().endswith(";base64"):
            return None
        return ImageContent(data=body, mime_type=head[5:].partition(";")[0] or None, name=name)
    if address.startswith(("http://", "https://")):
        return ImageContent(url=address, name=name)
    return None
