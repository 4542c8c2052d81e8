"""The chat screen with a scripted client: ask, read, retry, resize."""

from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from tests.tui.screens import staged
from tests.tui.scripted import finish, text, thinking

DOWN = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Ollama does not answer.", hint="Start it.")


async def test_a_prompt_is_answered_as_it_streams(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("Why is the sky blue?")
        stage.client.give(thinking("Rayleigh."))
        await stage.settle()
        assert "thinking" in stage.screen_text
        stage.client.give(text("Short waves "))
        await stage.settle()
        assert "Short waves" in stage.screen_text
        assert "Esc stop" in stage.screen_text
        stage.client.give(text("scatter."), finish())
        await stage.settle()
        assert "Short waves scatter." in stage.screen_text
        assert "412 tokens · 38 tok/s · first token 0.31 s" in stage.screen_text
        assert "● ready" in stage.screen_text
        assert "thought for" in stage.screen_text
        assert stage.screen_text.splitlines()[0].startswith(" ollm   Why is the sky blue?")


async def test_an_error_stays_and_r_asks_again(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        stage.client.fail(DOWN)
        await stage.settle()
        assert "Ollama does not answer." in stage.screen_text
        assert "Start it. Press r to try again." in stage.screen_text
        assert "r retry" in stage.screen_text
        await stage.pilot.press("r")
        await stage.settle()
        assert stage.client.prompts == ["one", None]
        stage.client.answer("fine")
        await stage.settle()
        assert "Ollama does not answer." in stage.screen_text
        assert "fine" in stage.screen_text


async def test_r_is_a_letter_where_nothing_failed_or_something_is_written(config: Path) -> None:
    async with staged(config) as stage:
        await stage.type("rr")
        assert stage.chat.composer.value == "rr"
        await stage.pilot.press("ctrl+c")
        await stage.ask("one")
        stage.client.fail(DOWN)
        await stage.settle()
        await stage.type("or")
        assert stage.chat.composer.value == "or"
        assert stage.client.prompts == ["one"]


async def test_scrolling_up_pins_and_the_end_follows_again(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        stage.client.give(text("\n\n".join(f"line {number}" for number in range(60))))
        await stage.settle()
        await stage.pilot.press("pageup")
        await stage.settle()
        assert stage.chat.transcript.scroller.pinned
        await stage.pilot.press("ctrl+end")
        await stage.settle()
        assert not stage.chat.transcript.scroller.pinned
        await stage.pilot.press("ctrl+home")
        await stage.settle()
        assert stage.chat.transcript.scroll_y == 0


async def test_thinking_can_be_unfolded(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        stage.client.give(thinking("hidden words"), text("answer"), finish())
        await stage.settle()
        assert "hidden words" not in stage.screen_text
        await stage.pilot.press("ctrl+t")
        await stage.settle()
        assert "hidden words" in stage.screen_text


@pytest.mark.parametrize("width", [40, 60, 80, 200])
async def test_every_width_keeps_the_prompt_and_the_answer(config: Path, width: int) -> None:
    async with staged(config, size=(width, 24)) as stage:
        await stage.ask("one")
        stage.client.give(text("a fine answer"))
        await stage.settle()
        assert "a fine answer" in stage.screen_text
        assert "Esc stop" in stage.screen_text
        assert max(len(line) for line in stage.screen_text.splitlines()) <= width


async def test_a_resize_while_it_streams_loses_nothing(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        stage.client.give(text("first words "))
        await stage.settle()
        await stage.pilot.resize_terminal(50, 20)
        stage.client.give(text("last words"), finish())
        await stage.settle()
        assert "first words last words" in stage.screen_text


@pytest.mark.parametrize("words", ["[/INST]", "[@click=app.quit]go[/]", "x[/red]", "[ ] todo [x]"])
async def test_brackets_are_shown_as_they_are(config: Path, words: str) -> None:
    async with staged(config) as stage:
        await stage.ask(words)
        stage.client.fail(AIError(ErrorCode.BAD_REQUEST, words, hint=words))
        await stage.settle()
        assert stage.screen_text.count(words) >= 3


async def test_retry_asks_the_answer_again_in_its_place(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("/retry")
        assert "No messages yet" in stage.screen_text
        await stage.ask("one")
        stage.client.answer("first try")
        await stage.settle()
        await stage.ask("/retry")
        stage.client.answer("second try")
        await stage.settle()
        assert "first try" not in stage.screen_text
        assert "second try" in stage.screen_text
        assert stage.client.prompts == ["one", None]


async def test_what_was_sent_comes_back_with_up_in_a_later_session(config: Path) -> None:
    prompts = config.with_name("prompts.jsonl")
    async with staged(config, history=prompts) as stage:
        await stage.ask("Why is the sky blue?")
        stage.client.give(text("Air."), finish())
        await stage.settle()
    async with staged(config, history=prompts) as stage:
        await stage.pilot.press("up")
        assert stage.chat.composer.value == "Why is the sky blue?"


async def test_reasoning_streams_folded_where_the_settings_say_so(config: Path) -> None:
    async with staged(config, show_thinking=False) as stage:
        await stage.ask("hi")
        stage.client.give(thinking("secret steps"))
        await stage.settle()
        assert "▸ thinking" in stage.screen_text
        assert "secret steps" not in stage.screen_text
        await stage.pilot.press("ctrl+t")
        await stage.settle()
        assert "secret steps" in stage.screen_text
        assert "Thinking is shown" in stage.screen_text


async def test_the_window_is_named_after_the_chat(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[str] = []
    monkeypatch.setattr("ollm_tui.tui.app.set_title", lambda _app, title: titles.append(title))
    async with staged(config) as stage:
        assert titles[-1] == "ollm"
        await stage.ask("Why is the sky blue?\nAnd red?")
        stage.client.give(text("Air."), finish())
        await stage.settle()
        assert titles[-1] == "Why is the sky blue? · ollm"
        await stage.pilot.press("ctrl+n")
        await stage.settle()
        assert titles[-1] == "ollm"


async def test_the_input_is_inset_and_the_transcript_reaches_both_edges(config: Path) -> None:
    async with staged(config) as stage:
        assert (stage.chat.composer.region.x, stage.chat.composer.region.right) == (1, 79)
        assert (stage.chat.transcript.region.x, stage.chat.transcript.region.right) == (0, 80)


async def test_sending_goes_to_the_end_from_wherever_one_reads(config: Path) -> None:
    async with staged(config) as stage:
        view = stage.chat.transcript
        for number in range(80):
            view.add_note(f"line-{number}", f"line {number}")
        await stage.settle()
        view.scroll_home(animate=False)
        assert view.scroller.pinned
        await stage.ask("and now?")
        await stage.settle()
        assert not view.scroller.pinned
        assert view.scroll_offset.y == view.max_scroll_y
