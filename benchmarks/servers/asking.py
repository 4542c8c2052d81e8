"""One question to a server: by the program's adapter in this process, and by `curl`."""

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import anyio

from benchmarks.servers.activity import CannotTell, Watch
from ollm_tui.protocol.json_types import JsonMapping
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent, TextDelta, ThinkingDelta
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from ollm_tui.providers.ollama import OllamaProvider
from ollm_tui.providers.openai_compatible import OpenAICompatibleProvider
from ollm_tui.providers.spec import ProviderSpec

PIECES, ANSWERING_S = 20, 0.2
"""So many pieces of an answer come, and for so long, before it is stopped."""
SHORT_TOKENS = 16
WITHIN_S = 30.0
_TEXT = ("content", "reasoning_content", "reasoning", "thinking")
_TIMES = re.compile(
    r"^([\d:.]+) > POST .*?^([\d:.]+) \{ \[\d+ bytes data", re.MULTILINE | re.DOTALL
)
"""When `curl` sent the request, and when the first bytes of the answer came."""
_DAY_S = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Target:
    """The server that is measured."""

    backend: str
    """`ollama`, one of the backends of OpenAI-compatible servers, or `generic`."""
    url: str
    model: str
    key: str | None = None

    @property
    def kind(self) -> str:
        """How settings and flags call it."""
        return "ollama" if self.backend == "ollama" else "openai-compatible"

    def provider(self) -> OllamaProvider | OpenAICompatibleProvider:
        """Make an adapter for it."""
        backend = None if self.kind == "ollama" else self.backend
        provider = create_provider(
            ProviderSpec(
                name="bench",
                kind=self.kind,
                base_url=self.url,
                backend=backend,
                api_key=self.key,
            )
        )
        assert isinstance(provider, OllamaProvider | OpenAICompatibleProvider)
        return provider


@dataclass(frozen=True, slots=True)
class Sent:
    """What the adapter sent, for `curl` to send the same."""

    url: str
    body: str


class Asker:
    """The adapter, warm, and with it what it sends."""

    def __init__(self, target: Target) -> None:
        self._model = target.model
        self._provider = target.provider()
        self._transport = self._provider._transport
        self._start = self._transport.start
        self._sent: Sent | None = None
        # The bytes that `curl` has to send are those that leave the adapter, however it makes them.
        self._transport.start = self._noted  # type: ignore[method-assign]

    async def close(self) -> None:
        """Close the connections."""
        await self._provider.dispose()

    async def sends(self, prompt: str, tokens: int | None) -> Sent:
        """Send one prompt and return the request; warms the adapter and the server."""
        await self.first_text_s(prompt, tokens)
        assert self._sent is not None
        return self._sent

    async def sends_until_stopped(self, prompt: str) -> Sent:
        """Request an answer, leave it at its first event, and return the request."""
        with anyio.fail_after(WITHIN_S):
            async with self._provider.chat_stream(self._request(prompt, None)) as events:
                await anext(aiter(events), None)
        assert self._sent is not None
        return self._sent

    async def first_text_s(self, prompt: str, tokens: int | None) -> float:
        """Return the seconds from asking to the first text; the answer is read to its end."""
        began, first = time.monotonic(), None
        with anyio.fail_after(WITHIN_S):
            async with self._provider.chat_stream(self._request(prompt, tokens)) as events:
                async for event in events:
                    if isinstance(event, ErrorEvent):
                        raise CannotTell(event.error.message)
                    if first is None and isinstance(event, TextDelta | ThinkingDelta):
                        first = time.monotonic()
        if first is None:
            raise CannotTell("the answer had no text")
        return first - began

    async def stopped_idle_s(self, prompt: str, watch: Watch) -> float:
        """Stop an answer at one of its pieces; return the seconds until the server is idle."""
        signal = AbortSignal()
        began = stopped = 0.0
        pieces = 0
        request = self._request(prompt, None, signal)
        with anyio.fail_after(WITHIN_S), watched(watch):
            async with self._provider.chat_stream(request) as events:
                async for event in events:
                    if isinstance(event, ErrorEvent):
                        raise CannotTell(event.error.message)
                    now = time.monotonic()
                    pieces += isinstance(event, TextDelta | ThinkingDelta)
                    began = began or now
                    if is_due(pieces, began, now) and not signal.aborted:
                        stopped = time.monotonic()
                        signal.abort()
            if not stopped:
                raise CannotTell(_ended_early(pieces))
            return await anyio.to_thread.run_sync(watch.idle_after, stopped)

    async def _noted(self, group: object, method: str, path: str, body: JsonMapping | None = None):  # type: ignore[no-untyped-def]
        exchange = await self._start(group, method, path, body)  # type: ignore[arg-type]
        if body is not None and "messages" in body:
            request = exchange._request
            self._sent = Sent(str(request.url), (await request.aread()).decode())
        return exchange

    def _request(
        self, prompt: str, tokens: int | None, signal: AbortSignal | None = None
    ) -> Request:
        return Request(
            model=self._model,
            messages=[Message("user", prompt)],
            options=GenerationOptions(max_tokens=tokens),
            signal=signal,
        )


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Watch a server for the time of the block."""
    watch.begin()
    try:
        yield
    finally:
        watch.end()


def curl_first_text_s(sent: Sent, key: str | None) -> float:
    """Return the seconds from sending the request, by `curl`'s own clock, to the first text.

    That clock may be off by a part of a second, so only what lies between two of its times counts.
    """
    with asked_by_curl(sent, key) as (lines, trace):
        answered = first = None
        for line in lines:
            answered = answered or time.monotonic()
            if first is None and has_text(line):
                first = time.monotonic()
        trace.seek(0)
        times = _TIMES.search(trace.read())
    if answered is None or first is None or times is None:
        raise CannotTell("curl had no text of an answer")
    to_answer = (_of_day(times[2]) - _of_day(times[1])) % _DAY_S
    return to_answer + first - answered


def _of_day(clock: str) -> float:
    hours, minutes, seconds = clock.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def curl_stopped_idle_s(sent: Sent, key: str | None, watch: Watch) -> float:
    """Kill `curl` at a piece of an answer; return the seconds until the server is idle."""
    with watched(watch):
        with asked_by_curl(sent, key) as (lines, _):
            pieces, began, stopped = 0, 0.0, 0.0
            for line in lines:
                now = time.monotonic()
                pieces += has_text(line)
                began = began or now
                if is_due(pieces, began, now):
                    stopped = now
                    break
        if not stopped:
            raise CannotTell(_ended_early(pieces))
        return watch.idle_after(stopped)


@contextmanager
def asked_by_curl(sent: Sent, key: str | None) -> Iterator[tuple[IO[str], IO[str]]]:
    """Run `curl -N`; return the lines of the answer and its trace, and kills it at the end."""
    command = ["curl", "-q", "-sSNv", "--trace-time", "-m", f"{WITHIN_S:g}"]
    command += ["-H", "Content-Type: application/json", "--data-binary", "@-", sent.url]
    env = {"PATH": os.environ.get("PATH", "")}
    with (
        key_header(key) as header,
        tempfile.TemporaryFile("w+") as trace,
        tempfile.TemporaryFile("w+") as body,
    ):
        body.write(sent.body)
        body.seek(0)
        with subprocess.Popen(
            [*command, *header],
            stdin=body,
            stdout=subprocess.PIPE,
            stderr=trace,
            text=True,
            env=env,
        ) as process:
            assert process.stdout is not None
            try:
                yield process.stdout, trace
            finally:
                process.kill()


@contextmanager
def key_header(key: str | None) -> Iterator[list[str]]:
    """Return `curl` the key in a file of this user's own: everybody sees the arguments."""
    if not key:
        yield []
        return
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(f"Authorization: Bearer {key}\n")
        file.flush()
        yield ["-H", f"@{file.name}"]


def _ended_early(pieces: int) -> str:
    if not pieces:
        return f"no text came in {WITHIN_S:g} s"
    return f"the answer had ended after {pieces} pieces, before it was stopped"


def is_due(pieces: int, began: float, now: float) -> bool:
    """Tell whether enough of an answer has come for it to be stopped."""
    return pieces >= PIECES and now - began >= ANSWERING_S


def has_text(line: str) -> bool:
    """Tell whether a line of an answer, of NDJSON or of events, carries text."""
    try:
        value = json.loads(line.removeprefix("data:"))
    except ValueError:
        return False
    if not isinstance(value, dict):
        return False
    choices = value.get("choices")
    delta = choices[0].get("delta") if choices else value.get("message")
    return isinstance(delta, dict) and any(delta.get(name) for name in _TEXT)
