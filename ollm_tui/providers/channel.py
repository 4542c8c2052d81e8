"""Items from one task to another, each handed over with a single turn of the event loop.

A memory stream of anyio takes a turn whenever it is asked, and one more when something arrives.
While an answer is read piece by piece, that was more than the pieces themselves cost.
"""

from collections import deque
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Channel(AsyncIterator[T], Generic[T]):
    """A bounded queue with one sender and one receiver; each of them may close it.

    Neither waits while it need not, so the other one runs only when the queue is full or empty.
    """

    def __init__(self, max_items: int) -> None:
        self._items: deque[T] = deque()
        self._max_items = max_items
        self._is_ended = False
        self._is_left = False
        self._changed = anyio.Event()
        """Set when the one that waits is to look again; at most one of the two waits."""

    async def send(self, item: T) -> None:
        """Add an item, as soon as there is room.

        Raises:
            BrokenResourceError: nobody receives any more.
            ClosedResourceError: the sender has ended it.
        """
        while len(self._items) >= self._max_items and not (self._is_left or self._is_ended):
            await self._change()
        if self._is_ended:
            raise anyio.ClosedResourceError
        if self._is_left:
            raise anyio.BrokenResourceError
        self._items.append(item)
        self._changed.set()

    async def receive(self) -> T:
        """Return the next item, as soon as there is one.

        Raises:
            EndOfStream: the sender has ended it, and everything was received.
            ClosedResourceError: the receiver has left.
        """
        while not self._items and not (self._is_ended or self._is_left):
            await self._change()
        if self._is_left:
            raise anyio.ClosedResourceError
        if not self._items:
            raise anyio.EndOfStream
        return self._taken()

    def waiting(self) -> T | None:
        """Return the next item if there is one now."""
        return self._taken() if self._items else None

    def end(self) -> None:
        """Note that nothing more is sent; what was sent can be received."""
        self._is_ended = True
        self._changed.set()

    def leave(self) -> None:
        """Receive no more; what was not received is discarded."""
        self._is_left = True
        self._items.clear()
        self._changed.set()

    def _taken(self) -> T:
        was_full = len(self._items) >= self._max_items
        item = self._items.popleft()
        if was_full:
            self._changed.set()
        return item

    async def _change(self) -> None:
        if self._changed.is_set():
            self._changed = anyio.Event()
        await self._changed.wait()

    async def __anext__(self) -> T:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None
