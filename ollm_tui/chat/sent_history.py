"""`SentHistory`: the messages of a conversation as they are sent, worked out once for each message.

Every question sends the whole chat. The older messages stay the same objects, by which their tokens
and their JSON are found again.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Final

from ollm_tui.chat.prompt import Sending, newest_turns, with_names
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.sequence_cache import SequenceCache, common_length
from ollm_tui.protocol.blocks import MEDIA
from ollm_tui.protocol.message import Message

_NONE: Final = ()


@dataclass(frozen=True, slots=True)
class _Settled:
    """The messages of which it is known what is sent, whatever follows them."""

    messages: Sequence[Message]
    unsent: Collection[str]
    sending: Sending


@dataclass(frozen=True, slots=True)
class _Newest:
    """What of a history counts: no oldest turns that are left out, nothing that was compacted."""

    history: Sequence[Message]
    turns_left_out: int
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class _Sent:
    """The messages that are sent of what counts."""

    newest: Sequence[Message]
    unsent: Collection[str]
    messages: tuple[Message, ...]


class SentHistory:
    """Gives what `messages_to_send` gives for the newest state of one conversation.

    A prompt asks for it several times, and gets the same objects until the conversation changes.
    """

    def __init__(self) -> None:
        self._newest = _Newest(_NONE, 0, _NONE)
        self._settled = _Settled(_NONE, _NONE, Sending(_NONE))
        self._sent = _Sent(_NONE, _NONE, _NONE)
        self._named = SequenceCache(with_names, kept=1)
        self._media = SequenceCache(_media_of, kept=1)

    def messages(
        self, history: Sequence[Message], *, turns_left_out: int = 0, unsent: Collection[str] = ()
    ) -> tuple[Message, ...]:
        """Return the messages to send, without the oldest turns and some types of content."""
        newest, sent = self._newest_of(history, turns_left_out), self._sent
        if sent.newest is not newest or sent.unsent != unsent:
            messages = tuple(self._named.values(self._to_send(newest, unsent)))
            sent = self._sent = _Sent(newest, unsent, messages)
        return sent.messages

    def media(self, history: Sequence[Message], turns_left_out: int = 0) -> Counter[str]:
        """Count by type what is attached and would be sent, as `count_media`."""
        types = self._media.values(self._newest_of(history, turns_left_out))
        return Counter(chain.from_iterable(filter(None, types)))

    def _newest_of(self, history: Sequence[Message], turns_left_out: int) -> Sequence[Message]:
        known, count = self._newest, len(history)
        is_known = known.turns_left_out == turns_left_out and len(known.history) == count
        if not is_known or common_length(known.history, history) < count:
            newest = tuple(newest_turns(history, turns_left_out))
            known = self._newest = _Newest(tuple(history), turns_left_out, newest)
        return known.messages

    def _to_send(self, newest: Sequence[Message], unsent: Collection[str]) -> Sequence[Message]:
        known, count = self._settled, len(self._settled.messages)
        is_other = known.unsent != unsent or common_length(known.messages, newest) < count
        # What is settled was followed by something that is no result.
        if is_other or (count < len(newest) and newest[count].role == "tool"):
            known, count = _Settled(_NONE, unsent, Sending(unsent)), 0
        # What follows the newest message that is no result may still change what is sent of it.
        end = next((at for at in reversed(range(len(newest))) if newest[at].role != "tool"), 0)
        if end > count:
            sending = known.sending.copy()
            sending.add(newest, count, end)
            known, count = _Settled(tuple(newest[:end]), unsent, sending), end
        self._settled = known
        sending = known.sending.copy()
        sending.add(newest, count, len(newest))
        return sending.messages


def _media_of(message: Message) -> Sequence[str]:
    if message.role == "assistant":  # what a model made is never sent
        return _NONE
    return [block.type for block in message.content if isinstance(block, MEDIA)]
