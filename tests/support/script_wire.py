"""What both fake servers do with the steps of a script; the spelling is theirs."""

from abc import ABC, abstractmethod

import anyio

from tests.support import scripts
from tests.support.http_server import Reply

CallTexts = tuple[tuple[str, str, str], ...]


class ScriptWire(ABC):
    """Plays a script on one answer."""

    content_type: str

    def __init__(self, reply: Reply, *, streams: bool) -> None:
        self._reply = reply
        self._streams = streams
        self._bytewise = False
        self._tokens = 0

    async def play(self, prompt: str) -> None:
        for step in scripts.steps_for(prompt):
            await (self._misbehave(step) if isinstance(step, scripts.Trick) else self._take(step))

    async def write(self, data: bytes) -> None:
        """Send a frame of the stream."""
        await self._begin()
        for piece in [bytes([byte]) for byte in data] if self._bytewise else [data]:
            await self._reply.write(piece)

    async def _take(self, step: scripts.Step) -> None:
        match step:
            case scripts.Text(text):
                self._tokens += 1
                await self.say(text)
            case scripts.Thinking(text):
                self._tokens += 1
                await self.think(text)
            case scripts.Calls(calls):
                self._tokens += 1
                await self.call(calls)
            case scripts.Fail(message):
                await self.fail(message)
            case scripts.End(reason):
                await self.end(reason)
            case scripts.Wait(seconds):
                await anyio.sleep(seconds)

    async def _misbehave(self, step: scripts.Trick) -> None:
        match step:
            case scripts.Whole(data, status, content_type, headers):
                await self._reply.whole(data, status, content_type, headers)
            case scripts.Bytewise():
                self._bytewise = True
            case scripts.Cut():
                self._reply.cut()
            case scripts.Stall():
                await self._begin()
                await anyio.sleep_forever()
            case scripts.Stop():
                await self._begin()

    async def _begin(self) -> None:
        if not self._reply.started:
            await self._reply.start(content_type=self.content_type)

    @abstractmethod
    async def say(self, text: str) -> None: ...

    @abstractmethod
    async def think(self, text: str) -> None: ...

    @abstractmethod
    async def call(self, calls: CallTexts) -> None: ...

    @abstractmethod
    async def fail(self, message: str) -> None: ...

    @abstractmethod
    async def end(self, reason: str) -> None: ...
