"""One provider call's events to the message they amount to."""

from collections.abc import Mapping

from ollm_tui.protocol import provider_events as events
from ollm_tui.protocol.blocks import Block, TextContent, ThinkingContent
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall


class MessageAssembler:
    """Collects text, thinking and calls in the order they came; joining is linear.

    A new block begins where text and thinking alternate. Only answer 0 of parallel ones counts.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[str, list[str], str | None]] = []
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
        return not self._parts and not self._calls

    @property
    def block_number(self) -> int:
        """How many blocks have begun; the last of them is the open one."""
        return len(self._parts)

    def message(self, metadata: Mapping[str, JsonValue] | None = None) -> Message | None:
        """Give the assistant's message so far; None while there is nothing in it."""
        blocks = [_block(kind, "".join(pieces), mark) for kind, pieces, mark in self._parts]
        blocks = [block for block in blocks if block is not None]
        if not blocks and not self._calls:
            return None
        return Message(
            "assistant",
            [block for block in blocks if block is not None],
            tool_calls=self._calls,
            metadata=metadata,
        )

    def _append(self, kind: str, delta: str, signature: str | None) -> None:
        if not self._parts or self._parts[-1][0] != kind:
            if not delta and signature is None:
                return
            self._parts.append((kind, [], signature))
        last_kind, pieces, mark = self._parts[-1]
        pieces.append(delta)
        if signature is not None and mark != signature:
            self._parts[-1] = (last_kind, pieces, signature)


def _block(kind: str, text: str, signature: str | None) -> Block | None:
    if kind == "thinking":
        return ThinkingContent(text, signature) if text or signature else None
    return TextContent(text) if text else None
