"""The messages of a chat as a server takes them, each made and encoded once.

A long chat is sent with every question, and all but its end is as it was the last time.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from ollm_tui.decode.json_guard import json_slices, repaired
from ollm_tui.decode.sequence_cache import SequenceCache
from ollm_tui.protocol.blocks import TextContent, ThinkingContent
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.message import Message

WireAll: TypeAlias = Callable[[Sequence[Message]], list[JsonValue]]
"""Makes the objects of all messages of a chat."""
MOST_CHARACTERS: Final = 64 * 1024
"""A longer message is made each time, and so is one with pictures: its copies would take memory."""
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


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
            self._encoded = repaired(_ENCODER.encode(self)).encode()
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
        pairs = zip(kept, messages, strict=True)
        return [self._make(message) if known is None else known for known, message in pairs]

    def _kept(self, message: Message) -> JsonObject | None:
        texts = [one for one in message.content if isinstance(one, TextContent | ThinkingContent)]
        is_text = len(texts) == len(message.content)
        if is_text and sum(len(one.text) for one in texts) <= MOST_CHARACTERS:
            return UnchangedObject(self._make(message))
        return None


def body_slices(body: JsonMapping) -> Iterator[bytes]:
    """Yield the JSON of a request in slices; half surrogate pairs become U+FFFD.

    Raises:
        ValueError: the body is not finite.
        RecursionError: it is nested too deeply.
    """
    before = b"{"
    for key, value in body.items():
        yield before + repaired(_ENCODER.encode(key)).encode() + b": "
        if isinstance(value, list) and UnchangedObject in map(type, value):
            yield from _items(value)
        else:
            yield from json_slices(value, _ENCODER)
        before = b", "
    yield b"}" if body else b"{}"


def _items(values: Sequence[JsonValue]) -> Iterator[bytes]:
    """Yield the slices of a list, of which most values are encoded already."""
    known = [*(getattr(value, "_encoded", b"") for value in values), b""]
    at, before = 0, b"["
    while at < len(values):
        value, end = values[at], at + 1
        if known[at]:
            end = known.index(b"", at)
            yield before + b", ".join(known[at:end])
        elif isinstance(value, UnchangedObject):
            yield before + value.encoded()
        else:
            yield before
            yield from json_slices(value, _ENCODER)
        at, before = end, b", "
    yield b"]"
