"""What a slow server sends gathers between two reads, but for the end of its reply."""

import anyio
import anyio.lowlevel
import httpcore
import pytest

from ollm_tui.providers import client
from ollm_tui.providers.client import WatchedStream


class Pieces(httpcore.AsyncNetworkStream):
    """A connection that gives a byte for each read."""

    reads = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.reads += 1
        return b"."

    async def write(self, buffer: bytes, timeout: float | None = None) -> None: ...

    async def aclose(self) -> None: ...

    def get_extra_info(self, info: str) -> object:
        return None


async def nothing() -> None: ...


@pytest.mark.parametrize("hurries", [True, False])
async def test_the_end_of_a_reply_does_not_wait(
    hurries: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "GATHER_S", 3600.0)
    pieces = Pieces()
    stream = WatchedStream(pieces, nothing)
    stream.gathers = True
    assert await stream.read(100) == b"."
    async with anyio.create_task_group() as group:
        group.start_soon(stream.read, 100)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert pieces.reads == 1
        if hurries:
            stream.hurry()
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
        assert pieces.reads == 1 + hurries
        group.cancel_scope.cancel()
    if hurries:
        assert await stream.read(100) == b"."
        assert pieces.reads == 3, "nor does what is read after it"
