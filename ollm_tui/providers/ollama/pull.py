"""One download by an Ollama server, as it is told line by line.

Leaving it closes the connection; the server stops too and keeps what it has.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import PullProgress
from ollm_tui.providers.http_errors import http_error
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.ollama.pull_lines import AGAIN, PullLines, broken_off, refused
from ollm_tui.providers.ollama.refusals import unknown_here
from ollm_tui.providers.response_reader import ResponseReader
from ollm_tui.providers.single_error import single_error
from ollm_tui.providers.stream import LAST_LOOK_S
from ollm_tui.providers.transport import MAX_ERROR_BYTES, Transport
from ollm_tui.providers.watched_pull import Give

T = TypeVar("T")


async def pull(transport: Transport, name: str, give: Give) -> None:
    """Have the server fetch a model, and give what it says of it.

    Raises:
        AIError: the model did not come whole; repeating the pull goes on with it.
    """
    download = _Download(transport)
    with single_error():
        async with anyio.create_task_group() as group:
            try:
                await download.run(group, name, give)
            finally:
                download.close()


class _Download:
    """The answer to one `/api/pull`, and the clock that watches it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lines = PullLines(transport.place)
        self._exchange: ResponseReader | None = None
        self._alive = time.monotonic()
        self._is_loading = False
        """Whether bytes come: then silence is a fault sooner than while a sum is checked."""

    async def run(self, group: TaskGroup, name: str, give: Give) -> None:
        """Ask, and give what comes."""
        exchange = await self._asked(group, name)
        while not self._lines.ended:
            await self._more(exchange, give)
        if self._lines.failure is not None:
            raise self._lines.failure

    async def _more(self, exchange: ResponseReader, give: Give) -> None:
        before = self._lines.life
        for progress in await self._in_time(lambda: self._read(exchange)):
            await give(progress)
        if self._lines.life != before:
            self._alive = time.monotonic()  # the server is not late while nobody wants more
        elif not (self._lines.ended or self._patience()):  # what came was no sign of life
            raise self._stood_still()

    def close(self) -> None:
        """Close the connection, which stops the server."""
        if self._exchange is not None:
            self._exchange.dispose()

    async def _in_time(self, look: Callable[[], Awaitable[T]]) -> T:
        """Wait for what `look` gives; a clock that ran out is believed when nothing is there.

        A program that was held up finds the end of its clock and what came meanwhile at once.
        """
        with anyio.move_on_after(self._patience()):
            return await look()
        try:
            with anyio.fail_after(LAST_LOOK_S):
                return await look()
        except TimeoutError:
            raise self._stood_still() from None

    def _limit(self) -> float:
        limits = self._transport.spec
        return limits.idle_timeout_s if self._is_loading else limits.first_byte_timeout_s

    def _patience(self) -> float:
        """Seconds until the clock that runs now has run out."""
        return max(0.0, self._alive + self._limit() - time.monotonic())

    def _stood_still(self) -> AIError:
        return _stood_still(self._transport.place, self._limit())

    async def _asked(self, group: TaskGroup, name: str) -> ResponseReader:
        try:
            with anyio.fail_after(self._patience()):
                exchange = await self._transport.start(
                    group, "POST", "/api/pull", {"model": name, "stream": True}
                )
        except TimeoutError:
            raise self._stood_still() from None
        self._exchange = exchange
        head = await self._in_time(exchange.head)
        if not 200 <= head.status < 300:
            within_s = min(self._transport.spec.list_timeout_s, max(self._patience(), LAST_LOOK_S))
            said = await exchange.read_words(MAX_ERROR_BYTES, within_s)
            error = http_error(head, said, self._transport.place)
            raise unknown_here(error, self._transport.place, "pull models") or refused(error, name)
        return exchange

    async def _read(self, exchange: ResponseReader) -> list[PullProgress]:
        try:
            chunk = await exchange.read()
        except AIError as error:
            found = self._lines.finish()
            if not self._lines.succeeded:  # what was left of the body comes before the failure
                self._lines.failure = broken_off(error, self._transport.place)
            return found
        found = self._lines.feed(chunk) if chunk else self._lines.finish()
        if found:
            self._is_loading = found[-1].digest is not None
        return found


def _stood_still(place: Endpoint, seconds: float) -> AIError:
    return place.error(
        ErrorCode.TIMEOUT,
        f"The download stalled: {place.label} sent nothing for {seconds:g} s.",
        AGAIN,
        fault="idle",
    )
