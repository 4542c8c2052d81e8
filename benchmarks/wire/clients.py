"""The clients: each yields the pieces of one answer. Run as a program, it measures one of them.

python -m benchmarks.wire.clients NAME URL PIECES
"""

import json
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from types import MappingProxyType

import anyio

OURS_OPENAI, THEIRS_OPENAI = "ollm, openai-compatible", "openai"
OURS_OLLAMA, THEIRS_OLLAMA = "ollm, ollama", "ollama"
PROMPT = "Say much."

Answer = AsyncGenerator[str, None]


def ollm_openai(url: str) -> Answer:
    # Importing is no part of what is measured; each case loads its own client alone.
    from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
    from ollm_tui.providers.spec import ProviderSpec

    spec = ProviderSpec(name="here", kind="openai-compatible", base_url=url)
    return _deltas(OpenAICompatibleProvider(spec))


def ollm_ollama(url: str) -> Answer:
    # See `ollm_openai`.
    from ollm_tui.providers.ollama.provider import OllamaProvider
    from ollm_tui.providers.spec import ProviderSpec

    return _deltas(OllamaProvider(ProviderSpec(name="here", kind="ollama", base_url=url)))


def _deltas(provider: object) -> Answer:
    # See `ollm_openai`.
    from ollm_tui.protocol.message import Message
    from ollm_tui.protocol.ports import ProviderAdapter, SupportsDispose
    from ollm_tui.protocol.provider_events import Finish, TextDelta
    from ollm_tui.protocol.request import Request

    assert isinstance(provider, ProviderAdapter)
    request = Request(model="fake", messages=[Message("user", PROMPT)], stream=True)

    async def deltas() -> Answer:
        last: object = None
        async with provider.chat_stream(request) as events:
            async for last in events:
                if isinstance(last, TextDelta):
                    yield last.delta
        if isinstance(provider, SupportsDispose):
            await provider.dispose()
        if not isinstance(last, Finish):
            raise SystemExit(f"the answer ended in {last}")

    return deltas()


def official_openai(url: str) -> Answer:
    # See `ollm_openai`.
    import openai

    async def deltas() -> Answer:
        async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="none") as client:
            stream = await client.chat.completions.create(
                model="fake",
                messages=[{"role": "user", "content": PROMPT}],
                stream=True,
                stream_options={"include_usage": True},
            )
            async for chunk in stream:
                if chunk.choices and (text := chunk.choices[0].delta.content):
                    yield text

    return deltas()


def official_ollama(url: str) -> Answer:
    # See `ollm_openai`.
    import ollama

    async def deltas() -> Answer:
        client = ollama.AsyncClient(host=url)
        messages = [{"role": "user", "content": PROMPT}]
        parts: AsyncIterator[ollama.ChatResponse]
        parts = await client.chat("fake", messages=messages, stream=True)
        async for part in parts:
            if text := part.message.content:
                yield text
        await client.close()  # type: ignore[no-untyped-call]  # the client has no types there

    return deltas()


CLIENTS: Mapping[str, Callable[[str], Answer]] = MappingProxyType(
    {
        OURS_OPENAI: ollm_openai,
        THEIRS_OPENAI: official_openai,
        OURS_OLLAMA: ollm_ollama,
        THEIRS_OLLAMA: official_ollama,
    }
)


async def measure(name: str, url: str, expected: int) -> None:
    """Print what reading an answer cost; fail when not all of it came."""
    answer = CLIENTS[name](url)
    began, cpu = time.monotonic(), time.process_time()
    events = characters = 0
    async with aclosing(answer) as pieces:
        async for text in pieces:
            events += 1
            characters += len(text)
    used, took = time.process_time() - cpu, time.monotonic() - began
    if characters != expected:
        raise SystemExit(f"{name} gave {characters} characters of {expected}")
    print(json.dumps({"cpu_s": used, "wall_s": took, "events": events}))


if __name__ == "__main__":
    anyio.run(measure, sys.argv[1], sys.argv[2], int(sys.argv[3]))
