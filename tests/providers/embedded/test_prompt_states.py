"""What an engine has read of a saved chat is kept in a file, and read from there later."""

import os
import shutil
import stat
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message, Usage
from ollm_tui.protocol.provider_events import Finish, PromptProgress
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.embedded import prompt_states
from ollm_tui.providers.embedded.plan import EnginePlan
from ollm_tui.providers.embedded.prompt_states import OLDEST_PART_S, PromptStates, note_answer
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.embedded.supervisor import Engine
from ollm_tui.store.purging import remove_states
from tests.providers.answers import answer, end_of, text_of
from tests.support.engine import MODEL, SETTINGS, embedded, needs_engine

LONG = "The quick brown fox jumps over the lazy dog. " * 30
"""1,350 tokens of the scripted model, each a byte."""
FRAME = 120
"""More than a short question and an answer of eight tokens, which are read again."""


@asynccontextmanager
async def opened(
    models: Path, states: Path | None, most: int = 1 << 30
) -> AsyncIterator[EmbeddedProvider]:
    settings = replace(SETTINGS, states_dir=states, max_state_bytes=most)
    async with embedded(models, settings=settings) as (provider, _):
        yield provider


async def ask(
    provider: EmbeddedProvider, messages: Sequence[Message], folder: Path | None
) -> tuple[str, int]:
    """Return the answer, and how many tokens of the prompt were read for it."""
    options = GenerationOptions(max_tokens=8, num_ctx=4096)
    request = Request(model=MODEL, messages=messages, options=options, state_folder=folder)
    events = await answer(provider, request)
    assert isinstance(end_of(events), Finish), end_of(events)
    first = next(event for event in events if isinstance(event, PromptProgress))
    return text_of(events), first.total - first.done


def kept(states: Path) -> list[Path]:
    return sorted(path for path in states.rglob("*") if path.is_file())


@pytest.mark.engine
@needs_engine
async def test_a_chat_is_read_from_its_file_after_the_program_was_closed(
    model_folder: Path, tmp_path: Path
) -> None:
    states = tmp_path / "data" / "states"
    folder = states / "chat-1"
    first = [Message("user", LONG)]
    async with opened(model_folder, states) as provider:
        text, read = await ask(provider, first, folder)
        assert read > len(LONG)
        assert kept(states) == [], "nothing is written before the engine ends"
    (file,) = kept(states)
    assert file.parent == folder
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(states.stat().st_mode) == stat.S_IMODE(folder.stat().st_mode) == 0o700

    second = [*first, Message("assistant", text), Message("user", "And then?")]
    async with opened(model_folder, states) as provider:
        text, read = await ask(provider, second, folder)
        assert read < FRAME
        # also when only the engine was unloaded
        await provider.unload_model(MODEL)
        third = [*second, Message("assistant", text), Message("user", "And now?")]
        _, read = await ask(provider, third, folder)
        assert read < FRAME
    assert kept(states) == [file]

    async with opened(model_folder, states) as provider:  # another chat is not affected
        _, read = await ask(provider, second, states / "chat-2")
        assert read > len(LONG)


@pytest.mark.engine
@needs_engine
async def test_nothing_is_kept_of_chats_that_are_not_saved_short_or_deleted(
    model_folder: Path, tmp_path: Path
) -> None:
    states = tmp_path / "states"
    folder = states / "chat-1"
    long, short = [Message("user", LONG)], [Message("user", "hello")]
    for messages, where in (
        (long, None),
        (long, tmp_path / "elsewhere" / "chat-1"),
        (short, folder),
    ):
        async with opened(model_folder, states) as provider:
            await ask(provider, messages, where)
        assert kept(tmp_path) == []
    async with opened(model_folder, states) as provider:
        await ask(provider, long, folder)
        shutil.rmtree(folder)  # as the store does it
    assert kept(tmp_path) == []
    async with opened(model_folder, states) as provider:
        await ask(provider, long, folder)
        await ask(provider, short, None)  # a private chat is what it has read last
    assert kept(tmp_path) == []
    async with opened(model_folder, states, most=0) as provider:
        await ask(provider, long, folder)
    assert kept(tmp_path) == []


@pytest.mark.engine
@needs_engine
async def test_a_file_that_cannot_be_used_is_read_once_and_never_again(
    model_folder: Path, tmp_path: Path
) -> None:
    states = tmp_path / "states"
    folder = states / "chat-1"
    first = [Message("user", LONG)]
    async with opened(model_folder, states) as provider:
        await ask(provider, first, folder)
    (file,) = kept(states)
    file.write_bytes(b"no state" * 100)
    async with opened(model_folder, states) as provider:
        text, read = await ask(provider, first, folder)
        assert read > len(LONG)
        assert text.startswith("Hello")
        assert kept(states) == []


def test_the_oldest_are_removed_above_the_limit_and_what_a_crash_left(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b", "c")):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "x.state"
        path.write_bytes(b"x" * 100)
        os.utime(path, (1e9 * 2 + number, 4e9 + number))
    left, fresh = tmp_path / "1.part", tmp_path / "2.part"
    left.write_bytes(b"x")
    fresh.write_bytes(b"x")
    os.utime(left, (1.0, left.stat().st_mtime - OLDEST_PART_S - 5))
    (tmp_path / "empty").mkdir()
    os.utime(tmp_path / "empty", (1.0, 1.0))
    PromptStates(tmp_path, 250).clean()
    names = [path.relative_to(tmp_path).as_posix() for path in kept(tmp_path)]
    assert names == ["2.part", "b/x.state", "c/x.state"]
    assert not (tmp_path / "empty").exists()


class SlotServer:
    """A server whose restoring does what a test says."""

    def __init__(self, restore: Callable[[], Awaitable[None]]) -> None:
        self._restore = restore

    async def save_slot(self, file_name: str, within_s: float) -> int:
        raise NotImplementedError

    async def restore_slot(self, file_name: str, within_s: float) -> None:
        await self._restore()


async def refuse() -> None:
    raise AIError(ErrorCode.BAD_REQUEST, "no", status=400)


async def take_too_long() -> None:
    raise AIError(ErrorCode.TIMEOUT, "slow")


def engine_of(model: Path, context: int = 4096) -> "Engine[EnginePlan]":
    plan = EnginePlan(name="m", path=model, context=context)
    return Engine(plan, cast(Any, None), anyio.CancelScope(), url="", key="")


def chat_request(folder: Path | None, signal: AbortSignal | None = None) -> Request:
    messages = [Message("user", LONG)]
    return Request(model=MODEL, messages=messages, state_folder=folder, signal=signal)


async def kept_state(states: PromptStates, folder: Path, model: Path) -> Path:
    """Leave a state of the chat as an engine does."""
    await states.begin(engine_of(model), SlotServer(refuse), chat_request(folder))
    path = folder / str(prompt_states._file_name(engine_of(model).plan))
    path.write_bytes(b"state")
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"model")
    return path


async def test_a_stop_while_a_state_is_read_ends_that_and_keeps_it(
    tmp_path: Path, model: Path
) -> None:
    states, folder, signal = (
        PromptStates(tmp_path / "s", 1 << 30),
        tmp_path / "s" / "c",
        AbortSignal(),
    )
    state = await kept_state(states, folder, model)

    async def wait() -> None:
        signal.abort()
        await anyio.sleep_forever()

    with anyio.fail_after(10):
        await states.begin(engine_of(model), SlotServer(wait), chat_request(folder, signal))
    assert kept(tmp_path / "s") == [state]
    await states.begin(engine_of(model), SlotServer(take_too_long), chat_request(folder))
    assert kept(tmp_path / "s") == [state]
    await states.begin(engine_of(model), SlotServer(refuse), chat_request(folder))
    assert kept(tmp_path / "s") == []


async def test_a_state_of_another_window_is_neither_read_nor_removed(
    tmp_path: Path, model: Path
) -> None:
    states, folder = PromptStates(tmp_path / "s", 1 << 30), tmp_path / "s" / "c"
    state = await kept_state(states, folder, model)
    await states.begin(engine_of(model, 2048), SlotServer(refuse), chat_request(folder))
    assert kept(tmp_path / "s") == [state]


async def test_a_chat_that_is_deleted_while_its_state_is_read_leaves_nothing(
    tmp_path: Path, model: Path
) -> None:
    root = tmp_path / "states"
    states, folder = PromptStates(root, 1 << 30), root / "c"

    async def delete_folder() -> None:
        shutil.rmtree(folder)  # what the engine reads lies beside it

    async def delete_all() -> None:
        remove_states(tmp_path / "chats.db", ["c"])

    for delete in (delete_folder, delete_all):
        await kept_state(states, folder, model)
        await states.begin(engine_of(model), SlotServer(delete), chat_request(folder))
        assert list(root.iterdir()) == []


class WritingServer(SlotServer):
    """A server that writes a state of as many tokens as a test says."""

    def __init__(self, root: Path, tokens: int) -> None:
        super().__init__(refuse)
        self._root = root
        self._tokens = tokens

    async def save_slot(self, file_name: str, within_s: float) -> int:
        (self._root / file_name).write_bytes(b"state")
        return self._tokens


async def read_by(states: PromptStates, engine: "Engine[EnginePlan]", folder: Path) -> None:
    """Let an engine answer a long chat."""
    chat = await states.begin(engine, SlotServer(refuse), chat_request(folder))
    note_answer(engine, chat, Usage(prompt_tokens=5000, completion_tokens=2))


async def test_a_model_file_that_is_removed_while_it_loads_does_not_fail_its_answer(
    tmp_path: Path, model: Path
) -> None:
    root = tmp_path / "s"
    states, engine = PromptStates(root, 1 << 30), engine_of(model)
    model.unlink()
    await read_by(states, engine, root / "c")
    await states.keep(engine, WritingServer(root, 5001))
    assert not root.exists()


async def test_a_state_is_named_for_the_file_that_was_loaded_and_not_for_a_later_one(
    tmp_path: Path, model: Path
) -> None:
    root = tmp_path / "s"
    states, engine = PromptStates(root, 1 << 30), engine_of(model)
    loaded = prompt_states._file_name(engine.plan)
    await read_by(states, engine, root / "c")
    model.write_bytes(b"another model")
    await states.keep(engine, WritingServer(root, 5001))
    assert [path.name for path in kept(root)] == [loaded]
    assert loaded != prompt_states._file_name(engine.plan)


async def test_the_files_of_a_model_are_looked_at_off_the_event_loop(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, here = tmp_path / "s", threading.get_ident()
    states, engine = PromptStates(root, 1 << 30), engine_of(model)
    threads: list[int] = []
    name_of = prompt_states._file_name

    def noted(plan: EnginePlan) -> str | None:
        threads.append(threading.get_ident())
        return name_of(plan)

    monkeypatch.setattr(prompt_states, "_file_name", noted)
    await read_by(states, engine, root / "c")
    await states.keep(engine, WritingServer(root, 5001))
    assert threads
    assert here not in threads
    assert len(kept(root)) == 1


async def test_a_folder_that_goes_while_the_states_are_listed_does_not_fail_an_answer(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanished(folder: Path, _pattern: str) -> Iterator[Path]:
        raise FileNotFoundError(folder)

    states = PromptStates(tmp_path / "s", 1 << 30)
    monkeypatch.setattr(Path, "glob", vanished)
    assert await states.begin(
        engine_of(model), SlotServer(refuse), chat_request(tmp_path / "s" / "c")
    )


async def test_an_answer_counts_for_its_own_chat_only(tmp_path: Path, model: Path) -> None:
    states, engine = PromptStates(tmp_path / "s", 1 << 30), engine_of(model)
    server = SlotServer(refuse)
    private = await states.begin(engine, server, chat_request(None))
    saved = await states.begin(engine, server, chat_request(tmp_path / "s" / "c"))
    assert (private, saved) == (None, engine.read_chat)
    note_answer(engine, private, Usage(prompt_tokens=5000, completion_tokens=2))
    assert saved is not None
    assert saved.tokens == 0
    note_answer(engine, saved, Usage(prompt_tokens=5000, completion_tokens=2))
    assert saved.tokens == 5001


async def test_nothing_is_noted_while_other_requests_share_the_engine(
    tmp_path: Path, model: Path
) -> None:
    states, engine, folder = PromptStates(tmp_path / "s", 1 << 30), engine_of(model), tmp_path / "s"
    server = SlotServer(refuse)
    engine.leases = 1
    first = await states.begin(engine, server, chat_request(folder / "c"))
    engine.leases = 2
    second = await states.begin(engine, server, chat_request(folder / "d"))
    for chat in (first, second):
        assert chat is not None
        note_answer(engine, chat, Usage(prompt_tokens=5000, completion_tokens=2))
        assert chat.tokens == 0
    assert engine.read_chat is None


async def test_the_folder_of_a_chat_in_use_stays(tmp_path: Path, model: Path) -> None:
    states, folder = PromptStates(tmp_path / "s", 1 << 30), tmp_path / "s" / "c"
    await states.begin(engine_of(model), SlotServer(refuse), chat_request(folder))
    os.utime(folder, (1.0, 1.0))
    await states.begin(engine_of(model), SlotServer(refuse), chat_request(folder))
    states.clean()
    assert folder.is_dir()


def test_what_a_crash_left_of_a_state_goes_with_its_chat(tmp_path: Path) -> None:
    states = tmp_path / "states"
    (states / "chat-1").mkdir(parents=True)
    for name in ("chat-1.0f.part", "chat-2.0f.part"):
        (states / name).write_bytes(b"read")
    remove_states(tmp_path / "chats.db", ["chat-1"])
    assert [path.name for path in kept(states)] == ["chat-2.0f.part"]
    assert not (states / "chat-1").exists()
