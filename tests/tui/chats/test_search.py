"""The search in all chats: results while one types, and the chat at the message."""

import threading
from pathlib import Path
from unittest.mock import patch

import anyio
import pytest
from textual.widgets import Input, OptionList

from ollm_tui.frontend import chat_words as words
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import FILE_NAME, open_store
from ollm_tui.store.search.lookup import SearchHit
from ollm_tui.store.search.similar import SimilarHit
from ollm_tui.store.search.words import Snippet
from ollm_tui.tui.chats import search as searching
from ollm_tui.tui.chats.search import hit_content, snippet_content
from tests.store.rig import SETTINGS, asked
from tests.tui.chats.test_screen import UtcTimes
from tests.tui.screens import Stage, staged, staged_for_real, within
from tests.tui.scripted import ScriptedRuntime
from tests.tui.scripted_chats import NOW_MS, ScriptedSimilar
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
    monkeypatch.setattr(searching.SearchChats.__init__, "__defaults__", defaults)
    monkeypatch.setattr(words, "datetime", UtcTimes)


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


async def test_enter_waits_for_the_results_of_what_was_typed(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted, size=(80, 24)) as stage:
        await search(stage, *"sky")
        scripted.search.hits = [hit("10", "Sky colours", "question 5")]
        scripted.search.gate = anyio.Event()
        for key in (*" b", "enter"):
            stage.app.simulate_key(key)
        await stage.pilot.pause()
        assert scripted.opened_at == []
        scripted.search.gate.set()
        await stage.settle()
        assert scripted.opened_at == ["10"]


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


@pytest.mark.slow
async def test_it_is_searched_again_while_the_index_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "AGAIN_S", 0.01)
    scripted = runtime()
    scripted.search.hits, scripted.search.progress = [], 0.5
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await search(stage, *"sky")
        assert results(stage) == 0
        scripted.search.hits, scripted.search.progress = list(HITS), 1.0
        with within(10):
            while results(stage) != 3:
                await stage.pilot.pause(0.002)


async def test_more_messages_are_listed_as_the_mark_reaches_the_last_ones(tmp_path: Path) -> None:
    scripted = runtime()
    scripted.search.hits = [hit(f"{100 - n}", "Sky", f"sky {100 - n}") for n in range(45)]
    similar = SimilarHit(hit=hit("200", "Weather", "heavens"), similarity=0.8)
    scripted.search.similar = ScriptedSimilar(hits=[similar])
    async with staged(tmp_path / "config.toml", scripted, size=(80, 24)) as stage:
        await search(stage, *"sky")
        assert "20+ messages · Enter open" in stage.screen_text
        await stage.pilot.press("pagedown", "pagedown")
        await stage.settle()
        assert "40+ messages · Enter open" in stage.screen_text
        await stage.pilot.press("pagedown", "pagedown", "pagedown", "pagedown")
        await stage.settle()
        assert "45 messages · Enter open" in stage.screen_text
        listed = stage.app.screen.query_one(OptionList)
        ids = [listed.get_option_at_index(place).id for place in range(45)]
        assert ids == [f"{100 - n}" for n in range(45)]


async def test_the_same_results_are_not_painted_again(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted, size=(80, 24)) as stage:
        await search(stage, *"sk")
        listed = stage.app.screen.query_one(OptionList)
        with patch.object(listed, "add_options") as painted:
            await stage.pilot.press("y")
            await stage.settle()
            assert len(scripted.search.asked) >= 3
            assert painted.call_count == 0
            scripted.search.hits = HITS[:1]
            await stage.pilot.press("space")
            await stage.settle()
            assert painted.call_count == 1


async def test_similar_messages_follow_below_a_heading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "TYPED_S", 0)
    scripted = runtime()
    meant = hit("30", "Weather", "The heavens look azure by day.", role="user")
    hits = [SimilarHit(hit=one, similarity=0.8) for one in (HITS[0], meant)]
    similar = ScriptedSimilar(hits=hits, notice="Similar: 41% of the messages.")
    scripted.search.similar = similar
    async with staged(tmp_path / "config.toml", scripted, size=(80, 24)) as stage:
        assert similar.is_busy is not None
        assert not similar.is_busy()
        await search(stage, *"blue sky")
        assert similar.asked[-1] == ("blue sky", ["10", "21", "3"])
        assert results(stage) == 5  # one that has the words is not listed twice
        assert "Similar: 41% of the messages." in stage.screen_text
        await stage.pilot.press("down", "down", "down")
        await stage.settle()
        text = stage.screen_text
        assert text.index("Similar messages") < text.index("The heavens look azure by day.")
        await stage.pilot.press("enter")
        await stage.settle()
        assert scripted.opened_at == ["30"]


async def test_a_search_without_similar_messages_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "TYPED_S", 0)
    scripted = runtime()
    refusal = AIError(ErrorCode.MODEL_NOT_FOUND, "No embedding model found.")
    scripted.search.similar = ScriptedSimilar(refuses=refusal)
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await search(stage, *"sky")
        assert results(stage) == 3
        assert "No similar messages: No embedding model found." in stage.screen_text


async def test_how_to_switch_similar_messages_on_is_said(tmp_path: Path) -> None:
    scripted = runtime()
    scripted.search.similar = similar = ScriptedSimilar(is_on=False)
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await search(stage)
        assert "similar = true below [search] in the settings" in stage.screen_text
        await stage.pilot.press(*"sky")
        await stage.settle()
        assert similar.asked == []
        assert similar.is_busy is None


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
