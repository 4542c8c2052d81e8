"""The chat screen with a scripted client: ask, stop, queue, retry, copy, leave."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from textual import events

from ollm_tui.chat.conversation import Conversation
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers.catalog import Listing
from ollm_tui.tui.app import OllmApp
from ollm_tui.tui.modals.command_palette import Palette
from ollm_tui.tui.modals.help import Help
from ollm_tui.tui.modals.pick_model import PickModel
from ollm_tui.tui.modals.pick_theme import PickTheme
from ollm_tui.tui.screens import turns as turns_module
from ollm_tui.tui.screens.chat import ChatScreen
from tests.support.screens import services, staged
from tests.support.scripted import (
    ScriptedCatalog,
    ScriptedClient,
    ScriptedFirstModel,
    ScriptedRuntime,
    finish,
    text,
    thinking,
)

DOWN = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Ollama does not answer.", hint="Start it.")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def two_models() -> ScriptedRuntime:
    models = (ModelInfo(name="qwen3:8b", context=32768), ModelInfo(name="gemma3"))
    listing = Listing(provider="local", label="Ollama", models=models)
    return ScriptedRuntime(catalog=ScriptedCatalog(listing))


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


async def test_escape_stops_at_once_and_keeps_what_came(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("Count.")
        stage.client.hangs_on_abort = True
        stage.client.give(text("one two"))
        await stage.settle()
        await stage.pilot.press("escape")
        await stage.settle()
        signal = stage.client.signals[0]
        assert signal is not None
        assert signal.aborted
        assert "one two" in stage.screen_text
        assert "■ stopped" in stage.screen_text
        await stage.ask("Again.")
        stage.client.answer("fine")
        await stage.settle()
        assert "fine" in stage.screen_text


async def test_what_is_typed_while_it_streams_waits_its_turn(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        await stage.ask("two")
        assert "1 queued · Esc returns it to the editor: two" in stage.screen_text
        assert stage.client.prompts == ["one"]
        stage.client.answer("first")
        await stage.settle()
        assert stage.client.prompts == ["one", "two"]
        assert "queued" not in stage.screen_text


async def test_escape_returns_what_is_queued_to_the_editor(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        await stage.ask("two")
        await stage.ask("three")
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.chat.composer.value == "two\n\nthree"
        assert stage.client.prompts == ["one"]


async def test_escape_closes_open_suggestions_first_and_stops_then(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        await stage.type("/m")
        assert stage.chat.composer.has_menu
        await stage.pilot.press("escape")
        await stage.settle()
        assert not stage.chat.composer.has_menu
        assert "Stopped" not in stage.shown
        await stage.pilot.press("escape")
        await stage.settle()
        assert "Stopped" in stage.shown
        assert stage.chat.composer.value == "/m"


async def test_control_c_stops_whatever_is_suggested(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        await stage.type("/m")
        await stage.pilot.press("ctrl+c")
        await stage.settle()
        assert "Stopped" in stage.shown


async def test_a_prompt_before_the_runtime_is_there_waits(config: Path) -> None:
    opened = anyio.Event()
    async with staged(config, opened=opened) as stage:
        await stage.ask("early")
        assert "1 queued" in stage.screen_text
        assert stage.runtime.clients == []
        opened.set()
        with anyio.fail_after(5):
            while not stage.runtime.clients or not stage.client.prompts:
                await stage.pilot.pause(0.005)
        assert stage.client.prompts == ["early"]
        stage.client.answer("late")
        await stage.settle()
        assert "late" in stage.screen_text


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


async def test_control_c_stops_then_clears_then_quits_when_pressed_twice(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        await stage.type("draft")
        await stage.pilot.press("ctrl+c")
        await stage.settle()
        assert "■ stopped" in stage.screen_text
        assert stage.chat.composer.value == "draft"
        await stage.pilot.press("ctrl+c")
        assert stage.chat.composer.value == ""
        await stage.pilot.press("up")
        assert stage.chat.composer.value == "draft"
        await stage.pilot.press("ctrl+c", "ctrl+c")
        await stage.settle()
        assert "Press Ctrl+C again to quit" in stage.screen_text
        assert stage.app.is_running
        await stage.pilot.press("ctrl+c")
        assert stage.app.return_code == 0


async def test_control_c_copies_a_selection_and_says_where_it_went(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        stage.client.answer("copy me")
        await stage.settle()
        row = next(y for y, line in enumerate(stage.screen_text.splitlines()) if "copy me" in line)
        await stage.pilot.mouse_down(offset=(3, row))
        await stage.pilot.hover(offset=(10, row))
        await stage.pilot.mouse_up(offset=(10, row))
        await stage.pilot.press("ctrl+c")
        await stage.settle()
        assert stage.app.clipboard == "copy me"
        assert "Sent 1 line to the terminal's clipboard" in stage.screen_text


async def test_quit_leaves(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("/quit")
        assert stage.app.return_code == 0


async def test_a_new_chat_forgets_the_history_and_keeps_the_model(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        stage.client.answer("first")
        await stage.settle()
        await stage.pilot.press("ctrl+n")
        await stage.settle()
        assert "first" not in stage.screen_text
        assert len(stage.runtime.clients) == 2
        assert stage.client.conversation.messages == []
        assert stage.client.conversation.model == "local://qwen3:8b"


async def test_a_new_chat_while_it_streams_stops_the_old_one(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        old = stage.client
        old.give(text("first"))
        await stage.settle()
        await stage.ask("/new")
        assert old.signals[0] is not None
        assert old.signals[0].aborted
        assert not old.is_open
        assert len(stage.chat.transcript.shelf) == 0


async def test_the_picker_chooses_the_model_that_answers(config: Path) -> None:
    async with staged(config, two_models()) as stage:
        await stage.pilot.press("ctrl+l")
        await stage.settle()
        assert isinstance(stage.app.screen, PickModel)
        await stage.type("gem")
        await stage.pilot.press("enter")
        await stage.settle()
        assert len(stage.app.screen_stack) == 1
        assert stage.client.conversation.model == "local://gemma3"
        assert stage.runtime.recents == ["local://gemma3"]
        assert "gemma3 · local" in stage.screen_text


async def test_recent_models_go_round(config: Path) -> None:
    runtime = two_models()
    runtime.recents = ["local://qwen3:8b", "local://gemma3"]
    async with staged(config, runtime) as stage:
        await stage.pilot.press("f2")
        await stage.settle()
        assert stage.client.conversation.model == "local://gemma3"


@pytest.mark.parametrize(
    ("key", "dialog"), [("f1", Help), ("question_mark", Help), ("ctrl+p", Palette)]
)
async def test_dialogs_open_and_escape_closes_them(
    config: Path, key: str, dialog: type[object]
) -> None:
    async with staged(config) as stage:
        await stage.pilot.press(key)
        await stage.settle()
        assert isinstance(stage.app.screen, dialog)
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.app.screen is stage.chat
        assert stage.chat.composer.has_focus


async def test_a_question_mark_after_text_is_a_letter(config: Path) -> None:
    async with staged(config) as stage:
        await stage.type("why?")
        assert stage.chat.composer.value == "why?"


async def test_a_theme_is_put_on_and_remembered(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("/theme paper")
        assert stage.app.theme == "paper"
        with anyio.fail_after(5):
            while not config.exists():
                await stage.pilot.pause(0.005)
        assert 'theme = "paper"' in config.read_text("utf-8")


async def test_the_theme_list_shows_a_theme_and_takes_it_back(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("/theme")
        assert isinstance(stage.app.screen, PickTheme)
        await stage.pilot.press("down")
        await stage.settle()
        assert stage.app.theme == "ember"
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.app.theme == "dusk"
        assert not config.exists()


async def test_the_palette_runs_a_command(config: Path) -> None:
    async with staged(config) as stage:
        await stage.pilot.press("ctrl+p")
        await stage.settle()
        await stage.type("leave")
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.app.return_code == 0


async def test_no_model_says_what_was_tried_and_what_to_do(config: Path) -> None:
    first = ScriptedFirstModel(
        ref=None,
        reason="no model was found",
        found=(),
        advice="Fetch one with `ollm models starter`.",
    )
    async with staged(config, ScriptedRuntime(first=first)) as stage:
        assert "No model was found." in stage.screen_text
        assert "LM Studio" in stage.screen_text
        assert "ollm models starter" in stage.screen_text


async def test_a_key_that_finds_nothing_to_do_says_so_beside_the_input_only(config: Path) -> None:
    async with staged(config) as stage:
        await stage.pilot.press("f2")
        await stage.settle()
        assert "No other model was used lately" in stage.screen_text
        assert "No other model" not in stage.shown


@pytest.mark.parametrize("is_early", [False, True])
async def test_a_prompt_without_a_model_comes_back_to_the_input(
    config: Path, is_early: bool
) -> None:
    opened = anyio.Event()
    runtime = ScriptedRuntime(
        first=ScriptedFirstModel(ref=None, reason=""),
        make_client=lambda: ScriptedClient(Conversation()),
    )
    async with staged(config, runtime, opened=opened if is_early else None) as stage:
        await stage.ask("hello")
        opened.set()
        with anyio.fail_after(5):
            while stage.chat.composer.value != "hello":
                await stage.pilot.pause(0.005)
        await stage.settle()
        assert "No model is chosen." in stage.screen_text
        assert "Press Ctrl+L to choose one." in stage.screen_text
        assert "● ready" in stage.screen_text


async def test_settings_problems_are_said(config: Path) -> None:
    async with staged(config, ScriptedRuntime(problems=("themme is no setting.",))) as stage:
        assert "themme is no setting." in stage.screen_text


async def test_an_unknown_theme_is_said_and_the_default_is_used(config: Path) -> None:
    async with staged(config, theme="nosuch") as stage:
        assert stage.app.theme == "dusk"
        assert "none of that name" in stage.screen_text


async def test_scrolling_up_pins_and_the_end_follows_again(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        stage.client.give(text("\n\n".join(f"line {number}" for number in range(60))))
        await stage.settle()
        await stage.pilot.press("pageup")
        await stage.settle()
        assert stage.chat.transcript.pinned
        await stage.pilot.press("ctrl+end")
        await stage.settle()
        assert not stage.chat.transcript.pinned
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


async def test_a_storm_of_stops_and_prompts_ends_idle(config: Path) -> None:
    async with staged(config) as stage:
        for number in range(12):
            stage.chat.composer.insert("go")
            await stage.pilot.press("enter", "escape", "escape")
            if number % 3 == 0:
                await stage.settle()
        await stage.settle()
        assert stage.chat.desk is not None
        assert not stage.chat.desk.is_busy
        assert "error" not in stage.screen_text


@pytest.mark.parametrize("words", ["[/INST]", "[@click=app.quit]go[/]", "x[/red]", "[ ] todo [x]"])
async def test_brackets_are_shown_as_they_are(config: Path, words: str) -> None:
    async with staged(config) as stage:
        await stage.ask(words)
        stage.client.fail(AIError(ErrorCode.BAD_REQUEST, words, hint=words))
        await stage.settle()
        assert stage.screen_text.count(words) >= 3


async def test_a_runtime_that_cannot_be_opened_is_said_and_nothing_is_lost(config: Path) -> None:
    opened = anyio.Event()
    async with staged(config, ScriptedRuntime(refuses=DOWN), opened=opened) as stage:
        await stage.ask("early")
        opened.set()
        with anyio.fail_after(5):
            while "does not answer" not in stage.screen_text:
                await stage.pilot.pause(0.005)
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.chat.composer.value == "early"


async def test_what_is_typed_before_there_is_an_input_arrives_in_order(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_screen = OllmApp.get_default_screen

    def type_first(app: OllmApp) -> ChatScreen:
        for letter in "abc":
            app.post_message(events.Key(letter, letter))
        return make_screen(app)

    monkeypatch.setattr(OllmApp, "get_default_screen", type_first)
    app = OllmApp(services(ScriptedRuntime(), config))
    async with app.run_test() as pilot:
        await pilot.press("d")
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        assert screen.composer.value == "abcd"


async def test_retry_asks_the_answer_again_in_its_place(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("/retry")
        assert "Nothing was asked yet" in stage.screen_text
        await stage.ask("one")
        stage.client.answer("first try")
        await stage.settle()
        await stage.ask("/retry")
        stage.client.answer("second try")
        await stage.settle()
        assert "first try" not in stage.screen_text
        assert "second try" in stage.screen_text
        assert stage.client.prompts == ["one", None]


async def test_control_c_copies_what_is_selected_in_the_input(config: Path) -> None:
    async with staged(config) as stage:
        await stage.type("words")
        await stage.pilot.press("shift+left", "shift+left", "ctrl+c")
        assert stage.app.clipboard == "ds"
        assert stage.chat.composer.value == "words"


async def test_a_copied_answer_cannot_drive_the_terminal_it_is_pasted_into(config: Path) -> None:
    async with staged(config) as stage:
        stage.chat.copy("a\x1b[2Jb")
        assert stage.app.clipboard == "a␛[2Jb"


async def test_commands_complete_while_they_are_typed(config: Path) -> None:
    async with staged(config) as stage:
        await stage.type("/th")
        await stage.settle()
        assert "Choose the colours" in stage.screen_text
        await stage.pilot.press("escape")
        await stage.settle()
        assert "Choose the colours" not in stage.screen_text
        assert stage.chat.composer.value == "/th"


async def test_a_persons_own_keys_count_and_conflicts_are_said(config: Path) -> None:
    own = {"chat.models": "f4", "chat.help": "ctrl+n"}
    app = OllmApp(replace(services(ScriptedRuntime(), config), keymap=own))
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        with anyio.fail_after(5):
            while screen.desk is None or screen.desk.is_busy:
                await pilot.pause(0.005)
        await pilot.press("f4")
        await pilot.pause()
        assert isinstance(app.screen, PickModel)
        notes = [block.source.text for block in screen.transcript.shelf.blocks]
        assert notes[0] == "[keymap] gives Ctrl+N to both chat.new and chat.help."


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


async def test_without_animations_nothing_glides(config: Path) -> None:
    for is_animated in (True, False):
        app = OllmApp(services(ScriptedRuntime(), config), is_animated=is_animated)
        async with app.run_test():
            assert (app.animation_level == "none") is not is_animated


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


@pytest.mark.parametrize("key", ["ctrl+l", "ctrl+p", "f1"])
async def test_a_dialog_on_a_low_screen_spends_its_rows_on_the_list(config: Path, key: str) -> None:
    async with staged(config, two_models(), size=(40, 15)) as stage:
        await stage.pilot.press(key)
        await stage.settle()
        listed = stage.app.screen.query("OptionList, VerticalScroll").first()
        assert listed.size.height >= 8


async def test_help_on_a_narrow_screen_keeps_the_names_of_keys_whole(config: Path) -> None:
    async with staged(config, size=(40, 24)) as stage:
        await stage.pilot.press("f1")
        await stage.settle()
        assert "Ctrl+J, Shift+Enter" in stage.screen_text


async def test_what_is_asked_in_a_new_chat_while_the_old_one_closes_is_asked_there(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns_module, "STOP_GRACE_S", 60.0)
    async with staged(config) as stage:
        old = stage.client
        old.hangs_on_abort = True
        await stage.ask("one")
        old.give(text("first"))
        await stage.settle()
        await stage.pilot.press("escape", "ctrl+n")
        await stage.settle()
        new = stage.client
        await stage.ask("two")
        assert new is not old
        assert "1 queued" in stage.screen_text
        old.give(finish("abort"))
        await stage.settle()
        assert (old.prompts, new.prompts) == (["one"], ["two"])
        new.answer("second")
        await stage.settle()
        assert "second" in stage.screen_text


async def test_what_was_queued_in_a_chat_that_is_left_comes_back_to_the_editor(
    config: Path,
) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        old = stage.client
        old.give(text("first"))
        await stage.settle()
        await stage.ask("two")
        assert "1 queued" in stage.screen_text
        await stage.pilot.press("ctrl+n")
        await stage.settle()
        assert stage.chat.composer.draft == "two"
        assert "queued" not in stage.screen_text
        assert (old.prompts, stage.client.prompts) == (["one"], [])


async def test_sending_goes_to_the_end_from_wherever_one_reads(config: Path) -> None:
    async with staged(config) as stage:
        view = stage.chat.transcript
        for number in range(80):
            view.add_note(f"line-{number}", f"line {number}")
        await stage.settle()
        view.scroll_home(animate=False)
        assert view.pinned
        await stage.ask("and now?")
        await stage.settle()
        assert not view.pinned
        assert view.scroll_offset.y == view.max_scroll_y
