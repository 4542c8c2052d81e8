"""A chat of 5,000 messages and 20 MB: opened, asked, and given an answer of 10 MB.

    python -m benchmarks.long_chat [MESSAGES] [MB]

No screen: the saved chats, the chat client and the Ollama provider, against a server in a process
of its own. Each step tells how long it took and the longest time the event loop stood still.
Steps are taken with a model whose tokenizer is known and with one whose is not.
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import tiktoken

from benchmarks.stalls import Stalls, watched_loop
from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol.chat_events import Finish
from ollm_tui.protocol.message import Message
from ollm_tui.providers import create_provider
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.rows import ConversationSettings, MessageRow, new_id
from ollm_tui.tokens.encodings import Encodings

MESSAGES = 5000
MEGABYTES = 20
ANSWER = 10_000_000
LIMIT_MS = 100.0
CHAT = "long-chat"
TOKENIZER = "building a tokenizer"
TOKENS = 200_000
"""How many the largest tokenizer has."""
PARAGRAPH = (
    "The lighthouse keeper wrote down the wind, the *height* of the sea and what had passed: "
    "`three boats, one gull`. Then he lit the lamp — as every evening — and went up to bed.\n\n"
)


async def fill(store: ConversationStore, messages: int, size: int) -> None:
    """Save a chat of so many messages of so many characters each."""
    text = PARAGRAPH * (size // len(PARAGRAPH) + 1)
    settings = ConversationSettings(model="local://bulk")
    parent = None
    for number in range(messages):
        role = "assistant" if number % 2 else "user"
        row = MessageRow(
            id=new_id(number),
            conversation_id=CHAT,
            parent_id=parent,
            depth=number + 1,
            message=Message(role, f"{number}. {text}"[:size]),
            state="complete",
            created_ms=number,
            updated_ms=number,
            settings=settings,
        )
        store.put(row)
        parent = row.id
    await store.save()


@asynccontextmanager
async def step(name: str, longest: dict[str, float]) -> AsyncIterator[Stalls]:
    """Time a step and the loop meanwhile; prints both."""
    began = time.perf_counter()
    async with watched_loop() as stalls:
        await anyio.sleep(0.01)
        yield stalls
        await anyio.sleep(0.01)
    took = time.perf_counter() - began - 0.02
    longest[name] = stalls.longest * 1000
    print(f"{name:34} {took:6.2f} s   {stalls}", flush=True)


async def ask(client: ChatClient, prompt: str) -> None:
    """Ask and read the answer to its end."""
    async with client.chat(prompt) as events:
        seen = [event async for event in events]
    if not isinstance(seen[-1], Finish):
        raise SystemExit(f"the prompt failed: {seen[-1]}")


async def measure(url: str, path: Path, messages: int, size: int) -> dict[str, float]:
    """Take all steps; return the longest stall of each in ms."""
    registry = ProviderRegistry()
    registry.register(create_provider(ProviderSpec(name="local", kind="ollama", base_url=url)))
    router = Router(registry, ModelCatalog(registry))
    longest: dict[str, float] = {}
    async with open_store(path) as store:
        async with step("reference: nothing at all", longest):
            await anyio.sleep(2)
        await fill(store, messages, size)
        encodings = Encodings()
        async with step(TOKENIZER, longest):
            await encodings.encoding_for("gpt-oss:20b")
        async with step("listing; loads the HTTP client", longest):
            await router.resolve("local://bulk")
        for model in ("bulk", "gpt-oss:20b"):
            async with step(f"{model}: open", longest):
                stored = await store.load(CHAT)
            talk = Conversation(model=f"local://{model}", messages=stored.history)
            client = ChatClient(
                ChatParts(router=router, encodings=encodings),
                talk,
                journal=store.journal(talk, stored),
            )
            async with step(f"{model}: first prompt", longest):
                await ask(client, "One more.")
            async with step(f"{model}: next prompt", longest):
                await ask(client, "And another.")
        for kind in ("prose", "smileys"):
            talk = Conversation(model="local://bulk")
            client = ChatClient(
                ChatParts(router=router, encodings=encodings), talk, journal=store.journal(talk)
            )
            async with step(f"answer of 10 MB, {kind}, saved", longest):
                await ask(client, f"{kind} {ANSWER}")
            async with step("the prompt after it", longest):
                await ask(client, "One more.")
    return longest


def tokenizer_floor_ms() -> float:
    """Return the processor time of the call that builds the largest tokenizer, which is C only."""
    ranks = {number.to_bytes(3): number for number in range(256, TOKENS)}
    ranks |= {bytes([number]): number for number in range(256)}
    worked = time.thread_time()
    tiktoken.Encoding("floor", pat_str=r"\S+", mergeable_ranks=ranks, special_tokens={})
    return (time.thread_time() - worked) * 1000


@contextmanager
def bulk_server() -> Iterator[str]:
    """Run the server; return its address."""
    argv = [sys.executable, "-P", str(Path(__file__).with_name("bulk_server.py"))]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        match = re.match(r"URL (\S+)", process.stdout.readline())
        try:
            yield match[1] if match else ""
        finally:
            process.kill()


def main() -> int:
    """Take the steps, and fail when the loop stood still for too long."""
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES
    megabytes = float(sys.argv[2]) if len(sys.argv) > 2 else MEGABYTES
    size = int(megabytes * 1e6 / messages)
    print(f"{messages} messages, {megabytes:g} MB")
    with bulk_server() as url, tempfile.TemporaryDirectory() as folder:
        longest = anyio.run(measure, url, Path(folder) / "chats.db", messages, size)
    floor = tokenizer_floor_ms()
    print(f"of {TOKENIZER!r}, {floor:.0f} ms are one call of tiktoken that lets nothing else run")
    limits = {name: max(LIMIT_MS, 1.5 * floor * (name == TOKENIZER)) for name in longest}
    late = {name: ms for name, ms in longest.items() if ms > limits[name]}
    print(f"limit {LIMIT_MS:.0f} ms" + "".join(f"; {n}: {ms:.0f} ms" for n, ms in late.items()))
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
