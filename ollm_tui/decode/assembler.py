"""Assemble the events of one provider call into a message."""

from collections.abc import Mapping
from dataclasses import replace

from ollm_tui.decode.images import read_image_header
from ollm_tui.decode.videos import read_video_header
from ollm_tui.protocol import provider_events as events
from ollm_tui.protocol.blocks import (
    AudioContent,
    Block,
    ImageContent,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall

JOINED_AT = 1024
"""Number of pieces of an open block that are joined to one."""


class _OpenBlock:
    """Text or thinking that is still growing; it is read often, so its pieces are joined early."""

    def __init__(self, *, is_thinking: bool) -> None:
        self.is_thinking = is_thinking
        self.proof: events.ThinkingDelta | None = None
        """The delta that signed it; a signed block is closed."""
        self._joined: list[str] = []
        self._pieces: list[str] = []

    def add(self, delta: str) -> None:
        """Append the next piece."""
        self._pieces.append(delta)
        if len(self._pieces) >= JOINED_AT:
            self._joined.append("".join(self._pieces))
            self._pieces.clear()

    def block(self) -> Block | None:
        """Return the block as far as it has arrived, or None while it is empty."""
        text = "".join([*self._joined, *self._pieces])
        # The end of an answer asks for it several times, and a long one takes long to copy.
        self._joined, self._pieces = [text], []
        if not self.is_thinking:
            return TextContent(text) if text else None
        thought = ThinkingContent(text)
        if self.proof is not None:
            thought = _signed(thought, self.proof)
        return thought if text or thought.signature else None


class _OpenSound:
    """Sound that is still coming, in pieces of one whole."""

    is_thinking = None
    proof = None

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def add(self, piece: bytes) -> None:
        """Append the next piece."""
        self._pieces.append(piece)

    def block(self) -> Block | None:
        """Return the sound as far as it has arrived."""
        return AudioContent(data=b"".join(self._pieces))


class MessageAssembler:
    """Collects text, thinking, media and calls in the order of their arrival, in linear time.

    A new block begins where text and thinking alternate, and after thoughts that were signed.
    Only the first of parallel answers counts.
    """

    def __init__(self) -> None:
        self._ended: list[Block] = []
        self._open: _OpenBlock | _OpenSound | None = None
        self._begun = 0
        self._calls: list[ToolCall] = []

    def add(self, event: events.ProviderEvent) -> None:
        """Take the next event; ends, and steps that lead to a picture, are ignored."""
        if event.index != 0:
            return
        match event:
            case events.TextDelta(delta=delta) if delta:
                self._going_on(is_thinking=False).add(delta)
            case events.ThinkingDelta():
                self._add_thinking(event)
            case events.Withdrawn():
                self._ended.clear()
                self._open = None
            case events.ToolCallEvent(call=call):
                self._calls.append(call)
            case events.MediaDelta(modality="image"):
                self._add_picture(event)
            case events.MediaDelta(modality="video", data=data, step=None) if data:
                self._add_video(data)
            case events.MediaDelta(modality="audio", data=data) if data:
                self._going_on_with_sound().add(data)
            case _:
                pass

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls so far."""
        return tuple(self._calls)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has arrived yet."""
        return self._open is None and not self._ended and not self._calls

    @property
    def block_number(self) -> int:
        """How many blocks have begun; the last is the open one."""
        return self._begun

    def message(self, metadata: Mapping[str, JsonValue] | None = None) -> Message | None:
        """Return the assistant's message so far, or None while there is nothing in it."""
        last = self._open.block() if self._open is not None else None
        blocks = self._ended if last is None else [*self._ended, last]
        if not blocks and not self._calls:
            return None
        return Message("assistant", blocks, tool_calls=self._calls, metadata=metadata)

    def _add_thinking(self, event: events.ThinkingDelta) -> None:
        if not event.delta and (event.signature is None or self._signs_late(event)):
            return
        block = self._begin(is_thinking=True) if event.sealed else self._going_on(is_thinking=True)
        block.add(event.delta)
        if event.signature is not None:
            block.proof = event

    def _add_picture(self, event: events.MediaDelta) -> None:
        """Add a whole picture, which is a block of its own."""
        is_step = event.step is not None and event.step < (event.total_steps or 0)
        header = None if is_step else read_image_header(event.data)
        if header is None:
            return
        self._close()
        self._begun += 1
        self._ended.append(
            ImageContent(
                data=event.data,
                mime_type=f"image/{header.kind}",
                width=header.width,
                height=header.height,
            )
        )

    def _add_video(self, data: bytes) -> None:
        """Add a whole video, which is a block of its own."""
        header = read_video_header(data)
        if header is None:
            return
        self._close()
        self._begun += 1
        self._ended.append(
            VideoContent(data=data, mime_type=header.mime_type, duration_s=header.duration_s)
        )

    def _going_on_with_sound(self) -> _OpenSound:
        if isinstance(self._open, _OpenSound):
            return self._open
        self._close()
        self._open = sound = _OpenSound()
        self._begun += 1
        return sound

    def _signs_late(self, event: events.ThinkingDelta) -> bool:
        """Add a lone signature to the newest unsigned thinking; return False if there is none."""
        open_ = self._open
        is_due = open_ is not None and open_.is_thinking and open_.proof is None
        if event.sealed or is_due:
            return False
        for at in reversed(range(len(self._ended))):
            block = self._ended[at]
            if isinstance(block, ThinkingContent) and block.signature is None:
                self._ended[at] = _signed(block, event)
                return True
        return False

    def _going_on(self, *, is_thinking: bool) -> _OpenBlock:
        """Return the block that a piece of this kind continues."""
        open_ = self._open
        if isinstance(open_, _OpenBlock) and open_.is_thinking == is_thinking and not open_.proof:
            return open_
        return self._begin(is_thinking=is_thinking)

    def _begin(self, *, is_thinking: bool) -> _OpenBlock:
        self._close()
        self._open = block = _OpenBlock(is_thinking=is_thinking)
        self._begun += 1
        return block

    def _close(self) -> None:
        if self._open is not None and (ended := self._open.block()) is not None:
            self._ended.append(ended)
        self._open = None


def _signed(thought: ThinkingContent, proof: events.ThinkingDelta) -> ThinkingContent:
    return replace(thought, signature=proof.signature, signer=proof.signer, sealed=proof.sealed)
