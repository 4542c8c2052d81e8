"""The chats screen: what it lists, opening a chat, and what can be done with one."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from rich.cells import cell_len

from ollm_tui.frontend.chat_words import when
from ollm_tui.protocol.blocks import TextContent, ThinkingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.listing import ChatFilter, ChatPreview
from ollm_tui.store.rows import StoredMessage
from ollm_tui.tui.chats.columns import COLUMNS, ChatOrder, columns_for
from ollm_tui.tui.chats.screen import ChatsScreen
from tests.tui.models.test_actions import armed
from tests.tui.screens import Stage, staged, staged_for_real
from tests.tui.scripted import ScriptedRuntime
from tests.tui.scripted_chats import NOW_MS, ScriptedChats, saved_chat
from tests.tui.svg import SIZES, SvgSnapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

DAY_MS = 86_400_000
HISTORY = [
    Message("user", "Why is the sky blue?"),
    Message(
        "assistant",
        [ThinkingContent("Scattering."), TextContent("I look it up.")],
        tool_calls=[ToolCall(id="c", name="read_file", args={"path": "notes/optics.md"})],
    ),
    Message("tool", "Short waves scatter most.", name="read_file", tool_call_id="c"),
    Message("assistant", "Because **short waves** scat", metadata={"ended": "stopped"}),
]


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChatsScreen.__init__, "__defaults__", (lambda: NOW_MS,))


def runtime() -> ScriptedRuntime:
    return ScriptedRuntime(
        chats=ScriptedChats(
            [
                saved_chat("a", "Sky colours", NOW_MS, 4, tags=("optics", "work"), is_pinned=True),
                saved_chat("b", "[/red]\x1b[2J\u202e", NOW_MS - DAY_MS, 1, "embedded://smollm2"),
                saved_chat("c", "", NOW_MS - 400 * DAY_MS, 0, None),
            ]
        ),
        histories={"a": list(HISTORY)},
    )


def many(count: int) -> ScriptedRuntime:
    return ScriptedRuntime(
        chats=ScriptedChats([saved_chat(f"{n}", f"Chat {n}", NOW_MS - n) for n in range(count)])
    )


async def opened(stage: Stage) -> ChatsScreen:
    await stage.pilot.press("ctrl+r")
    await stage.settle()
    screen = stage.app.screen
    assert isinstance(screen, ChatsScreen)
    return screen


async def typed(stage: Stage, words: str) -> None:
    await stage.type(words)
    await stage.settle()


async def pressed(stage: Stage, *keys: str) -> None:
    await stage.pilot.press(*keys)
    await stage.settle()


def titles(screen: ChatsScreen) -> list[str]:
    return [screen.table._rows[number].id for number in screen.table._order]


async def test_it_lists_titles_tags_times_counts_and_models(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=(120, 40)) as stage:
        await opened(stage)
        shown = stage.screen_text
        for words in (
            *("★ Sky colours", "#optics", "qwen3:8b", "3 chats"),
            *("yesterday", "smollm2", "[/red]␛[2J⟦U+202E⟧", "Empty chat"),
        ):
            assert words in shown


@pytest.mark.parametrize("command", ["/chats", "/sessions", "/history", "/resume"])
async def test_the_words_of_other_programs_open_it(tmp_path: Path, command: str) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        await stage.send(command)
        await stage.settle()
        assert isinstance(stage.app.screen, ChatsScreen)


async def test_what_is_typed_right_after_the_key_goes_to_the_filter(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=(120, 40)) as stage:
        for key in ("ctrl+r", *"smoll"):
            stage.app.simulate_key(key)
        await stage.settle()
        assert stage.chat.composer.text == ""
        assert "1 chat" in stage.screen_text
        await typed(stage, "zz")
        assert "No chat matches. F5 searches in the messages of all chats." in stage.screen_text


async def test_only_the_rows_in_view_are_read(tmp_path: Path) -> None:
    scripted = many(5000)
    async with staged(tmp_path / "config.toml", scripted, size=(80, 24)) as stage:
        await opened(stage)
        assert "5,000 chats" in stage.screen_text
        assert len(scripted.saved.read) < 60
        await pressed(stage, "ctrl+end")
        assert "Chat 4999" in stage.screen_text
        assert len(scripted.saved.read) < 120
        await pressed(stage, *["pageup"] * 3)
        assert "Chat 4950" in stage.screen_text
        assert len(scripted.saved.read) < 240


async def test_facts_in_the_filter_choose_and_wrong_ones_are_said(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await opened(stage)
        await typed(stage, "Sky tag:work model:qwen")
        chosen = ChatFilter(words=("sky",), models=("qwen",), tags=("work",))
        assert scripted.saved.asked[-1] == (chosen, "changed", False)
        await typed(stage, " after:never")
        assert "after:never is not a date." in stage.screen_text


@pytest.mark.parametrize(("key", "shown"), [("enter", "A small answer."), ("ctrl+d", "[/red]␛[2J")])
async def test_a_key_that_follows_at_once_acts_on_the_filtered_list(
    tmp_path: Path, key: str, shown: str
) -> None:
    scripted = runtime()
    scripted.histories["b"] = [Message("user", "Hi"), Message("assistant", "A small answer.")]
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await opened(stage)
        scripted.saved.gate = anyio.Event()
        for one in (*"smoll", key):
            stage.app.simulate_key(one)
        await stage.pilot.pause()
        assert isinstance(stage.app.screen, ChatsScreen)  # nothing is opened or asked yet
        scripted.saved.gate.set()
        await stage.settle()
        assert shown in stage.screen_text
        assert "Sky colours" not in stage.screen_text


async def test_sorting_goes_through_the_columns_and_turns(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted, size=(80, 24)) as stage:
        await opened(stage)
        assert "Changed ▼" in stage.screen_text
        await pressed(stage, "ctrl+o")
        assert scripted.saved.asked[-1][1:] == ("title", False)
        assert "Title ▲" in stage.screen_text
        await pressed(stage, "ctrl+y")
        assert scripted.saved.asked[-1][1:] == ("title", True)
        await stage.pilot.click("ChatTable", offset=(70, 0))
        await stage.settle()
        assert scripted.saved.asked[-1][1:] == ("changed", False)


def test_each_column_that_sorts_is_reached_once() -> None:
    order, seen = ChatOrder("created"), []
    for _ in range(6):
        order = order.next(columns_for(200))
        seen.append(order.sort)
    assert sorted(seen) == sorted(column.sort for column in COLUMNS if column.sort)


@pytest.mark.parametrize("width", range(10, 160, 7))
def test_the_columns_are_never_wider_than_their_room(width: int) -> None:
    chat = saved_chat("a", "日本語 " * 30, tags=("long-tag",) * 3)
    cells = [one.placed(one.text(chat, NOW_MS)) for one in columns_for(width)]
    assert sum(map(cell_len, cells)) + 2 * (len(cells) - 1) == width


async def test_enter_opens_a_chat_as_it_was_left_and_it_goes_on(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        await stage.ask("Something else")
        stage.client.answer("yes")
        await stage.settle()
        await opened(stage)
        await pressed(stage, "enter")
        assert "Something else" not in stage.shown
        for words in ("Why is the sky blue?", "thought", "⚙ read_file", "✓", "Stopped"):
            assert words in stage.screen_text
        assert "tools 1" in stage.screen_text
        assert stage.client.conversation.model == "local://qwen3:8b"
        await stage.ask("And red?")
        stage.client.answer("Long waves.")
        await stage.settle()
        assert stage.client.prompts == ["And red?"]
        assert stage.shown.index("Why is the sky") < stage.shown.index("Long waves.")


async def test_one_that_cannot_be_opened_leaves_everything(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        await opened(stage)
        await pressed(stage, "down", "enter")
        assert "There is no such chat." in stage.shown
        assert len(stage.runtime.clients) == 1


async def test_the_search_takes_over_the_words(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=(120, 40)) as stage:
        await opened(stage)
        await typed(stage, "blue")
        await pressed(stage, "f5")
        assert "Search in all chats" in stage.screen_text
        assert stage.runtime.search.asked[-1].plain == "blue"


async def test_a_chat_is_pinned_archived_renamed_and_tagged(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await opened(stage)
        await pressed(stage, "f6")
        assert scripted.saved.done[-1] == ("a", {"is_pinned": False})
        assert "Unpinned “Sky colours”." in stage.screen_text
        await pressed(stage, "f4")
        await typed(stage, " at dusk")
        await pressed(stage, "enter")
        assert scripted.saved.done[-1] == ("a", {"title": "Sky colours at dusk"})
        await pressed(stage, "f7")
        assert "In use: #optics #work." in stage.screen_text
        await typed(stage, " two-words, !")
        await pressed(stage, "enter")
        assert "'!' is not a valid tag." in stage.screen_text
        await pressed(stage, "backspace", "enter")
        tags = ("optics", "two-words", "work")
        assert scripted.saved.done[-1] == ("a", {"tags": tags})
        await pressed(stage, "f3")
        assert scripted.saved.done[-1] == ("a", {"is_archived": True})
        assert "2 chats" in stage.screen_text
        await pressed(stage, "tab")
        assert "Archived chats" in stage.screen_text
        assert "at dusk" in stage.screen_text
        await pressed(stage, "f3")
        assert scripted.saved.done[-1] == ("a", {"is_archived": False})
        assert "The archive is empty." in stage.screen_text


async def test_renaming_the_open_chat_changes_its_header(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        await opened(stage)
        await pressed(stage, "enter")
        await opened(stage)
        await pressed(stage, "f4")
        await typed(stage, "!")
        await pressed(stage, "enter")
        await pressed(stage, "escape")
        assert stage.client.conversation.own_title == "Sky colours!"
        assert stage.screen_text.startswith(" ollm   Sky colours!")


async def test_the_menu_lists_what_can_be_done(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await opened(stage)
        await pressed(stage, "f2")
        for words in ("Open", "Rename…", "Unpin", "Change tags…", "Archive", "Delete…", "Export…"):
            assert words in stage.screen_text
        await pressed(stage, "down", "down", "enter")
        assert scripted.saved.done[-1] == ("a", {"is_pinned": False})


@pytest.mark.parametrize("key", ["ctrl+d", "f8"])
async def test_deleting_asks_first_and_can_be_undone(tmp_path: Path, key: str) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        screen = await opened(stage)
        await pressed(stage, key)
        assert "Delete this chat?" in stage.screen_text
        assert scripted.saved.removed == []
        await armed(stage)
        await pressed(stage, "y")
        assert scripted.saved.removed == ["a"]
        assert titles(screen) == ["b", "c"]
        assert "Ctrl+U restores it." in stage.screen_text
        await pressed(stage, "ctrl+u")
        assert titles(screen) == ["a", "b", "c"]
        await typed(stage, "xyz")
        await pressed(stage, "ctrl+u")
        assert screen.filter.value == ""


async def test_a_deleted_chat_comes_back_after_the_screen_was_left(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await opened(stage)
        await pressed(stage, "ctrl+d")
        await armed(stage)
        await pressed(stage, "y")
        await pressed(stage, "escape")
        screen = await opened(stage)
        await typed(stage, "xyz")
        await pressed(stage, "ctrl+u")
        assert screen.filter.value == ""  # words are cleared first
        await pressed(stage, "ctrl+u")
        assert "Restored “Sky colours”." in stage.screen_text
        assert titles(screen) == ["a", "b", "c"]
        await pressed(stage, "ctrl+u")
        assert "No deleted chats." in stage.screen_text


async def test_deleted_chats_are_listed_and_restored_one_by_one(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        screen = await opened(stage)
        for _ in range(2):
            await pressed(stage, "ctrl+d")
            await armed(stage)
            await pressed(stage, "y")
        await pressed(stage, "tab", "tab")
        shown = stage.screen_text
        assert all(words in shown for words in ("Deleted chats", "Deleted ▼", "Ctrl+U restore"))
        assert titles(screen) == ["a", "b"]
        for key, sentence in (("f4", "Enter restores it."), ("ctrl+d", "`ollm chats purge`")):
            await pressed(stage, key)
            assert sentence in stage.screen_text
        await pressed(stage, "f2")
        assert "Restore" in stage.screen_text
        assert "Rename" not in stage.screen_text
        await pressed(stage, "enter")
        assert titles(screen) == ["b"]
        await pressed(stage, "enter")
        assert "No deleted chats." in stage.screen_text
        await pressed(stage, "tab")
        assert titles(screen) == ["a", "b", "c"]


@pytest.mark.parametrize("key", ["n", "escape", "space"])
async def test_every_key_but_one_keeps_the_chat(tmp_path: Path, key: str) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await opened(stage)
        await pressed(stage, "ctrl+d")
        await armed(stage)
        await pressed(stage, key)
        assert scripted.saved.removed == []


async def test_the_open_chat_is_not_deleted(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await opened(stage)
        await pressed(stage, "enter")
        await opened(stage)
        await pressed(stage, "ctrl+d")
        assert "This chat is open." in stage.screen_text
        assert scripted.saved.removed == []


@pytest.mark.parametrize("when_refused", ["list", "change"])
async def test_a_store_that_fails_is_reported(tmp_path: Path, when_refused: str) -> None:
    scripted = runtime()
    error = AIError(ErrorCode.INTERNAL_ERROR, "The disk is full.")
    async with staged(tmp_path / "config.toml", scripted) as stage:
        if when_refused == "list":
            scripted.saved.refuses = error
        await opened(stage)
        if when_refused == "change":
            scripted.saved.refuses = error
            await pressed(stage, "f6")
        assert "The disk is full." in stage.screen_text


async def test_a_chat_is_exported_by_the_ending_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await opened(stage)
        await pressed(stage, "f9")
        assert "Sky colours.md" in stage.screen_text
        for name, problem in (("x.pdf", "no ending of a format"), ("taken.md", "exists already")):
            await pressed(stage, *["backspace"] * 30)
            await typed(stage, name)
            await pressed(stage, "enter")
            assert problem in stage.screen_text
        await pressed(stage, *["backspace"] * 30)
        await typed(stage, "sky.html")
        await pressed(stage, "enter")
        assert scripted.saved.done[-1] == ("a", "html", Path("sky.html"))
        assert "Saved sky.html." in stage.screen_text


async def test_an_import_goes_on_when_the_screen_is_left(tmp_path: Path) -> None:
    scripted = runtime()
    (tmp_path / "chats.json").write_text("{}", "utf-8")
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await opened(stage)
        await pressed(stage, "f10")
        await typed(stage, "nowhere.json")
        await pressed(stage, "enter")
        assert "There is no file nowhere.json." in stage.screen_text
        await pressed(stage, *["backspace"] * 12)
        stage.app.screen.query_one("Input").insert_text_at_cursor(str(tmp_path / "chats.json"))  # type: ignore[attr-defined]
        await pressed(stage, "enter")
        progress = "Importing chats.json: 40% · 3 chats"
        assert f"{progress} · F10 stops" in stage.screen_text
        await pressed(stage, "escape")
        await opened(stage)
        assert progress in stage.screen_text
        scripted.saved.goes_on.set()
        await stage.settle()
        assert "Imported 3 chats (12 messages)." in stage.screen_text
        assert "4 chats" in stage.screen_text


async def test_an_import_can_be_stopped_and_says_so_in_the_chat(tmp_path: Path) -> None:
    scripted = runtime()
    (tmp_path / "chats.json").write_text("{}", "utf-8")
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        screen = await opened(stage)
        screen._importing.start(tmp_path / "chats.json")
        await stage.settle()
        await pressed(stage, "f10", "escape")
        assert len(scripted.chats.saved) == 3
        screen._importing.start(tmp_path / "chats.json")
        await stage.settle()
        scripted.saved.goes_on.set()
        await stage.settle()
        assert "Imported 3 chats (12 messages)." in stage.shown


def previewed(*texts: str) -> ChatPreview:
    roles: Sequence[str] = ("user", "assistant")
    return ChatPreview(
        tuple(
            StoredMessage(id=f"{n}", message=Message(roles[n % 2], text), state="complete")
            for n, text in enumerate(texts)
        ),
        left_out=6,
    )


async def test_a_wide_screen_shows_the_marked_chat(tmp_path: Path) -> None:
    scripted = runtime()
    scripted.saved.previews["a"] = previewed(
        "Why is it\x1b blue?", "[b]Scattering[/b]\n" * 20, "And red?"
    )
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await opened(stage)
        for words in ("4 messages", "Why is it␛ blue?", "… 6 messages …", "[b]Scattering[/b]"):
            assert words in stage.screen_text
        assert stage.screen_text.count("Scattering") == 8
        await pressed(stage, "down")
        assert "Why is it" not in stage.screen_text
        await stage.pilot.resize_terminal(100, 40)
        await pressed(stage, "up")
        assert "Why is it" not in stage.screen_text


async def test_a_runtime_that_saves_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text("[chat]\nsave = false\n", "utf-8")
    async with staged_for_real(tmp_path, {"OLLAMA_HOST": "http://127.0.0.1:9"}) as stage:
        await stage.pilot.press("ctrl+r")
        await stage.until("Chats are not saved here.")


def test_times_are_as_near_as_they_matter() -> None:
    now = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)

    def written(**ago: float) -> str:
        then = now - timedelta(**ago)
        return when(int(then.timestamp() * 1000), int(now.timestamp() * 1000), UTC)

    assert written(hours=1) == "08:30"
    assert written(hours=10) == "yesterday"
    assert written(days=3) == "Tue"
    assert written(days=7) == "13 Nov"
    assert written(days=400) == "16 Oct 2025"
    assert written(hours=-30) == "21 Nov"
    assert when(10**18, NOW_MS, UTC) == ""


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", ["list", "delete"])
async def test_it_looks_as_drawn(
    state: str,
    size: tuple[int, int],
    svg_snapshot: SvgSnapshot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ollm_tui.frontend.chat_words.datetime", UtcTimes)
    scripted = runtime()
    scripted.saved.previews["a"] = previewed("Why is the sky blue?", "Short waves scatter most.")
    async with staged(tmp_path / "config.toml", scripted, size=size) as stage:
        scripted.ids[id(stage.client)] = "a"
        await opened(stage)
        if state == "delete":
            await pressed(stage, "down", "ctrl+d")
            await armed(stage)
        await stage.settle()
        svg_snapshot(stage.app)


class UtcTimes(datetime):
    """Local time is UTC, wherever the test runs."""

    @classmethod
    def fromtimestamp(cls, timestamp: float, tz: object = None) -> "UtcTimes":
        return super().fromtimestamp(timestamp, UTC)
