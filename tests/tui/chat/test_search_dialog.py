"""The search in all chats: results while one types, and the chat at the message."""

import threading
from pathlib import Path

import pytest
from textual.widgets import Input, OptionList

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import FILE_NAME, open_store
from ollm_tui.store.search.lookup import SearchHit
from ollm_tui.store.search.words import Snippet
from ollm_tui.tui.chat import pick_dialog, search_dialog
from ollm_tui.tui.chat.search_dialog import hit_content, snippet_content
from tests.store.rig import SETTINGS, asked
from tests.tui.chat.test_pick_dialog import UtcTimes
from tests.tui.screens import Stage, staged, staged_for_real, within
from tests.tui.scripted import ScriptedRuntime
from tests.tui.scripted_chats import NOW_MS
from tests.tui.svg import SIZES, SvgSnapshot

DAY_MS = 86_400_000
LONG = [
    message
    for number in range(40)
    for message in (
        Message("user", f"question {number}"),
        Message("assistant", f"answer {number}\n\n" + "more\n\n" * 5),
    )
]


def hit(
    message_id: str, title: str, text: str, *marks: tuple[int, int], role: str = "assistant"
) -> SearchHit:
    return SearchHit(
        chat_id="a",
        chat_title=title,
        message_id=message_id,
        number=int(message_id),
        role=role,
        model="local://qwen3:8b" if role == "assistant" else None,
        created_ms=NOW_MS - int(message_id) * DAY_MS,
        snippet=Snippet(text, marks),
    )


HITS = [
    hit("3", "Sky colours", "Short waves scatter most, so the sky is blue.", (36, 39), (43, 47)),
    hit("10", "Sky colours", "Why is the sky blue?", (11, 14), (15, 19), role="user"),
    hit(
        "21",
        "[/red]\x1b[2J",
        "…a [red]sky\x1b[31m blue[/red] as \u202eink " + "and more " * 30,
        (8, 11),
    ),
]


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = ("", lambda: NOW_MS)
    monkeypatch.setattr(search_dialog.SearchChats.__init__, "__defaults__", defaults)
    monkeypatch.setattr(pick_dialog, "datetime", UtcTimes)


def runtime() -> ScriptedRuntime:
    runtime = ScriptedRuntime(histories={"a": list(LONG)})
    runtime.search.hits = list(HITS)
    return runtime


async def search(stage: Stage, *keys: str) -> None:
    await stage.pilot.press("f5")
    await stage.settle()
    await stage.pilot.press(*keys)
    await stage.settle()


def results(stage: Stage) -> int:
    return stage.app.screen.query_one(OptionList).option_count


async def test_each_letter_searches_and_the_last_word_may_be_a_beginning(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await search(stage, *"sky b")
        assert results(stage) == 3
        assert scripted.search.starts == 2  # with the app, and for what was saved since
        last = scripted.search.asked[-1]
        assert [(term.words, term.is_prefix) for term in last.terms] == [
            (("sky",), False),
            (("b",), False),
        ]
        text = stage.screen_text
        assert "3 messages · Enter open · Esc close" in text
        assert "Why is the sky blue?" in text


async def test_the_words_of_the_command_are_searched_at_once(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await stage.pilot.press(*"/search blue sky", "escape", "enter")
        await stage.settle()
        assert stage.app.screen.query_one(Input).value == "blue sky"
        assert results(stage) == 3


async def test_enter_opens_the_chat_at_the_message(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted, size=(80, 24)) as stage:
        await search(stage, *"sky", "down", "enter")
        await stage.settle()
        assert scripted.opened_at == ["10"]
        assert "question 5" in stage.screen_text
        assert "question 39" not in stage.screen_text
        # The chat is open now: another of its messages is scrolled to.
        await search(stage, *"sky", "down", "down", "enter")
        await stage.settle()
        assert scripted.opened_at == ["10"]
        assert "answer 10" in stage.screen_text


async def test_a_message_on_another_branch_of_the_open_chat_is_opened(tmp_path: Path) -> None:
    scripted = runtime()
    scripted.search.hits = [hit("99", "Sky colours", "elsewhere")]
    async with staged(tmp_path / "config.toml", scripted, size=(80, 24)) as stage:
        scripted.ids[id(stage.client)] = "a"
        await search(stage, *"else", "enter")
        await stage.settle()
        assert scripted.opened_at == ["99"]


async def test_what_is_said_of_a_search(tmp_path: Path) -> None:
    scripted = runtime()
    scripted.search.hits = []
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await search(stage)
        assert "begin* · role:user · model:NAME" in stage.screen_text
        scripted.search.progress, scripted.search.notice = 0.41, "It is slow here."
        await stage.pilot.press(*"after:x b")
        await stage.settle()
        text = stage.screen_text
        assert "after:x is not a date. Write it as after:2026-03-31." in text
        assert "It is slow here." in text
        assert "Indexing: 41%." in text
        assert "No message matches" in text
        scripted.search.refuses = AIError(ErrorCode.CONFLICT, "Not searched: another program.")
        await stage.pilot.press("c")
        await stage.settle()
        assert "Not searched: another program." in stage.screen_text


async def test_it_is_searched_again_while_the_index_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_dialog, "AGAIN_S", 0.01)
    scripted = runtime()
    scripted.search.hits, scripted.search.progress = [], 0.5
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await search(stage, *"sky")
        assert results(stage) == 0
        scripted.search.hits, scripted.search.progress = list(HITS), 1.0
        with within(10):
            while results(stage) != 3:
                await stage.pilot.pause(0.002)


async def test_without_saved_chats_it_says_so(tmp_path: Path) -> None:
    scripted = runtime()
    scripted.search = None  # type: ignore[assignment]
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await stage.pilot.press("f5")
        await stage.settle()
        assert "Chats are not saved here." in stage.screen_text


async def test_a_chat_on_the_disk_is_opened_on_the_branch_of_the_message(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    async with open_store(tmp_path / "data" / FILE_NAME) as store:
        journal = store.journal(SETTINGS)
        await journal.begin(asked("first question"))
        await journal.begin(asked("left behind"))
        journal.rewind(1)
        await journal.begin(asked("right ahead"))
    async with staged_for_real(tmp_path, {"OLLAMA_HOST": "http://127.0.0.1:9"}) as stage:
        await stage.pilot.press("f5", *"behi")
        await stage.until("1 message · Enter open")
        await stage.pilot.press("enter")
        await stage.until("left behind", "This chat has 1 other branch.")
        assert "first question" in stage.screen_text
        assert "right ahead" not in stage.screen_text
    assert "chat search" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("width", range(10, 120, 11))
def test_a_result_is_never_wider_than_its_room(width: int) -> None:
    wide = hit("3", "日本語 " * 30, "日本語" * 50, (0, 3))
    for line in hit_content(wide, width, NOW_MS).split("\n"):
        assert line.cell_length <= width


def test_matches_are_highlighted_and_nothing_is_obeyed() -> None:
    content = snippet_content(HITS[2].snippet)
    (span,) = content.spans
    assert content.plain[span.start : span.end] == "sky"
    assert "\x1b" not in content.plain
    assert "[red]" in content.plain


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_it_looks_as_drawn(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=size) as stage:
        await search(stage, *"sky bl")
        svg_snapshot(stage.app)
