"""What another program does to the open chat is said, and its branch is one command away."""

from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.branches import Branch, ChatNews
from ollm_tui.tui.chat.history import news_words
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedRuntime

OTHER = Branch(leaf_id="b", length=4, apart=2, is_continuation=False)
OWN = Branch(leaf_id="a", length=2, apart=0, is_continuation=False)


async def command(stage: Stage, text: str) -> None:
    await stage.pilot.press(*text, "escape", "enter")
    await stage.settle()


async def test_news_are_reported_after_an_answer_and_the_branch_is_shown(tmp_path: Path) -> None:
    runtime = ScriptedRuntime()
    async with staged(tmp_path / "config.toml", runtime, size=(80, 60)) as stage:
        runtime.branches.happened = [ChatNews(messages=2, branch=OTHER)]
        runtime.branches.found = (OTHER, OWN)
        await stage.ask("why?")
        stage.client.answer("Because.")
        await stage.settle()
        shown = " ".join(stage.screen_text.split())
        assert "continued in another window: 2 messages on another branch." in shown
        assert "/branch shows it." in shown
        await command(stage, "/branch")
        assert runtime.branches.opened == ["b"]
        assert "their answer" in stage.screen_text
        assert "Branch 1 of 2, the latest: 4 messages." in stage.screen_text


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("/branch 3", "There are branches 1 to 2."),
        ("/branch x", "There are branches 1 to 2."),
        ("/branch 0", "There are branches 1 to 2."),
    ],
)
async def test_a_number_that_is_none_is_refused(tmp_path: Path, typed: str, words: str) -> None:
    runtime = ScriptedRuntime()
    runtime.branches.found = (OTHER, OWN)
    async with staged(tmp_path / "config.toml", runtime, size=(80, 60)) as stage:
        await command(stage, typed)
        assert words in stage.screen_text
        assert runtime.branches.opened == []


async def test_one_branch_and_a_failure_are_reported(tmp_path: Path) -> None:
    runtime = ScriptedRuntime()
    async with staged(tmp_path / "config.toml", runtime, size=(80, 60)) as stage:
        await command(stage, "/branch")
        assert "This chat has only one branch." in stage.screen_text
        runtime.branches.refuses = AIError(ErrorCode.CONFLICT, "Not read: another program.")
        await command(stage, "/branch")
        assert "Not read: another program." in stage.screen_text


async def test_a_chat_that_is_opened_says_how_many_branches_it_has(tmp_path: Path) -> None:
    runtime = ScriptedRuntime()
    runtime.branches.found = (OTHER, OWN, OWN)
    async with staged(tmp_path / "config.toml", runtime, size=(80, 60)) as stage:
        await stage.settle()
        assert "This chat has 2 other branches." in stage.screen_text
        assert "/branch shows the next one." in stage.screen_text


@pytest.mark.parametrize(
    ("news", "words"),
    [
        (ChatNews(is_deleted=True), "This chat was deleted in another window."),
        (
            ChatNews(is_saved_anew=True),
            "This chat was deleted in another window. It is saved again as a new chat.",
        ),
        (ChatNews(title="a\x1b[31mb"), "This chat was renamed in another window: a␛[31mb"),
        (
            ChatNews(
                messages=1, branch=Branch(leaf_id="b", length=3, apart=1, is_continuation=True)
            ),
            "This chat was continued in another window: 1 message after this.",
        ),
    ],
)
def test_news_in_words(news: ChatNews, words: str) -> None:
    assert [text for text, _ in news_words(news)] == [words]


async def test_a_chat_is_renamed_and_the_header_shows_it(tmp_path: Path) -> None:
    runtime = ScriptedRuntime()
    async with staged(tmp_path / "config.toml", runtime, size=(80, 60)) as stage:
        await command(stage, "/rename Skies")
        assert "Send a message first" in stage.screen_text
        await stage.ask("why?")
        stage.client.answer("Because.")
        await stage.settle()
        await command(stage, "/rename")
        assert "This chat is called “why?”. To rename it: /rename TITLE" in stage.screen_text
        await command(stage, "/rename The  sky [b]at noon")
        assert stage.client.conversation.own_title == "The sky [b]at noon"
        assert "Renamed this chat to “The sky [b]at noon”." in stage.screen_text
        assert stage.screen_text.splitlines()[0].startswith(" ollm   The sky [b]at noon")
        runtime.branches.refuses = AIError(ErrorCode.ENGINE_ERROR, "The disk is full.")
        await command(stage, "/rename Another")
        assert "The disk is full." in stage.screen_text
        assert stage.client.conversation.title == "The sky [b]at noon"
