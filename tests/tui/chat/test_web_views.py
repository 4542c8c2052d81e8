"""Pages and search results in the chat: how they look, and that their links are asked about."""

from pathlib import Path

import pytest

from ollm_tui.protocol.chat_events import ChatEvent, ToolCallResult, ToolCallStart
from ollm_tui.protocol.tools import ToolCall, ToolResult
from ollm_tui.tui.links.open_dialog import OpenLink
from ollm_tui.tui.links.pick_dialog import LinkPicker
from ollm_tui.web.shown import SearchResult, ShownPage, ShownSearch
from tests.tui.links.test_links import click, dialog, shown_address
from tests.tui.screens import Stage, staged
from tests.tui.scripted import CallClock, finish, text
from tests.tui.svg import SvgSnapshot

PAGE = ShownPage(
    "Why the sky is blue — Optics for everyone",
    "https://optics.example/sky/blue?page=1",
    "200 · 0 to 20,000 of 31,204 characters of text · text/html · 48 kB in 0.6 s",
    ("Stopped: over 250 kB of text.",),
    "# Why the sky is blue\n\n"
    "Sunlight meets molecules that are much smaller than its waves, and short waves are "
    "scattered most. See [Rayleigh](https://other.example/rayleigh).\n\n"
    "- Blue light has a wavelength of about 450 nm.\n"
    "- Red light has one of about 700 nm.\n\n" + "It is the same in the evening.\n" * 3,
)
FOUND = ShownSearch(
    "searx.example",
    [
        SearchResult(
            "Rayleigh scattering", "https://optics.example/rayleigh", "Short waves scatter more. "
        ),
        SearchResult(
            "A title that goes on and on until there is no more room for it in one row of the chat",
            "https://xn--bcher-kva.example/himmel",
            "The sky in books: " + "blue, grey, red and at times green. " * 5,
        ),
        SearchResult(
            "Your bank",
            "http://www.bank.example.login-check.evil.example:8080/",
            "\x1b[31mNot\x1b[0m what it says.",
        ),
    ],
)


def events(number: int, name: str, argument: str, shown: str) -> tuple[ChatEvent, ChatEvent]:
    call = ToolCall(id=f"c{number}", name=name, args={"query": argument})
    result = ToolResult(call_id=call.id, name=name, content="for the model", display=shown)
    block = f"tool-{number}"
    return (
        ToolCallStart(call=call, turn=1, block=block),
        ToolCallResult(call=call, result=result, turn=1, block=block),
    )


async def used_the_web(stage: Stage) -> None:
    await stage.ask("Why is the sky blue?")
    tools = stage.controller.presenter.tools
    tools.clock, tools.answered_at = CallClock(tools), lambda _id: None
    stage.client.give(
        *events(1, "web_search", "sky blue scattering", FOUND.written()),
        *events(2, "web_fetch", "https://optics.example/sky/blue?page=1", PAGE.written()),
        text("Short waves scatter most."),
        finish(),
    )
    await stage.settle()


@pytest.mark.parametrize("is_open", [False, True], ids=["folded", "opened"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
async def test_pages_and_results_look_as_drawn(
    size: tuple[int, int], is_open: bool, svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", size=size) as stage:
        await used_the_web(stage)
        if is_open:
            await stage.pilot.press("ctrl+o")
            await stage.settle()
            stage.chat.transcript.scroll_to(y=2, animate=False, immediate=True)
            await stage.settle()
        svg_snapshot(stage.app)


async def test_a_click_on_a_result_asks_with_its_real_address(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 40)) as stage:
        await used_the_web(stage)
        await click(stage, "Your bank")
        asked = dialog(stage)
        assert isinstance(asked, OpenLink)
        assert shown_address(asked) == FOUND.results[2].url
        assert stage.opener.opened == []


async def test_f8_lists_what_was_found_after_the_links_of_the_answer(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(120, 40)) as stage:
        await used_the_web(stage)
        await stage.pilot.press("f8")
        await stage.settle()
        assert isinstance(stage.app.screen, LinkPicker)
        for words in (f"({PAGE.url})", "A title that goes on", f"({FOUND.results[2].url})"):
            assert words in stage.screen_text


async def test_ctrl_o_opens_all_and_leaves_the_beginnings(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 60)) as stage:
        await used_the_web(stage)
        before = stage.screen_text
        await stage.pilot.press("ctrl+o")
        await stage.settle()
        assert "about 700 nm" in stage.screen_text
        await stage.pilot.press("ctrl+o")
        await stage.settle()
        assert stage.screen_text == before


async def test_a_search_finds_words_of_a_page_that_is_folded(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 40)) as stage:
        await used_the_web(stage)
        assert "700 nm" not in stage.screen_text
        await stage.pilot.press("ctrl+f")
        await stage.type("700 nm")
        await stage.settle()
        await stage.pilot.press("enter")
        await stage.settle()
        assert "Red light has one of about 700 nm." in stage.screen_text
