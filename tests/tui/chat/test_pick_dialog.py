"""The list of saved chats: what it shows, opening one, deleting one and only when asked twice."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from textual.widgets import OptionList

from ollm_tui.protocol.blocks import TextContent, ThinkingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.rows import ConversationSummary
from ollm_tui.tui.chat import pick_dialog
from ollm_tui.tui.chat.pick_dialog import matching, row_content, when
from tests.tui.screens import Stage, staged, staged_for_real
from tests.tui.scripted import ScriptedRuntime
from tests.tui.scripted_chats import NOW_MS, ScriptedChats, saved_chat
from tests.tui.svg import SIZES, SvgSnapshot

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
    monkeypatch.setattr(pick_dialog.PickChat.__init__, "__defaults__", (lambda: NOW_MS,))


def runtime() -> ScriptedRuntime:
    return ScriptedRuntime(
        chats=ScriptedChats(
            [
                saved_chat("a", "Sky colours", NOW_MS, 4),
                saved_chat("b", "[/red]\x1b[2J\u202e", NOW_MS - DAY_MS, 1, "embedded://smollm2"),
                saved_chat("c", "", NOW_MS - 400 * DAY_MS, 0, None),
            ]
        ),
        histories={"a": list(HISTORY)},
    )


async def opened(stage: Stage) -> OptionList:
    await stage.pilot.press("ctrl+r")
    await stage.settle()
    return stage.app.screen.query_one(OptionList)


async def test_it_lists_title_time_count_and_model(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=(120, 40)) as stage:
        await opened(stage)
        shown = stage.screen_text
        for words in (
            "Sky colours",
            "4 messages",
            "qwen3:8b",
            "yesterday",
            "1 message ",
            "smollm2",
            "[/red]␛[2J⟦U+202E⟧",
            "Empty chat",
        ):
            assert words in shown


@pytest.mark.parametrize(("size", "fits"), [((60, 20), False), ((80, 24), True)])
async def test_the_keys_stand_in_one_line(
    tmp_path: Path, size: tuple[int, int], fits: bool
) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=size) as stage:
        await opened(stage)
        assert "this one" not in stage.screen_text
        await stage.pilot.press("enter")
        await stage.settle()
        await opened(stage)
        [keys] = [line for line in stage.screen_text.split("\n") if "Enter open" in line]
        assert ("● this one" in keys) == fits
        assert ("this one" in stage.screen_text) == fits


async def test_typing_narrows_and_says_when_nothing_matches(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=(120, 40)) as stage:
        listed = await opened(stage)
        await stage.type("smoll")
        await stage.settle()
        assert [option.id for option in listed.options] == ["b"]
        await stage.type("zz")
        await stage.settle()
        assert "No chat matches 'smollzz'." in stage.screen_text


async def test_enter_opens_a_chat_as_it_was_left(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        await stage.ask("Something else")
        stage.client.answer("yes")
        await stage.settle()
        await opened(stage)
        await stage.pilot.press("enter")
        await stage.settle()
        assert "Something else" not in stage.shown
        for words in ("Why is the sky blue?", "thought", "⚙ read_file", "✓", "Stopped"):
            assert words in stage.screen_text
        assert "tools 1" in stage.screen_text
        assert stage.client.conversation.model == "local://qwen3:8b"


async def test_a_chat_that_was_opened_goes_on(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        await opened(stage)
        await stage.pilot.press("enter")
        await stage.settle()
        await stage.ask("And red?")
        stage.client.answer("Long waves.")
        await stage.settle()
        assert stage.client.prompts == ["And red?"]
        assert stage.shown.index("Why is the sky") < stage.shown.index("Long waves.")


async def test_one_that_cannot_be_opened_leaves_everything(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        await opened(stage)
        await stage.pilot.press("down", "enter")
        await stage.settle()
        assert "There is no such chat." in stage.shown
        assert len(stage.runtime.clients) == 1


@pytest.mark.parametrize("key", ["ctrl+d", "delete"])
async def test_deleting_asks_first(tmp_path: Path, key: str) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        listed = await opened(stage)
        await stage.pilot.press(key)
        await stage.settle()
        assert "Delete “Sky colours” (4 messages) permanently?" in stage.screen_text
        assert scripted.chats.removed == []
        await stage.pilot.press("y")
        await stage.settle()
        assert scripted.chats.removed == ["a"]
        assert [option.id for option in listed.options] == ["b", "c"]


async def test_the_question_counts_what_goes_on_all_branches(tmp_path: Path) -> None:
    scripted = runtime()
    scripted.chats.saved = [saved_chat("a", "Sky colours", message_count=4, on_other_branches=3)]
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await opened(stage)
        assert "4 messages" in stage.screen_text
        await stage.pilot.press("ctrl+d")
        await stage.settle()
        assert "(7 messages on all branches) permanently?" in stage.screen_text


@pytest.mark.parametrize("key", ["n", "enter", "escape", "Y", "down", "ctrl+d", "space"])
async def test_every_key_but_one_keeps_the_chat(tmp_path: Path, key: str) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        listed = await opened(stage)
        await stage.pilot.press("ctrl+d", key)
        await stage.settle()
        assert scripted.chats.removed == []
        assert len(listed.options) == 3
        assert len(stage.app.screen_stack) == 2
        assert "Enter open" in stage.screen_text
        await stage.type("x")
        assert "No chat matches 'x'." in stage.screen_text


async def test_the_open_chat_is_not_deleted(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await opened(stage)
        await stage.pilot.press("enter")
        await stage.settle()
        await opened(stage)
        await stage.pilot.press("ctrl+d", "y")
        await stage.settle()
        assert "This chat is open." in stage.screen_text or scripted.chats.removed == []
        assert scripted.chats.removed == []


@pytest.mark.parametrize("when_refused", ["list", "delete"])
async def test_a_store_that_fails_is_reported(tmp_path: Path, when_refused: str) -> None:
    scripted = runtime()
    error = AIError(ErrorCode.INTERNAL_ERROR, "The disk is full.")
    async with staged(tmp_path / "config.toml", scripted) as stage:
        if when_refused == "list":
            scripted.chats.refuses = error
        await opened(stage)
        if when_refused == "delete":
            scripted.chats.refuses = error
            await stage.pilot.press("ctrl+d", "y")
        await stage.settle()
        assert "The disk is full." in stage.screen_text


class BusyChats(ScriptedChats):
    """Another window saves a chat after each page is read."""

    async def list(self, limit: int = 50, offset: int = 0) -> tuple[ConversationSummary, ...]:
        page = await super().list(limit, offset)
        self.saved = [saved_chat(f"saved after {offset}"), *self.saved]
        return page


async def test_a_chat_that_moves_to_the_next_page_is_listed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pick_dialog, "PAGE", 2)
    chats = BusyChats([saved_chat(str(number)) for number in range(5)])
    async with staged(tmp_path / "config.toml", ScriptedRuntime(chats=chats)) as stage:
        listed = await opened(stage)
        assert [option.id for option in listed.options] == ["0", "1", "2", "3", "4"]


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


def test_every_word_has_to_match() -> None:
    chats = [saved_chat("a", "Sky colours"), saved_chat("b", "Sea", model="x://Sky")]
    assert [chat.id for chat in matching(chats, "SKY")] == ["a", "b"]
    assert [chat.id for chat in matching(chats, "sky sea")] == ["b"]


@pytest.mark.parametrize("width", range(10, 120, 7))
def test_a_row_is_never_wider_than_its_room(width: int) -> None:
    row = row_content(saved_chat("a", "日本語 " * 30), width, NOW_MS, is_open=True)
    assert row.cell_length <= max(width, 2)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", ["list", "delete"])
async def test_it_looks_as_drawn(
    state: str,
    size: tuple[int, int],
    svg_snapshot: SvgSnapshot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ollm_tui.tui.chat.pick_dialog.datetime", UtcTimes)
    scripted = runtime()
    scripted.ids = {}
    async with staged(tmp_path / "config.toml", scripted, size=size) as stage:
        scripted.ids[id(stage.client)] = "a"
        await opened(stage)
        if state == "delete":
            await stage.pilot.press("down", "delete")
        await stage.settle()
        svg_snapshot(stage.app)


class UtcTimes(datetime):
    """Local time is UTC, wherever the test runs."""

    @classmethod
    def fromtimestamp(cls, timestamp: float, tz: object = None) -> "UtcTimes":
        return super().fromtimestamp(timestamp, UTC)
