"""A stopped answer ends for its server at once, not when the event loop has drawn a frame."""

import socket

import anyio
import httpcore
import pytest
from anyio import to_thread

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.protocol.provider_events import Finish, ProviderEvent, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.watched_stream import WatchedStream

FIRST_WORDS = {
    "ollama": b'{"message":{"content":"first"},"done":false}\n',
    "openai-compatible": b'data: {"choices":[{"delta":{"content":"first"}}]}\n\n',
}
LIMIT_S = 10.0


def begin_answer(listener: socket.socket, words: bytes, accepted: list[socket.socket]) -> None:
    """Accept a connection, read its request and send the first words of an answer."""
    connection, _ = listener.accept()
    accepted.append(connection)  # before the client can see any word
    connection.settimeout(LIMIT_S)
    received = connection.recv(65536)
    while b"\r\n\r\n" not in received or not received.endswith(b"}"):
        received += connection.recv(65536)
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    connection.sendall(head + b"%x\r\n%s\r\n" % (len(words), words))


@pytest.mark.parametrize("kind", FIRST_WORDS)
async def test_the_server_sees_a_stopped_answer_before_the_loop_turns(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(LIMIT_S)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        provider = create_provider(ProviderSpec(name="p", kind=kind, base_url=url))
        assert isinstance(provider, SupportsDispose)
        accepted: list[socket.socket] = []
        signal, events = AbortSignal(), list[ProviderEvent]()
        request = Request(model="tiny", messages=[Message("user", "hello")], signal=signal)
        async with anyio.create_task_group() as group:
            group.start_soon(
                to_thread.run_sync, begin_answer, listener, FIRST_WORDS[kind], accepted
            )
            async with provider.chat_stream(request) as stream:
                async for event in stream:
                    events.append(event)
                    if isinstance(event, TextDelta):
                        signal.abort()
                        assert accepted[0].recv(1) == b"", "nothing else had its turn"
        accepted[0].close()
        await provider.dispose()
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "abort"


async def test_a_connection_that_was_hung_up_carries_no_other_request() -> None:
    async def nothing() -> None: ...

    stream = WatchedStream(httpcore.AsyncMockStream([]), nothing)
    assert await stream.is_drained()
    stream.hang_up()
    assert not await stream.is_drained()
