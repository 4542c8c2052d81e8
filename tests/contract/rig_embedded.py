"""The rig of the embedded provider: the real engine on the scripted model, loaded beforehand."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.embedded.provider import engine_available
from ollm_tui.providers.embedded.supervisor import Engine
from tests.contract.rig import Expected, Rig
from tests.support.engine import MODEL, SETTINGS, WEATHER, ask, embedded
from tests.support.tiny_gguf import ANSWER, FOREVER_PIECE, HELLO, THOUGHT, UNICODE, write_scripted

PROMPTS: Mapping[str, str] = {
    "text": "hello",
    "thinking": "think",
    "tool": "weather",
    "length": "forever",
    "usage": "hello",
}
EXPECTED: Mapping[str, Expected] = {
    "text": Expected(HELLO),
    "thinking": Expected(ANSWER, f"{THOUGHT}\n"),
    "unicode": Expected(UNICODE),
    "tool": Expected(calls=(("get_weather", {"city": "Paris"}),), reason="tool_calls"),
    "length": Expected((FOREVER_PIECE * 3).strip(), reason="length"),
}
OFFERS = frozenset({*EXPECTED, "usage", "forever"})


@dataclass(frozen=True)
class EmbeddedRig:
    """The prompt chooses what the scripted model says; the engine's slots tell who is answered."""

    provider: ProviderAdapter
    engine: Engine[Any]
    offers: frozenset[str] = OFFERS
    expected: Mapping[str, Expected] = field(default_factory=lambda: EXPECTED)

    def request(
        self, scenario: str, *, signal: AbortSignal | None = None, stream: bool = True
    ) -> Request:
        request = ask(
            PROMPTS.get(scenario, scenario),
            tools=[WEATHER] if scenario == "tool" else [],
            signal=signal,
            options=GenerationOptions(max_tokens=3 if scenario == "length" else None),
        )
        return replace(request, stream=stream)

    def answering(self) -> int:
        key = {"authorization": f"Bearer {self.engine.key}"}
        # Plain HTTP: the authorities of TLS need not be read each time.
        answer = httpx.get(f"{self.engine.url}/slots", headers=key, timeout=5, verify=False)
        slots = answer.json()
        return sum(slot["is_processing"] for slot in slots)

    def left(self) -> None:
        return None


@cache
def scripted_bytes() -> bytes:
    """The model file, made once."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        write_scripted(path)
        return path.read_bytes()


@asynccontextmanager
async def embedded_rig() -> AsyncIterator[Rig]:
    """Give the embedded provider with its engine running."""
    if not engine_available():
        pytest.skip("the built-in engine (xllamacpp) is not installed")
    settings = replace(SETTINGS, idle_unload_s=None)
    with TemporaryDirectory() as folder:
        (Path(folder) / f"{MODEL}.gguf").write_bytes(scripted_bytes())
        async with embedded(Path(folder), settings=settings) as (provider, supervisor):
            await provider.load_model(MODEL)
            (engine,) = supervisor.engines
            yield EmbeddedRig(provider, engine)
