"""What ends an answer that is coming asks first, whichever way it is wanted."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from ollm_tui.protocol.message import Message
from ollm_tui.tui.chat.dialogs import StopAnswer
from tests.tui.chat.test_branches import OTHER, OWN
from tests.tui.models.managed import ManagedRuntime
from tests.tui.models.scenes import OLLAMA, opened, runtime
from tests.tui.models.test_actions import armed
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedBranches, finish, text
from tests.tui.scripted_chats import ScriptedChats, saved_chat


def everything() -> ManagedRuntime:
    return ManagedRuntime(
        chats=ScriptedChats([saved_chat("a")]),
        histories={"a": [Message("user", "Old")]},
        branches=ScriptedBranches((OTHER, OWN)),
    )


async def open_saved_chat(stage: Stage) -> None:
    await stage.pilot.press("ctrl+r")
    await stage.settle()
    await stage.pilot.press("enter")


async def press_ctrl_n(stage: Stage) -> None:
    await stage.pilot.press("ctrl+n")


def command(words: str) -> Callable[[Stage], Awaitable[None]]:
    async def send(stage: Stage) -> None:
        stage.chat.composer.insert(words)
        await stage.pilot.press("enter")

    return send


WAYS: Final[Mapping[str, Callable[[Stage], Awaitable[None]]]] = MappingProxyType(
    {
        "start a new chat: Ctrl+N": press_ctrl_n,
        "start a new chat: /new": command("/new"),
        "start a new chat: /clear": command("/clear"),
        "open the other chat": open_saved_chat,
        "show the other branch": command("/branch"),
    }
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("way", WAYS)
async def test_leaving_a_chat_asks_while_an_answer_comes(tmp_path: Path, way: str) -> None:
    async with staged(tmp_path / "config.toml", everything()) as stage:
        await stage.ask("one")
        old = stage.client
        old.give(text("so far"))
        await stage.settle()
        signal = old.signals[0]
        assert signal is not None
        for key, is_left in (("n", False), ("y", True)):
            await WAYS[way](stage)
            await stage.settle()
            dialog = await armed(stage)
            assert isinstance(dialog, StopAnswer)
            assert f"Stop it and {way.partition(':')[0]}?" in stage.screen_text
            await stage.pilot.press(key)
            await stage.settle()
            assert signal.aborted is is_left
            assert ("so far" not in stage.shown) is is_left


@pytest.mark.parametrize("way", WAYS)
async def test_leaving_a_chat_asks_nothing_while_no_answer_comes(tmp_path: Path, way: str) -> None:
    async with staged(tmp_path / "config.toml", everything()) as stage:
        await stage.ask("one")
        stage.client.give(text("all of it"), finish())
        await stage.settle()
        await WAYS[way](stage)
        await stage.settle()
        assert stage.app.screen is stage.chat
        assert "all of it" not in stage.shown


@pytest.mark.parametrize(
    ("key", "action", "done"),
    [("f7", "unload the model", "unload"), ("f8", "delete the model", "delete")],
)
async def test_taking_away_the_model_of_an_answer_asks(
    tmp_path: Path, key: str, action: str, done: str
) -> None:
    scripted = runtime(OLLAMA)
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await stage.ask("one")
        signal = stage.client.signals[0]
        assert signal is not None
        await opened(stage)
        for answer in ("n", "y"):
            await stage.pilot.press(key)
            await stage.settle()
            assert isinstance(await armed(stage), StopAnswer)
            assert f"Stop it and {action}?" in stage.screen_text
            assert scripted.manager.done == []
            await stage.pilot.press(answer)
            await stage.settle()
        if done == "delete":
            assert not signal.aborted
            await armed(stage)
            await stage.pilot.press("y")
            await stage.settle()
        assert [name for name, *_ in scripted.manager.done] == [done]
        assert signal.aborted
