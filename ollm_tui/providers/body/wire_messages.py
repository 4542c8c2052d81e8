"""The messages of a chat as a server takes them, each made and encoded once.

A long chat is sent with every question, and all but its end is as it was the last time.
"""

import json
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ollm_tui.decode.json_guard import repaired
from ollm_tui.decode.sequence_cache import SequenceCache
from ollm_tui.protocol.blocks import TextContent, ThinkingContent
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message

WireAll: TypeAlias = Callable[[Sequence[Message]], list[JsonValue]]
"""Makes the objects of all messages of a chat."""
MOST_CHARACTERS: Final = 64 * 1024
"""A longer message is made each time, and so is one with pictures: its copies would take memory."""
ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
"""Encodes requests."""


class UnchangedObject(dict[str, JsonValue]):
    """A small object that is not changed any more, and so is encoded once."""

    __slots__ = ("_encoded",)
    _encoded: bytes

    def encoded(self) -> bytes:
        """Return its JSON in UTF-8; half surrogate pairs become U+FFFD.

        Raises:
            ValueError, RecursionError: as `json_slices`.
        """
        try:
            return self._encoded
        except AttributeError:
            self._encoded = repaired(ENCODER.encode(self)).encode()
            return self._encoded


class WireMessages:
    """Makes objects of messages by `make`, and remembers those of the last chats."""

    def __init__(self, make: Callable[[Message], JsonObject]) -> None:
        self._make = make
        self._cache = SequenceCache(self._kept)

    def __call__(self, messages: Sequence[Message]) -> list[JsonValue]:
        """Return the objects of a chat; they are not to be changed.

        Raises:
            AIError: what `make` raises.
        """
        kept = self._cache.values(messages)
        if all(kept):
            return [*kept]
        pairs = zip(kept, messages, strict=True)
        return [self._make(message) if known is None else known for known, message in pairs]

    def _kept(self, message: Message) -> JsonObject | None:
        texts = [one for one in message.content if isinstance(one, TextContent | ThinkingContent)]
        is_text = len(texts) == len(message.content)
        if is_text and sum(len(one.text) for one in texts) <= MOST_CHARACTERS:
            return UnchangedObject(self._make(message))
        return None
