"""The order of waiting messages, and the dialog that changes it."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.commands.parse import ShellLine
from ollm_tui.tui.composer import QueueDialog, WaitingPrompts
from tests.tui.screens import Stage, staged


@given(st.lists(st.sampled_from("ab"), min_size=1), st.integers(0, 9), st.integers(-12, 12))
def test_moving_changes_the_order_and_loses_nothing(texts: list[str], at: int, step: int) -> None:
    told: list[object] = []
    waiting = WaitingPrompts(told.append)
    for text in texts:
        waiting.add(text)
    item = waiting.items[at % len(texts)]
    before = list(waiting.items)
    waiting.move(item, step)
    others = [one for one in before if one is not item]
    assert [one for one in waiting.items if one is not item] == others
    wanted = min(max(0, before.index(item) + step), len(others))
    assert waiting.items.index(item) == wanted
    assert told[-1] == tuple(one.text for one in waiting.items)


def test_what_waits_comes_back_as_it_was_typed() -> None:
    waiting = WaitingPrompts(lambda _texts: None)
    for text in ("plain", ShellLine("ls"), "!no command", "/no/command"):
        waiting.add(text)
    assert waiting.take_all() == "plain\n\n!ls\n\n!!no command\n\n//no/command"


async def queued(stage: Stage, *texts: str) -> None:
    await stage.ask("first")
    for text in texts:
        await stage.ask(text)


async def test_keys_move_edit_and_remove_waiting_messages(config: Path) -> None:
    async with staged(config) as stage:
        await queued(stage, "one", "two", "three")
        await stage.pilot.press("alt+q")
        await stage.settle()
        assert "1. one" in stage.screen_text
        await stage.pilot.press("down", "down", "shift+up", "shift+up")
        assert "1. three" in stage.screen_text
        await stage.pilot.press("J", "down", "d")
        await stage.settle()
        assert "1. one" in stage.screen_text
        assert "2. three" in stage.screen_text
        assert "two" not in stage.screen_text.replace("Waiting", "")
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.chat.composer.draft == "three"
        stage.client.answer("yes")
        await stage.settle()
        assert stage.client.prompts == ["first", "one"]


async def test_the_list_follows_the_queue_and_closes_when_nothing_waits(config: Path) -> None:
    async with staged(config) as stage:
        await queued(stage, "one", "two")
        await stage.pilot.press("alt+q", "down")
        stage.client.answer("yes")
        await stage.settle()
        assert isinstance(stage.app.screen, QueueDialog)
        assert "1. two" in stage.screen_text
        stage.client.answer("yes")
        await stage.settle()
        assert not isinstance(stage.app.screen, QueueDialog)
        await stage.pilot.press("alt+q")
        await stage.settle()
        assert "No messages are waiting" in stage.screen_text
