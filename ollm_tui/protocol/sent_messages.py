"""`SentMessages`: the messages of a request, which begin with those of earlier requests.

Every question sends the whole chat. What is known of its older messages need not be looked for
again, nor need they be compared one by one.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import TypeAlias

from ollm_tui.protocol.message import Message

Test: TypeAlias = Callable[[Message], object]
"""Whether a message is wanted; the same function each time, so that its results are found again."""


class Growth:
    """What the requests of one chat have in common, as long as its messages are only added to."""

    def __init__(self) -> None:
        self._selected: dict[Test, tuple[int, list[tuple[int, Message]]]] = {}

    def selected(self, messages: Sequence[Message], count: int, test: Test) -> list[Message]:
        """Return which of the first `count` messages are wanted; each is tested once."""
        tested, wanted = self._selected.get(test, (0, []))
        if tested < count:
            added = enumerate(messages[tested:count], tested)
            wanted = [*wanted, *(one for one in added if test(one[1]))]
            self._selected[test] = count, wanted
        return [message for position, message in wanted if position < count]


class SentMessages(tuple[Message, ...]):
    """The messages of a request.

    Those of the same `growth` begin with the same objects, as far as both are `settled`.
    """

    growth: Growth
    settled: int
    """How many of the first messages every later request of the growth has, too."""

    @classmethod
    def of(cls, messages: Iterable[Message], growth: Growth, settled: int) -> "SentMessages":
        """Return the messages of one request."""
        made = cls(messages)
        made.growth, made.settled = growth, settled
        return made


def common_length(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many items at the beginning of two sequences are the same objects."""
    settled = 0
    if isinstance(one, SentMessages) and isinstance(other, SentMessages):
        settled = min(one.settled, other.settled) if one.growth is other.growth else 0
    if settled:  # nothing is copied otherwise
        one, other = one[settled:], other[settled:]
    if one is other or all(map(is_, one, other)):
        return settled + min(len(one), len(other))
    pairs = enumerate(zip(one, other, strict=False), settled)
    return next(at for at, (here, there) in pairs if here is not there)


def selected(messages: Sequence[Message], test: Test) -> list[Message]:
    """Return which messages are wanted; those of `SentMessages` are tested once."""
    if not isinstance(messages, SentMessages):
        return [message for message in messages if test(message)]
    settled = messages.growth.selected(messages, messages.settled, test)
    return settled + [message for message in messages[messages.settled :] if test(message)]
