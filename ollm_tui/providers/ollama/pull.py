"""`PullStream`: one download by an Ollama server, watched.

States and transitions:

* ``new``: nothing was sent. Entering the block, or asking for the first progress, leads to
  ``asking``.
* ``asking``: the request is on its way. The server's consent leads to ``pulling``, anything else to
  ``ended``.
* ``pulling``: lines come. `success`, a failure, a clock or leaving lead to ``ended``.
* ``ended``: the connection is closed. The server stops too and keeps what it has.
"""

import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import PullProgress
from ollm_tui.providers.exchange import Exchange
from ollm_tui.providers.http_errors import http_error
from ollm_tui.providers.http_faults import Place
from ollm_tui.providers.ollama.pull_lines import AGAIN, PullLines, broken_off, refused
from ollm_tui.providers.ollama.refusals import unknown_here
from ollm_tui.providers.single_error import single_error
from ollm_tui.providers.transport import MAX_ERROR_BYTES, Transport


class PullStream(AsyncIterator[PullProgress]):
    """The progress of one download; use it as an async context manager to be free to leave early.

    Without the block it has to be read to its end, or closed with `aclose`, by one task.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport = transport
        self._name = name
        self._stack = AsyncExitStack()
        self._group: TaskGroup | None = None
        self._exchange: Exchange | None = None
        self._lines = PullLines(transport.place)
        self._waiting: deque[PullProgress] = deque()
        self._alive = time.monotonic()
        self._is_loading = False
        """Whether bytes come: then silence is a fault sooner than while a sum is checked."""
        self._ended = False

    async def __aenter__(self) -> Self:
        if self._group is None:
            self._group = await self._stack.enter_async_context(_children())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection, which stops the server; nothing more is given."""
        self._ended = True
        self._waiting.clear()
        if self._exchange is not None:
            self._exchange.dispose()
        await self._stack.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> PullProgress:
        """Give the next progress.

        Raises:
            AIError: the model did not come whole; repeating the pull goes on with it.
        """
        try:
            while not self._waiting and not self._ended:
                await self._more()
        except BaseException:
            await self.aclose()
            raise
        if self._waiting:
            return self._waiting.popleft()
        raise StopAsyncIteration

    async def _more(self) -> None:
        if self._lines.ended:
            await self.aclose()
            if self._lines.failure is not None:
                raise self._lines.failure
            return
        await self.__aenter__()
        try:
            with anyio.fail_after(self._patience()):
                await (self._ask() if self._exchange is None else self._read(self._exchange))
        except TimeoutError:
            raise _stood_still(self._transport.place, self._limit()) from None

    def _limit(self) -> float:
        limits = self._transport.spec
        return limits.idle_timeout_s if self._is_loading else limits.first_byte_timeout_s

    def _patience(self) -> float:
        return max(0.0, self._alive + self._limit() - time.monotonic())

    async def _ask(self) -> None:
        assert self._group is not None
        self._alive = time.monotonic()
        exchange = await self._transport.start(
            self._group, "POST", "/api/pull", {"model": self._name, "stream": True}
        )
        self._exchange = exchange
        head = await exchange.head()
        if not 200 <= head.status < 300:
            said = await exchange.read_words(MAX_ERROR_BYTES, self._transport.spec.list_timeout_s)
            error = http_error(head, said, self._transport.place)
            raise unknown_here(error, self._transport.place, "pull models") or refused(error)

    async def _read(self, exchange: Exchange) -> None:
        before = self._lines.life
        try:
            chunk = await exchange.read()
        except AIError as error:
            self._waiting += self._lines.finish()
            if not self._lines.succeeded:  # what was left of the body comes before the failure
                self._lines.failure = broken_off(error, self._transport.place)
            return
        found = self._lines.feed(chunk) if chunk else self._lines.finish()
        self._waiting += found
        if found:
            self._is_loading = found[-1].digest is not None
        if self._lines.life != before:
            self._alive = time.monotonic()


@asynccontextmanager
async def _children() -> AsyncIterator[TaskGroup]:
    with single_error():
        async with anyio.create_task_group() as group:
            try:
                yield group
            finally:
                group.cancel_scope.cancel()


def _stood_still(place: Place, seconds: float) -> AIError:
    return place.error(
        ErrorCode.TIMEOUT,
        f"The download stopped: {place.label} sent nothing for {seconds:g} s.",
        AGAIN,
        fault="idle",
    )
