"""What an engine has read of a saved chat is kept in a file, and read from there later."""

import os
import shutil
import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import Finish, PromptProgress
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.providers.embedded.prompt_states import OLDEST_PART_S, PromptStates
from ollm_tui.providers.embedded.provider import EmbeddedProvider
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
    settings = replace(SETTINGS, states_dir=states, most_state_bytes=most)
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
