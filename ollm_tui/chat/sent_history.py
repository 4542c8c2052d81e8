"""`SentHistory`: the messages of a conversation as they are sent, worked out once for each message.

Every question sends the whole chat. The older messages stay the same objects, by which their tokens
and their JSON are found again.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from ollm_tui.chat.prompt import SendBuilder, newest_turns, with_names
from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.blocks import MEDIA, Block
from ollm_tui.protocol.message import Message, is_compaction
from ollm_tui.protocol.sent_messages import (
    Growth,
    SentMessages,
    common_length,
    selected,
)

_NONE: Final = ()


@dataclass(frozen=True, slots=True)
class _Newest:
    """The part of a history to send: without turns left out and compacted messages."""

    history: SentMessages
    turns_left_out: int
    messages: SentMessages

    def following(self, history: SentMessages, turns_left_out: int) -> "_Newest":
        """Return the same of a later state of the conversation."""
        added, growth = history[len(self.history) :], self.messages.growth
        is_longer = self.history.growth is history.growth
        is_alike = is_longer and self.turns_left_out == turns_left_out
        if is_alike and not turns_left_out and not any(map(is_compaction, added)):
            newest: Sequence[Message] = (*self.messages, *added)
        else:
            newest = newest_turns(history, turns_left_out)
            if not is_alike or common_length(self.messages, newest) < len(self.messages):
                growth = Growth()
        return _Newest(history, turns_left_out, SentMessages.of(newest, growth, len(newest)))


@dataclass(slots=True)
class _Settled:
    """The messages of which it is known what is sent, whatever follows them."""

    newest: SentMessages
    unsent: Collection[str]
    sending: SendBuilder
    count: int = 0
    """How many of the newest messages."""
    growth: Growth = field(default_factory=Growth)
    named: list[Message] = field(default_factory=list)
    """What is sent of them, with the names of files."""
    unsettled: Sequence[tuple[Message, Message]] = _NONE
    """What was sent after it last, without and with the names."""

    def settle(self, newest: SentMessages, count: int) -> None:
        """Settle more of the newest messages."""
        self.sending.add(newest, self.count, count)
        self.newest, self.count = newest, count
        added = self.sending.messages[len(self.named) : self.sending.settled]
        self.named += map(self._with_names, added)

    def sent(self) -> SentMessages:
        """Return all that is sent; what is not settled may be sent in another way later."""
        rest = self.sending.rest(len(self.named))
        rest.add(self.newest, self.count, len(self.newest))
        self.unsettled = [(message, self._with_names(message)) for message in rest.messages]
        messages = [*self.named, *(named for _, named in self.unsettled)]
        return SentMessages.of(messages, self.growth, len(self.named))

    def _with_names(self, message: Message) -> Message:
        known = (named for one, named in self.unsettled if one is message)
        return next(known, None) or with_names(message)


class SentHistory:
    """Gives what `messages_to_send` gives for the newest state of one conversation.

    A prompt asks for it several times, and gets the same objects until the conversation changes.
    """

    def __init__(self) -> None:
        none = SentMessages.of(_NONE, Growth(), 0)
        self._history = none
        self._newest = _Newest(none, 0, SentMessages.of(_NONE, Growth(), 0))
        self._settled = _Settled(none, _NONE, SendBuilder(_NONE))
        self._sent = none
        """What is sent of the newest state."""

    def messages(
        self, history: Sequence[Message], *, turns_left_out: int = 0, unsent: Collection[str] = ()
    ) -> tuple[Message, ...]:
        """Return the messages to send, without the oldest turns and some types of content."""
        newest, known = self._newest_of(history, turns_left_out), self._settled
        if known.newest is not newest or known.unsent != unsent:
            self._settle(newest, unsent)
            self._sent = self._settled.sent()
        return self._sent

    def media(self, history: Sequence[Message], turns_left_out: int = 0) -> Counter[str]:
        """Count by type what is attached and would be sent, as `count_media`."""
        messages = selected(self._newest_of(history, turns_left_out), _has_media)
        return Counter(block.type for message in messages for block in _media_of(message))

    def whole(self, history: Sequence[Message]) -> SentMessages:
        """Return all messages of the conversation."""
        known = self._history
        same = common_length(known, history)
        if same < len(known) or same < len(history):
            growth = known.growth if same == len(known) else Growth()
            self._history = SentMessages.of(history, growth, len(history))
        return self._history

    def _newest_of(self, history: Sequence[Message], turns_left_out: int) -> SentMessages:
        whole, known = self.whole(history), self._newest
        if known.history is not whole or known.turns_left_out != turns_left_out:
            self._newest = known.following(whole, turns_left_out)
        return self._newest.messages

    def _settle(self, newest: SentMessages, unsent: Collection[str]) -> None:
        known = self._settled
        count = known.count
        is_other = known.unsent != unsent or common_length(known.newest, newest) < count
        # What is settled was followed by something that is no result.
        if is_other or (count < len(newest) and newest[count].role == "tool"):
            known = self._settled = _Settled(newest, unsent, SendBuilder(unsent))
        # What follows the newest message that is no result may still change what is sent of it.
        end = next((at for at in reversed(range(len(newest))) if newest[at].role != "tool"), 0)
        known.settle(newest, max(known.count, end))


def _has_media(message: Message) -> bool:
    return bool(_media_of(message))


def _media_of(message: Message) -> Sequence[Block]:
    """Return what is attached; what a model made is never sent."""
    if message.role == "assistant":
        return _NONE
    return [block for block in message.content if isinstance(block, MEDIA)]
