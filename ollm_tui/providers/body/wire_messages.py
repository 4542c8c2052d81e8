"""The messages of a chat as a server takes them, each made and encoded once.

A long chat is sent with every question, and all but its end is as it was the last time.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.json_guard import json_slices, repaired
from ollm_tui.decode.sequence_cache import KEPT
from ollm_tui.protocol.blocks import TextContent, ThinkingContent
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.sent_messages import common_length

MAX_CHARACTERS: Final = 64 * 1024
"""A longer message is made each time, and so is one with pictures: its copies would take memory."""
RUN: Final = 64
"""So many messages are one slice as soon as they are encoded."""
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

    def forget(self) -> None:
        """Drop its JSON, which is kept elsewhere."""
        del self._encoded


@dataclass(slots=True)
class _Chat:
    """What was made of the messages of one chat."""

    messages: Sequence[Message] = ()
    objects: list[JsonObject | None] = field(default_factory=list)
    """None is made each time."""
    made_anew: list[int] = field(default_factory=list)
    """Where that is."""
    runs: list[bytes] = field(default_factory=list)
    """The JSON of the first messages, of `RUN` each; empty where it is not kept."""

    def first(self, count: int) -> "_Chat":
        """Return the same of the first messages."""
        made_anew = [at for at in self.made_anew if at < count]
        return _Chat(
            self.messages[:count], self.objects[:count], made_anew, self.runs[: count // RUN]
        )


class WireList(list[JsonValue]):
    """The messages of a request, of which most are encoded already; it is not to be changed."""

    _chat: _Chat
    _begin = _end = 0
    """Where its messages are; nowhere in a list that is made of them, which may be changed."""

    @classmethod
    def of(
        cls, first: Sequence[JsonValue], objects: Sequence[JsonValue], chat: _Chat
    ) -> "WireList":
        """Return the objects of a chat after others."""
        made = cls([*first, *objects])
        made._begin, made._end = len(first), len(first) + len(objects)
        made._chat = chat
        return made

    def slices(self) -> Iterator[Sequence[bytes]]:
        """Yield its JSON in slices, several at a time.

        Raises:
            ValueError, RecursionError: as `json_slices`.
        """
        before, known = b"[", list[bytes]()
        for one in self[: self._begin]:
            yield from _item(before, one)
            before = b", "
        for begin in range(self._begin, len(self), RUN):
            if run := self._run(begin):
                known += [before, run]
            else:
                if known:
                    yield known
                    known = []
                for one in self[begin : begin + RUN]:
                    yield from _item(before, one)
                    before = b", "
                self._keep_run(begin)
            before = b", "
        yield [*known, b"]" if self else b"[]"]

    def _run(self, begin: int) -> bytes:
        """Return the messages from one on as a slice; empty if they are not one."""
        if begin + RUN > self._end:
            return b""
        runs, number = self._chat.runs, (begin - self._begin) // RUN
        return runs[number] if number < len(runs) else b""

    def _keep_run(self, begin: int) -> None:
        if begin + RUN > self._end:
            return
        runs, number = self._chat.runs, (begin - self._begin) // RUN
        if number == len(runs):
            runs.append(_joined(self[begin : begin + RUN]))


class WireMessages:
    """Makes objects of messages by `make`, and remembers those of the last chats."""

    def __init__(self, make: Callable[[Message], JsonObject]) -> None:
        self._make = make
        self._chats: list[_Chat] = []

    def __call__(self, messages: Sequence[Message], first: Sequence[JsonValue] = ()) -> WireList:
        """Return the objects of a chat after others; they are not to be changed.

        Raises:
            AIError: what `make` raises.
        """
        chat = self._chat_of(messages)
        objects: list[JsonValue] = [*chat.objects]
        for at in chat.made_anew:
            objects[at] = self._make(messages[at])
        return WireList.of(first, objects, chat)

    def _chat_of(self, messages: Sequence[Message]) -> _Chat:
        """Return what is known of a chat: one for each first message."""
        is_it = [bool(messages and one.messages[0] is messages[0]) for one in self._chats]
        known = self._chats[is_it.index(True)] if any(is_it) else _Chat()
        same = common_length(known.messages, messages)
        added = [self._kept(message) for message in messages[same:]]
        if same < len(known.messages):
            known = known.first(same)
        known.made_anew += [at for at, one in enumerate(added, same) if one is None]
        known.objects += added
        known.messages = messages if isinstance(messages, tuple) else tuple(messages)
        if messages:
            others = [one for one, is_known in zip(self._chats, is_it, strict=True) if not is_known]
            self._chats = [known, *others][:KEPT]
        return known

    def _kept(self, message: Message) -> JsonObject | None:
        texts = [one for one in message.content if isinstance(one, TextContent | ThinkingContent)]
        is_text = len(texts) == len(message.content)
        if is_text and sum(len(one.text) for one in texts) <= MAX_CHARACTERS:
            return UnchangedObject(self._make(message))
        return None


def _item(before: bytes, value: JsonValue) -> Iterator[Sequence[bytes]]:
    """Yield the slices of one item of a list."""
    if isinstance(value, UnchangedObject):
        yield [before, value.encoded()]
    else:
        yield [before]
        yield from ([one] for one in json_slices(value, ENCODER))


def _joined(values: Sequence[JsonValue]) -> bytes:
    """Return the JSON of values as a part of a list; nothing if one of them changes."""
    objects = [value for value in values if isinstance(value, UnchangedObject)]
    if len(objects) < len(values):
        return b""
    joined = b", ".join(one.encoded() for one in objects)
    for one in objects:
        one.forget()
    return joined
