"""The exact prompt on the screen: by role, as a whole, and token by token."""

import unicodedata
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from ollm_tui.chat.conversation import Conversation
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.request import PromptToken
from ollm_tui.runtime.exact_prompt import ExactPrompt, PromptPart
from ollm_tui.tui.models import commands
from ollm_tui.tui.models.prompt_screen import PromptScreen, sections_of
from tests.hostile.payloads import PAYLOADS
from tests.tui.screens import staged
from tests.tui.scripted import ScriptedRuntime
from tests.tui.scripted_chats import PROMPT
from tests.tui.svg import SIZES, SvgSnapshot


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_picture_of_a_prompt(
    tmp_path: Path, svg_snapshot: SvgSnapshot, size: tuple[int, int]
) -> None:
    async with staged(tmp_path / "config.toml", size=size) as stage:
        stage.app.push_screen(PromptScreen(PROMPT, "Ollama"))
        await stage.settle()
        svg_snapshot(stage.app)


async def test_the_command_asks_for_the_prompt_and_copies_its_sections(tmp_path: Path) -> None:
    runtime = ScriptedRuntime()
    async with staged(tmp_path / "config.toml", runtime) as stage:
        await stage.ask("/prompt and now?")
        page = stage.app.screen
        assert isinstance(page, PromptScreen)
        assert runtime.prompts_asked == ["and now?"]
        await stage.pilot.press("tab", "tab", "c")
        assert stage.app.clipboard == "You answer in one sentence."
        await stage.pilot.press("tab", "tab", "tab", "tab", "c")
        assert stage.app.clipboard == PROMPT.text
        await stage.pilot.press("enter", "f8", "escape")
        await stage.settle()
        assert stage.app.screen is not page
        await stage.ask("/prompt")
        assert runtime.prompts_asked[-1] == ""


def test_what_a_prompt_has_no_exact_text_for_is_told() -> None:
    parts = (PromptPart("user", "hi"), PromptPart("\x1b[31mrole", "x"))
    prompt = ExactPrompt(
        ref=ModelRef("p", "m"), origin="messages", parts=parts, tokens=None, notes=("A.", "B.")
    )
    sections = [*sections_of(prompt)]
    assert [section.id for section in sections] == ["about", "part0", "part1"]
    assert sections[0].facts[-1].value == "A.\nB."
    whole = [section.id for section in sections_of(replace(prompt, origin="template"))]
    assert whole[-1] == "text"


async def test_a_prompt_that_takes_long_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = anyio.Event()

    class Loading(ScriptedRuntime):
        async def exact_prompt(  # type: ignore[override]
            self, conversation: Conversation, text: str = ""
        ) -> ExactPrompt:
            await loaded.wait()
            return self.prompt

    monkeypatch.setattr(commands, "_TIMEOUT_S", 0)
    async with staged(tmp_path / "config.toml", Loading()) as stage:
        await stage.type("/prompt")
        await stage.pilot.press("enter")
        await stage.pilot.pause()
        await stage.pilot.pause()
        assert "Getting the prompt." in stage.screen_text
        loaded.set()
        await stage.settle()
        assert isinstance(stage.app.screen, PromptScreen)


async def test_no_text_of_a_prompt_drives_the_terminal(tmp_path: Path) -> None:
    texts = [payload.text for payload in PAYLOADS]
    whole = "\n".join(texts)
    prompt = ExactPrompt(
        ref=ModelRef("p", texts[0]),
        origin="engine",
        parts=tuple(PromptPart(text, text, 1) for text in (whole, *texts)),
        tokens=tuple(PromptToken(number, text) for number, text in enumerate(texts)),
        notes=tuple(texts),
    )
    async with staged(tmp_path / "config.toml", size=(100, 40)) as stage:
        page = PromptScreen(prompt, "Ollama")
        stage.app.push_screen(page)
        await stage.settle()
        while not page.sheet.is_whole:
            await stage.pilot.pause()
        for top in range(0, page.sheet.virtual_size.height, 30):
            page.sheet.scroll_to(y=top, animate=False, immediate=True)
            await stage.pilot.pause()
            shown = stage.screen_text.replace("\n", "")
            assert not any(unicodedata.category(one) in ("Cc", "Cf") for one in shown)
