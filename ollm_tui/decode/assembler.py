"""One provider call's events to the message they amount to."""

from collections.abc import Mapping

from ollm_tui.protocol import provider_events as events
from ollm_tui.protocol.blocks import Block, TextContent, ThinkingContent
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall

JOINED_AT = 1024
"""Pieces of an open block that are joined to a larger one."""


class _OpenBlock:
    """Text or thinking that is still growing; often looked at, so its pieces are joined early."""

    def __init__(self, kind: str, signature: str | None) -> None:
        self.kind = kind
        self.signature = signature
        self._joined: list[str] = []
        self._pieces: list[str] = []

    def add(self, delta: str) -> None:
        """Take what follows."""
        self._pieces.append(delta)
        if len(self._pieces) >= JOINED_AT:
            self._joined.append("".join(self._pieces))
            self._pieces.clear()

    def block(self) -> Block | None:
        """Give it as far as it has come; None while it is empty."""
        text = "".join([*self._joined, *self._pieces])
        if self.kind == "thinking":
            return ThinkingContent(text, self.signature) if text or self.signature else None
        return TextContent(text) if text else None


class MessageAssembler:
    """Collects text, thinking and calls in the order they came; joining is linear.

    A new block begins where text and thinking alternate. Only answer 0 of parallel ones counts.
    """

    def __init__(self) -> None:
        self._ended: list[Block] = []
        self._open: _OpenBlock | None = None
        self._begun = 0
        self._calls: list[ToolCall] = []

    def add(self, event: events.ProviderEvent) -> None:
        """Take the next event; ends and media leave nothing."""
        if event.index != 0:
            return
        match event:
            case events.TextDelta(delta=delta):
                self._append("text", delta, None)
            case events.ThinkingDelta(delta=delta, signature=signature):
                self._append("thinking", delta, signature)
            case events.ToolCallEvent(call=call):
                self._calls.append(call)
            case _:
                pass

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls so far."""
        return tuple(self._calls)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has come yet."""
        return not self._begun and not self._calls

    @property
    def block_number(self) -> int:
        """How many blocks have begun; the last of them is the open one."""
        return self._begun

    def message(self, metadata: Mapping[str, JsonValue] | None = None) -> Message | None:
        """Give the assistant's message so far; None while there is nothing in it."""
        last = self._open.block() if self._open is not None else None
        blocks = self._ended if last is None else [*self._ended, last]
        if not blocks and not self._calls:
            return None
        return Message("assistant", blocks, tool_calls=self._calls, metadata=metadata)

    def _append(self, kind: str, delta: str, signature: str | None) -> None:
        if self._open is None or self._open.kind != kind:
            if not delta and signature is None:
                return
            if self._open is not None and (ended := self._open.block()) is not None:
                self._ended.append(ended)
            self._open = _OpenBlock(kind, signature)
            self._begun += 1
        self._open.add(delta)
        if signature is not None:
            self._open.signature = signature
