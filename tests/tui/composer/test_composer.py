from random import Random

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.document._document import EditResult
from textual.pilot import Pilot
from textual.widgets import Static
from textual.widgets.text_area import Edit

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import suggest
from ollm_tui.tui.composer.completions import Completions
from ollm_tui.tui.composer.composer import Composer
from ollm_tui.tui.keys.table import COMPOSER
from tests.commands.recording_host import RecordingHost
from tests.support.seeds import in_parts

LONG = "\n".join(f"line {number}" for number in range(240))
TOKEN = "[Pasted text #1 · 240 lines]"


class ComposerApp(App[None]):
    CSS = "Static { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []
        self.host = RecordingHost()

    def compose(self) -> ComposeResult:
        yield Static()
        yield Completions()
        yield Composer(suggest=lambda text: suggest(text, COMMANDS, self.host))

    def on_mount(self) -> None:
        self.composer.focus()

    def on_composer_menu_changed(self, message: Composer.MenuChanged) -> None:
        self.query_one(Completions).show(message.menu)

    def on_completions_chosen(self, message: Completions.Chosen) -> None:
        self.composer.take(message.index)

    def on_composer_submitted(self, message: Composer.Submitted) -> None:
        self.sent.append(message.text)

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)

    @property
    def list_open(self) -> bool:
        return self.query_one(Completions).display


async def type_text(pilot: Pilot[None], text: str) -> None:
    names = {" ": "space", "/": "slash", "\\": "backslash", "\n": "ctrl+j"}
    await pilot.press(*(names.get(letter, letter) for letter in text))


def screen_text(app: App[None]) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def test_enter_sends_and_empties() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_text(pilot, "hello")
        await pilot.press("enter")
        assert app.sent == ["hello"]
        assert app.composer.draft == ""


async def test_nothing_but_blanks_is_not_sent() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_text(pilot, "  \n ")
        await pilot.press("enter")
        assert app.sent == []
        assert app.composer.draft == "  \n "


async def test_every_newline_key_begins_a_new_line() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        for key in ("ctrl+j", "shift+enter", "alt+enter"):
            await pilot.press("a", key)
        await type_text(pilot, "b\\")
        await pilot.press("enter", "c", "enter")
        assert app.sent == ["a\na\na\nb\nc"]


async def test_keys_are_obeyed_between_the_letters_around_them() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        for key in (("a", "a"), ("backspace", "\x7f"), ("b", "b"), ("enter", "\r"), ("c", "c")):
            app.post_message(events.Key(*key))
        await pilot.pause()
        await pilot.pause()
        assert app.sent == ["b"]
        assert app.composer.draft == "c"


async def test_it_grows_with_the_text_up_to_eight_lines() -> None:
    app = ComposerApp()
    async with app.run_test(size=(40, 30)) as pilot:
        assert app.composer.outer_size.height == 3
        await pilot.press("ctrl+j", "ctrl+j")
        assert app.composer.outer_size.height == 5
        await pilot.press(*["ctrl+j"] * 20)
        assert app.composer.outer_size.height == 10
        app.composer.draft = "word " * 20
        await pilot.pause()
        assert app.composer.outer_size.height == 5


async def test_a_long_paste_is_one_token_and_is_sent_whole() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_text(pilot, "see ")
        app.composer.post_message(events.Paste(LONG.replace("\n", "\r")))
        await pilot.pause()
        assert app.composer.draft == f"see {TOKEN}"
        assert TOKEN in screen_text(app)
        app.composer.action_submit()
        await pilot.pause()
        assert app.sent == [f"see {LONG}"]


async def test_a_short_paste_keeps_its_lines_and_sends_nothing() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.post_message(events.Paste("one\r\ntwo\rthree\r"))
        await pilot.pause()
        assert app.sent == []
        assert app.composer.draft == "one\ntwo\nthree\n"


async def test_enter_right_behind_a_paste_is_part_of_it() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        paste = events.Paste("text")
        app.composer.post_message(paste)
        for number, key in enumerate((("enter", "\r"), ("x", "x"), ("enter", "\r")), 1):
            late = events.Key(*key)
            late.time = paste.time + number * 0.04  # each within 50 ms of the one before
            app.composer.post_message(late)
        await pilot.pause()
        assert app.sent == []
        assert app.composer.draft == "text\nx\n"
        calm = events.Key("enter", "\r")
        calm.time = paste.time + 0.2
        app.composer.post_message(calm)
        await pilot.pause()
        assert app.sent == ["text\nx\n"]


async def test_a_token_is_one_unit_for_cursor_and_deletion() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.insert_pasted(LONG)
        await pilot.press("left", "a", "right", "b")
        assert app.composer.draft == f"a{TOKEN}b"
        await pilot.press("left", "backspace")
        assert app.composer.draft == "ab"
        await pilot.press("ctrl+underscore")
        assert app.composer.draft == f"a{TOKEN}b"
        await pilot.press("home", "ctrl+right", "c", "ctrl+right", "d", "ctrl+left")
        assert app.composer.draft == f"ac{TOKEN}db"
        await pilot.press("ctrl+left", "ctrl+w")
        assert app.composer.draft == f"{TOKEN}db"
        await pilot.press("end", "ctrl+w", "ctrl+w")
        assert app.composer.draft == ""


async def test_a_token_is_cut_and_copied_as_its_whole_text() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.insert_pasted(LONG)
        app.composer.insert_pasted("\x1b!")
        await pilot.press("shift+home", "super+c")
        assert app.composer.selected_value == app.clipboard == f"{LONG}\x1b!"
        await pilot.press("ctrl+x")
        assert app.composer.draft == ""
        await pilot.press("ctrl+v", "enter")
        assert app.sent == [f"{LONG}\x1b!"]


async def test_a_token_is_unfolded_on_demand() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.insert_pasted(LONG)
        await pilot.press("ctrl+o")
        assert app.composer.draft == LONG
        assert app.composer.outer_size.height == 10


async def test_control_characters_are_kept_as_data_but_never_drawn() -> None:
    pasted = "a\x1b[2J\x07\x0b\x85b\u2028c\u202ed\tf[bold]x[/bold]"
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.insert_pasted(pasted)
        await pilot.pause()
        shown = screen_text(app)
        assert "a␛[2J␇␋" in shown
        assert "[bold]x[/bold]" in shown
        assert not any(letter in shown for letter in "\x1b\x07\x0b\x85\u2028\u202e")
        await pilot.press("enter")
        assert app.sent == [pasted]


@in_parts(3)
async def test_any_pasted_text_is_sent_as_it_is_and_drawn_clean(part: int) -> None:
    random = Random(2 + part)
    pieces = [
        "\x1b[2J",
        "\x9b",
        "\u202e",
        "\t",
        "\n",
        "[/]",
        "日本",
        "e\u0301",
        "👩\u200d👧",
        TOKEN,
        "\\",
    ]
    letters = [chr(code) for code in (*range(1, 0x100), 0x2028, 0xE0067, 0xFE0F, 0x10FE05, 0x5D0)]
    app = ComposerApp()
    async with app.run_test(size=(60, 24)) as pilot:
        for _ in range(50):
            text = "".join(random.choices([*pieces, *letters], k=random.randint(1, 60)))
            text = text.replace("\r", "")
            app.composer.draft = ""
            app.composer.insert_pasted(text)
            app.composer.action_cursor_left()
            app.composer.action_cursor_word_left()
            app.composer.action_cursor_word_right()
            await pilot.pause()
            assert app.composer.value == text
            assert all(
                letter.isprintable() or letter in "\u200d\xad\ufe0f\xa0\n"
                for letter in screen_text(app)
            )
            assert app.sent == []


async def test_up_and_down_walk_the_history_and_keep_the_draft() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        for text in ("first", "second\nlines"):
            await type_text(pilot, text)
            await pilot.press("enter")
        await type_text(pilot, "draft")
        await pilot.press("up")
        assert app.composer.draft == "second\nlines"
        await pilot.press("up")
        assert app.composer.draft == "first"
        await pilot.press("up")
        assert app.composer.draft == "first"
        await pilot.press("down", "down", "down", "down")
        assert app.composer.draft == "draft"


async def test_a_stashed_draft_comes_back_with_up_and_its_paste() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.insert_pasted(LONG)
        assert app.composer.stash()
        assert app.composer.draft == ""
        assert not app.composer.stash()
        await pilot.press("up")
        assert app.composer.value == LONG


async def test_a_text_that_comes_back_stands_before_the_draft() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_text(pilot, "new")
        app.composer.prepend("queued")
        assert app.composer.draft == "queued\n\nnew"


async def test_a_slash_opens_the_list_and_enter_completes_before_it_sends() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_text(pilot, "/mo")
        assert app.list_open
        assert "Choose the model that answers." in screen_text(app)
        await pilot.press("enter")
        assert app.composer.draft == "/model"
        assert app.sent == []
        assert not app.list_open
        await pilot.press("enter")
        assert app.sent == ["/model"]


async def test_a_whole_command_is_sent_at_once() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_text(pilot, "/quit")
        await pilot.press("enter")
        assert app.sent == ["/quit"]


async def test_tab_completes_and_goes_on_to_the_argument() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_text(pilot, "/mo")
        await pilot.press("tab")
        assert app.composer.draft == "/model "
        assert app.list_open
        await pilot.press("down", "down", "enter")
        assert app.composer.draft == "/model local://gemma3:4b"
        await pilot.press("enter")
        assert app.sent == ["/model local://gemma3:4b"]


async def test_an_argument_that_was_not_chosen_is_not_taken() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_text(pilot, "/set temperature 0")
        assert app.list_open
        await pilot.press("enter")
        assert app.sent == ["/set temperature 0"]


async def test_escape_closes_the_list_until_the_next_edit_and_is_then_free() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_text(pilot, "/")
        await pilot.press("escape")
        assert not app.list_open
        assert app.composer.check_action("dismiss", ()) is False
        await type_text(pilot, "h")
        assert app.list_open


async def test_up_and_down_choose_in_the_list_and_the_ends_meet() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_text(pilot, "/")
        await pilot.press("up", "enter")
        assert app.composer.draft == f"/{COMMANDS[-1].name}"


async def test_a_click_takes_a_suggestion() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_text(pilot, "/")
        await pilot.click(Completions, offset=(3, 1))
        assert app.composer.draft == f"/{COMMANDS[1].name}"
        assert app.composer.has_focus


async def test_names_of_models_are_shown_with_every_hidden_character_spelled_out() -> None:
    app = ComposerApp()
    app.host.models = ("local://[red]\u202eevil\x1b[2J",)
    async with app.run_test() as pilot:
        await type_text(pilot, "/model ")
        await pilot.pause()
        assert "local://[red]⟦U+202E⟧evil⟦U+001B⟧[2J" in screen_text(app)


async def test_a_prompt_with_a_slash_inside_opens_no_list() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_text(pilot, "a /")
        assert not app.list_open


async def test_keys_are_remapped_by_their_ids() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.set_keymap({"composer.submit": "ctrl+g", "composer.newline": "enter"})
        await pilot.press("a", "enter", "b", "ctrl+g")
        assert app.sent == ["a\nb"]


async def test_every_key_has_an_id_of_its_own_and_an_action() -> None:
    ids = [key.id for key in COMPOSER]
    assert len(set(ids)) == len(ids)
    for key in COMPOSER:
        assert key.id is not None
        assert key.id.startswith("composer.")
        assert key.description
        assert hasattr(Composer, f"action_{key.action.partition('(')[0]}")


async def test_the_list_fits_narrow_terminals() -> None:
    app = ComposerApp()
    async with app.run_test(size=(40, 16)) as pilot:
        await type_text(pilot, "/")
        rows = screen_text(app).splitlines()
        assert all(len(row) == 40 for row in rows)
        assert any(row.startswith("   /new") for row in rows)
        assert any("…" in row for row in rows)


async def typed_at_once(app: ComposerApp, pilot: Pilot[None], *keys: str) -> None:
    """Send keys as one read gives them: none waits until another has been obeyed."""
    names = {" ": "space"}
    for key in keys:
        app.post_message(events.Key(names.get(key, key), key if len(key) == 1 else None))
    await pilot.pause()
    await pilot.pause()


async def test_letters_that_come_at_once_are_one_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    app = ComposerApp()
    lengths: list[int] = []
    edit = Composer.edit

    def counted(composer: Composer, change: Edit) -> EditResult:
        lengths.append(len(change.text))
        return edit(composer, change)

    monkeypatch.setattr(Composer, "edit", counted)
    async with app.run_test() as pilot:
        text = "a text of words " * 500
        await typed_at_once(app, pilot, *text)
        assert app.composer.draft == text
        # The first letters may have been obeyed before the next were there.
        assert len(lengths) <= 20
        assert sum(lengths) == len(text)


async def test_keys_between_letters_keep_their_place_and_meaning() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        await typed_at_once(app, pilot, *"one", "enter", *"twx", "backspace", *"o", "enter", *"3 4")
        assert app.sent == ["one", "two"]
        assert app.composer.draft == "3 4"


async def test_letters_behind_a_paste_keep_enter_from_sending() -> None:
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.post_message(events.Paste("pasted "))
        await typed_at_once(app, pilot, *"and typed", "enter")
        assert app.sent == []
        assert app.composer.draft == "pasted and typed\n"
