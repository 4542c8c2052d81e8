"""The built-in engine beside llama.cpp's own server: `python -m benchmarks.engine MODEL.gguf`.

`--server` names a llama-server, which is started with the same file, window and threads; without
one only the built-in engine is measured. Both write 300 tokens, then read a first question of 3,000
tokens and answer a second one, in turn, each with the same requests. The built-in engine is asked
as the chat asks it: its part counts from the prompt to the first text.
"""

import argparse
import functools
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import anyio

from benchmarks.terminal.figures import Figure
from benchmarks.terminal.measuring import against, median_of
from benchmarks.terminal.programs import OLLM
from benchmarks.terminal.quiet import load
from benchmarks.terminal.report import exit_status, figures_table, quiet_report
from benchmarks.terminal.rows import Row, Rows
from benchmarks.terminal.scenarios.measures import Values
from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.config.engine_settings import EngineSettings
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.protocol.chat_events import ErrorEvent, Finish, TextDelta, ThinkingDelta
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router

SERVER: Final = "llama-server"
KEY: Final = "benchmark"
SYSTEM: Final = "You are a helpful assistant."
SENTENCE: Final = "The quick brown fox jumps over the lazy dog near river number {}. "
WRITING, READING, SECOND = "writing", "first question", "second question"
TOKEN_S, FIRST_S = "token_s", "first_s"
READY_S, REQUEST_S = 120.0, 600.0


def figures(*, has_server: bool, rounds: int) -> list[Figure]:
    """Return the lines of the table; without a server there is nothing to hold them to."""
    lines = [
        (WRITING, "a token of the answer", TOKEN_S, 1 / 0.97),
        (READING, "first token of a long first question", FIRST_S, None),
        (SECOND, "first token of the second question", FIRST_S, 1.1),
    ]
    return [
        Figure(what, [case], against(SERVER, case, key, "ms", 1, 1000), limit, "times", rounds)
        if has_server
        else Figure(what, [case], median_of(case, key, "ms", 1000, []), None, "ms", rounds)
        for case, what, key, limit in lines
    ]


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__)
    parser.add_argument("model", type=Path, help="a GGUF file that chats")
    parser.add_argument("--server", default="", help="llama.cpp's own server, a path or a name")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=300, help="of the answer that is written")
    parser.add_argument("--length", type=int, default=3000, help="tokens of the first question")
    parser.add_argument(
        "--alike", action="store_true", help="the built-in engine runs that server, too"
    )
    parser.add_argument(
        "--own-threads",
        action="store_true",
        help="the server chooses its threads and how they wait",
    )
    options = parser.parse_args(given)
    program = shutil.which(options.server or SERVER)
    if options.server and program is None:
        parser.error(f"{options.server} is not a program")
    if program is None:
        print("No llama-server here: `--server PATH` names one. The built-in engine alone:")
    rows = Rows(anyio.run(functools.partial(measured, options, program)))
    lines = figures(has_server=program is not None, rounds=min(options.rounds, 5))
    print(
        f"load {rows.load_before:.1f},"
        f" {options.tokens} tokens, a question of {options.length} tokens"
    )
    print(figures_table(rows, lines), quiet_report(rows), sep="\n")
    return exit_status(rows, lines)


async def measured(options: argparse.Namespace, program: str | None) -> list[Row]:
    """Take all rounds, both engines in turn."""
    model = options.model.expanduser().absolute()
    window = 2 * options.length
    settings = EmbeddedSettings(
        context=window,
        engine=EngineSettings(),
        idle_unload_s=None,
        program=Path(program) if program is not None and options.alike else None,
    )
    library = FolderLibrary([model.parent])
    rows: list[Row] = []
    load_before = load()  # once: the rounds are load, too
    async with EmbeddedProvider(library, settings) as provider:
        name = await provider.name_of(model)
        if name is None:
            raise SystemExit(f"{model} is no model file.")
        ours = BuiltIn(provider, name)
        text = await ours.text_of(options.length)
        loading = settings.options_of(name)
        threads = ["--threads", str(loading.threads), "--threads-batch", str(loading.threads_batch)]
        threads = [] if options.own_threads else threads
        with tempfile.TemporaryFile() as log, running(program, model, window, threads, log) as port:
            for number in range(options.rounds):
                for engine, asked in await one_round(ours, port, f"{number}. {text}", options):
                    rows += [
                        Row(engine, case, number, values, load=load_before)
                        for case, values in asked.items()
                    ]
    return rows


async def one_round(
    ours: "BuiltIn", port: int | None, text: str, options: argparse.Namespace
) -> list[tuple[str, dict[str, Values]]]:
    """Ask both engines the same; return the values of each by case."""
    asked = [(OLLM, await ours.round(text, options.tokens))]
    if port is not None:
        work = functools.partial(server_round, port, text, options.tokens)
        asked.append((SERVER, await anyio.to_thread.run_sync(work)))
    return asked


class BuiltIn:
    """The built-in engine, asked as the chat asks it."""

    def __init__(self, provider: EmbeddedProvider, model: str) -> None:
        self._provider = provider
        self._model = model

    async def text_of(self, tokens: int) -> str:
        """Return a text of about so many tokens."""
        sample = "".join(map(SENTENCE.format, range(100)))
        request = Request(model=self._model, messages=[Message("user", sample)])
        each = await self._provider.count_tokens(request) / 100
        return "".join(map(SENTENCE.format, range(round(tokens / each))))

    async def round(self, text: str, tokens: int) -> dict[str, Values]:
        """Write an answer; ask two questions in a chat."""
        writer = await self._client(max_tokens=tokens, extra_body={"ignore_eos": True})
        first_s, last_s = await _asked(writer, "Write a long story.")
        chat = await self._client(max_tokens=8)
        reading_s, _ = await _asked(chat, text)
        second_s, _ = await _asked(chat, "And then?")
        return _values(first_s, last_s, tokens, reading_s, second_s)

    async def _client(self, **options: Any) -> ChatClient:
        registry = ProviderRegistry()
        registry.register(self._provider)
        catalog = ModelCatalog(registry)
        await catalog.refresh()
        conversation = Conversation(
            model=f"{self._provider.name}://{self._model}",
            system_prompt=SYSTEM,
            options=GenerationOptions(temperature=0.0, repeat_penalty=1.0, **options),
        )
        return ChatClient(ChatParts(router=Router(registry, catalog)), conversation)


async def _asked(client: ChatClient, prompt: str) -> tuple[float, float]:
    """Return the seconds to the first text, and to the last."""
    began, first, last = time.perf_counter(), 0.0, 0.0
    async with client.chat(prompt) as events:
        async for event in events:
            if isinstance(event, TextDelta | ThinkingDelta):
                last = time.perf_counter() - began
                first = first or last
            elif isinstance(event, ErrorEvent):
                raise event.error
            elif isinstance(event, Finish) and not first:
                raise SystemExit("The model answered nothing.")
    return first, last


def server_round(port: int, text: str, tokens: int) -> dict[str, Values]:
    """Ask llama.cpp's own server the same."""
    system = {"role": "system", "content": SYSTEM}
    story = [system, {"role": "user", "content": "Write a long story."}]
    first_s, last_s, _ = _posted(port, story, max_tokens=tokens, ignore_eos=True)
    chat = [system, {"role": "user", "content": text}]
    reading_s, _, answer = _posted(port, chat, max_tokens=8)
    chat += [{"role": "assistant", "content": answer}, {"role": "user", "content": "And then?"}]
    second_s, _, _ = _posted(port, chat, max_tokens=8)
    return _values(first_s, last_s, tokens, reading_s, second_s)


def _posted(port: int, messages: Sequence[object], **more: object) -> tuple[float, float, str]:
    body = {"messages": messages, "stream": True, "temperature": 0.0, "repeat_penalty": 1.0, **more}
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_S)
    began, first, last, answer = time.perf_counter(), 0.0, 0.0, ""
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    for line in connection.getresponse():
        if line.startswith(b"data: {"):
            choices = json.loads(line[6:])["choices"]
            delta = choices[0]["delta"] if choices else {}
            if piece := delta.get("content") or delta.get("reasoning_content"):
                answer += piece
                last = time.perf_counter() - began
                first = first or last
    connection.close()
    return first, last, answer


def _values(
    first_s: float, last_s: float, tokens: int, reading_s: float, second_s: float
) -> dict[str, Values]:
    return {
        WRITING: {TOKEN_S: (last_s - first_s) / max(1, tokens - 1)},
        READING: {FIRST_S: reading_s},
        SECOND: {FIRST_S: second_s},
    }


@contextmanager
def running(
    program: str | None, model: Path, window: int, threads: Sequence[str], log: Any
) -> Iterator[int | None]:
    """Run llama.cpp's own server, if there is one, and give its port."""
    if program is None:
        yield None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [program, "--model", str(model), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--ctx-size", str(window), "--api-key", KEY, "--parallel", "1", "--no-warmup"]
    command += threads
    # As the built-in engine waits: threads that spin make it many times slower on busy cores.
    waits = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "300"} if threads else {}
    with subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **waits}) as process:
        try:
            _wait_until_ready(process, port)
            yield port
        finally:
            process.kill()


def _wait_until_ready(process: "subprocess.Popen[bytes]", port: int) -> None:
    end = time.monotonic() + READY_S
    while process.poll() is None and time.monotonic() < end:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == http.client.OK:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.05)
    raise SystemExit("llama-server did not start.")


if __name__ == "__main__":
    sys.exit(main())
