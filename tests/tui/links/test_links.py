"""Links in the chat: a click asks, only a yes opens, and only what was shown."""

import time
from pathlib import Path

import pytest
from textual import events

from ollm_tui.tui.dialogs.reading import Reading
from ollm_tui.tui.links.open_dialog import OpenLink
from ollm_tui.tui.links.pick_dialog import LinkPicker
from ollm_tui.tui.transcript.block import MARGIN
from ollm_tui.tui.transcript.transcript import Transcript
from tests.tui.screens import RecordingOpener, Stage, staged
from tests.tui.svg import SIZES, SvgSnapshot

LONG = "https://a.example/" + "".join(f"{number:04}/" for number in range(800))
HOMOGRAPH = "https://\u0430pple.example/login"


async def answer(stage: Stage, markdown: str, prompt: str = "Where?") -> None:
    await stage.ask(prompt)
    stage.client.answer(markdown)
    await stage.settle()


async def click(stage: Stage, words: str, after: int = 1) -> None:
    """Click into the first row that shows these words."""
    view = stage.chat.transcript
    for number in range(view.size.height):
        found = view.block_list.row_at(view.scroll_offset.y + number)
        if found is not None and words in found[0].text:
            x = MARGIN + found[0].text.index(words) + after
            await stage.pilot.click(Transcript, offset=(x, number))
            await stage.settle()
            return
    raise AssertionError(f"{words} is not on the screen")


async def press(stage: Stage, key: str, character: str | None = None) -> None:
    """A key that comes long after the dialog was drawn."""
    event = events.Key(key, character or (key if len(key) == 1 else None))
    event.time = time.monotonic() + 10
    stage.app.post_message(event)
    await stage.settle()


def dialog(stage: Stage) -> OpenLink | None:
    screen = stage.app.screen
    return screen if isinstance(screen, OpenLink) else None


def shown_address(asked: OpenLink) -> str:
    lines = asked.query_one(Reading)._lines
    return "".join(line for is_text, line in lines if is_text)


OPENED = [
    ("[docs](https://a.example/b?c=d#e)", "docs", "https://a.example/b?c=d#e"),
    ("[docs](http://a.example)", "docs", "http://a.example/"),
    ("**[*docs*](http://a.example)**", "docs", "http://a.example/"),
    ("[docs](http://a.example)", "(http://a", "http://a.example/"),
    ("<https://a.example/x>", "a.example", "https://a.example/x"),
    ("See https://a.example/x.", "https", "https://a.example/x"),
    ("- item https://a.example/x\n- two", "a.example", "https://a.example/x"),
    ("| a |\n|---|\n| https://a.example/x |", "a.example", "https://a.example/x"),
    ("> # https://a.example/x", "a.example", "https://a.example/x"),
    ("`x` mailto:ann@a.example?subject=hi", "ann", "mailto:ann@a.example?subject=hi"),
    ("[mail](mailto:ann@a.example)", "mail", "mailto:ann@a.example"),
    ("[docs](http://good.example@evil.example/)", "docs", "http://good.example@evil.example/"),
    (f"[docs]({HOMOGRAPH})", "docs", "https://xn--pple-43d.example/login"),
    (f"{HOMOGRAPH}", "https", "https://xn--pple-43d.example/login"),
    ("![cat](http://169.254.169.254/latest)", "cat", "http://169.254.169.254/latest"),
    ("[https://good.example](https://evil.example)", "good", "https://evil.example/"),
    ("[![cat](http://c.example)](http://a.example)", "cat", "http://a.example/"),
    ("[x](http://a.example/&#10;b)", "x", "http://a.example/%0Ab"),
    ("```\ncurl https://a.example/x\n```", "a.example", "https://a.example/x"),
]
REFUSED = [
    ("[docs](vscode://file/etc/passwd)", "docs", "vscode://file/etc/passwd"),
    ("[docs](ssh://-oProxyCommand=x/)", "docs", "ssh://-oProxyCommand=x/"),
    ("![cat](data:image/png;base64,AAAA)", "cat", "data:image/png;base64,AAAA"),
    ("[docs](relative/path.md)", "docs", "relative/path.md"),
    ("[docs](http://ev&#10;il.example)", "docs", "http://ev%0Ail.example"),
    ("[docs](mailto:a@a.example?attach=/etc/passwd)", "docs", None),
]
TEXT = [
    ("[docs](javascript:alert)", "javascript"),
    ("[docs](file:///etc/passwd)", "file"),
    ("[docs](data:text/html,x)", "data"),
    ("[docs][1]", "docs"),
    ("nothing here: just text", "just"),
    ("http://", "http"),
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("markdown", "words", "address"), OPENED)
async def test_a_click_asks_and_a_yes_opens_what_is_shown(
    config: Path, markdown: str, words: str, address: str
) -> None:
    async with staged(config) as stage:
        await answer(stage, markdown)
        await click(stage, words)
        asked = dialog(stage)
        assert asked is not None
        assert shown_address(asked) == address
        for key in ("enter", "space", "o", "Y"):
            await press(stage, key, {"enter": "\r", "space": " "}.get(key))
        assert stage.opener.opened == []
        # letters that mean nothing make it wait again, from when they came
        asked._arming._armed_at = 0.0
        await press(stage, "y")
        assert stage.opener.opened == [address]
        assert dialog(stage) is None


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("markdown", "words", "address"), REFUSED)
async def test_other_schemes_are_shown_and_never_opened(
    config: Path, markdown: str, words: str, address: str | None
) -> None:
    async with staged(config) as stage:
        await answer(stage, markdown)
        await click(stage, words)
        asked = dialog(stage)
        assert asked is not None
        assert address is None or shown_address(asked) == address
        assert "This link is not opened" in stage.screen_text
        assert "y open" not in stage.screen_text
        await press(stage, "y")
        assert dialog(stage) is asked
        await press(stage, "escape")
        assert dialog(stage) is None
        assert stage.opener.opened == []


@pytest.mark.parametrize(("markdown", "words"), TEXT)
async def test_what_is_no_link_asks_nothing(config: Path, markdown: str, words: str) -> None:
    async with staged(config) as stage:
        await answer(stage, markdown)
        await click(stage, words)
        assert dialog(stage) is None
        assert stage.opener.opened == []


@pytest.mark.parametrize("key", ["n", "escape", "ctrl+c"])
async def test_no_closes_and_opens_nothing(config: Path, key: str) -> None:
    async with staged(config) as stage:
        await answer(stage, "https://a.example")
        await click(stage, "https")
        await press(stage, key)
        assert dialog(stage) is None
        assert stage.opener.opened == []


async def test_a_key_typed_by_habit_opens_nothing(config: Path) -> None:
    async with staged(config) as stage:
        await answer(stage, "https://a.example")
        await click(stage, "https")
        asked = dialog(stage)
        assert asked is not None
        for letter in "yes y yy":
            event = events.Key("space" if letter == " " else letter, letter)
            event.time = asked._clock()
            stage.app.post_message(event)
        await stage.settle()
        assert dialog(stage) is asked
        assert stage.opener.opened == []


async def test_c_copies_the_address_and_opens_nothing(config: Path) -> None:
    async with staged(config) as stage:
        await answer(stage, f"[docs]({HOMOGRAPH})")
        await click(stage, "docs")
        await press(stage, "c")
        assert stage.app.clipboard == "https://xn--pple-43d.example/login"
        assert stage.opener.opened == []


async def test_what_cannot_be_opened_here_is_copied_and_reported(config: Path) -> None:
    opener = RecordingOpener("Links cannot be opened from a remote session.")
    async with staged(config, opener=opener) as stage:
        await answer(stage, "https://a.example/x")
        await click(stage, "https")
        await press(stage, "y")
        assert stage.app.clipboard == "https://a.example/x"
        assert "Links cannot be opened from a remote session." in stage.shown


async def test_the_words_say_what_is_easily_mistaken(config: Path) -> None:
    async with staged(config, size=(100, 40)) as stage:
        await answer(stage, f"https://bank.example@{HOMOGRAPH[8:]} and http://127.0.0.1:8000")
        await click(stage, "bank")
        for words in (
            "The part before the @ is not the host.",
            "look-alike letters",
            "Host       xn--pple-43d.example",
            "Written as \u0430pple.example",
            "Before @   bank.example",
        ):
            assert words in stage.screen_text
        await press(stage, "escape")
        await click(stage, "127.0.0.1")
        assert "It leads to this machine." in stage.screen_text
        assert "Port       8000" in stage.screen_text


@pytest.mark.parametrize("size", [(80, 24), (60, 15)])
async def test_a_crowded_dialog_still_shows_the_end_of_the_host_and_the_keys(
    config: Path, size: tuple[int, int]
) -> None:
    long = "x" * 60
    host = f"{long}.\u0430{long[:30]}.{long}.bank.example.evil.local"
    async with staged(config, size=size) as stage:
        await answer(stage, f"[Here](https://{long * 9}@{host}:81/{long * 9})")
        stage.chat.transcript.scroll_home(animate=False)
        await click(stage, "Here")
        asked = dialog(stage)
        assert asked is not None
        await press(stage, "home")
        shown = stage.screen_text
        assert "bank.example.evil.local" in shown
        assert "c copy the address" in shown
        assert "y open" not in shown
        assert "not the host" in shown
        assert "▌ https://xxx" in shown
        for _number in range(20):
            await press(stage, "pagedown")
        assert "y open" in stage.screen_text


async def test_a_long_address_is_shown_to_its_end(config: Path) -> None:
    async with staged(config) as stage:
        await answer(stage, f"Look:\n\n{LONG}")
        stage.chat.transcript.scroll_home(animate=False)
        await click(stage, "0010/")
        asked = dialog(stage)
        assert asked is not None
        assert shown_address(asked) == LONG
        await press(stage, "end")
        assert "0799/" in stage.screen_text
        await press(stage, "y")
        assert stage.opener.opened == []
        await press(stage, "home")
        while "0799/" not in stage.screen_text:
            await press(stage, "pagedown")
        assert "y open" in stage.screen_text
        await press(stage, "y")
        assert stage.opener.opened == [LONG]


async def test_an_address_in_a_question_is_a_link_on_each_of_its_rows(config: Path) -> None:
    address = "https://a.example/" + "abc/" * 60
    async with staged(config) as stage:
        await answer(stage, "Yes.", prompt=f"Read {address} please")
        view = stage.chat.transcript
        places = [y for y in range(8) if "abc/abc" in (view.render_line(y).text)]
        assert len(places) > 2
        for y in places:
            assert view.selection.link_at(10, y) == address
        assert view.selection.link_at(1, places[0]) is None
        assert view.selection.link_at(70, view.size.height - 1) is None


async def test_the_end_of_a_dragged_selection_asks_nothing(config: Path) -> None:
    async with staged(config) as stage:
        await answer(stage, "one two https://a.example/x and on")
        view = stage.chat.transcript
        y = next(y for y in range(8) if "one two" in view.render_line(y).text)
        await stage.pilot.mouse_down(Transcript, offset=(MARGIN, y))
        await stage.pilot.hover(Transcript, offset=(MARGIN + 14, y))
        await stage.pilot.mouse_up(Transcript, offset=(MARGIN + 14, y))
        stage.app.post_message(_click(view, MARGIN + 14, y))
        await stage.settle()
        assert dialog(stage) is None
        assert stage.app.screen.get_selected_text() == "one two https:/"


def _click(view: Transcript, x: int, y: int) -> events.Click:
    screen = (view.region.x + x, view.region.y + y)
    return events.Click(view, *screen, 0, 0, 1, False, False, False, *screen, chain=1)


async def test_no_link_reaches_the_terminal_as_one(config: Path) -> None:
    async with staged(config) as stage:
        await answer(stage, "[docs](https://a.example) https://b.example ![c](http://c.example)")
        view = stage.chat.transcript
        console = stage.app.console
        sent = "".join(view.render_line(y).render(console) for y in range(view.size.height))
        assert "docs" in sent
        assert "\x1b]" not in sent


async def test_the_links_of_the_newest_answer_are_listed(config: Path) -> None:
    async with staged(config) as stage:
        await answer(stage, "https://old.example")
        await answer(stage, "[one](https://a.example/1)\n\n- https://b.example/2 [x](vscode://y)")
        await stage.pilot.press("f8")
        await stage.settle()
        assert isinstance(stage.app.screen, LinkPicker)
        assert "one (https://a.example/1)" in stage.screen_text
        assert "x (vscode://y)" in stage.screen_text
        assert "old.example" not in stage.screen_text
        await stage.type("b.ex")
        await stage.pilot.press("enter")
        await stage.settle()
        asked = dialog(stage)
        assert asked is not None
        assert shown_address(asked) == "https://b.example/2"
        assert stage.opener.opened == []


async def test_the_chosen_link_stays_chosen_when_the_window_changes(config: Path) -> None:
    async with staged(config, size=(80, 24)) as stage:
        await answer(stage, "https://a.example/1 https://b.example/2")
        await stage.pilot.press("f8", "down")
        await stage.settle()
        await stage.pilot.resize_terminal(70, 20)
        await stage.settle()
        await stage.pilot.press("enter")
        await stage.settle()
        asked = dialog(stage)
        assert asked is not None
        assert shown_address(asked) == "https://b.example/2"


async def test_the_command_lists_them_too_or_says_that_there_are_none(config: Path) -> None:
    async with staged(config) as stage:
        await answer(stage, "none here")
        await stage.ask("/links")
        assert "The last answer has no links" in stage.screen_text
        await answer(stage, "https://a.example")
        await stage.ask("/links")
        assert isinstance(stage.app.screen, LinkPicker)


SCENES = {
    "plain": ("See https://docs.example/guide/start?lang=en#keys for more.", "https"),
    "homograph": ("[Sign in](https://bank.example@\u0430pple.example:8443/login?next=/)", "Sign"),
    "long": (f"[All numbers]({LONG})", "All"),
    "refused": ("[Open it](vscode://file/etc/passwd)", "Open"),
}
sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


@sizes
@pytest.mark.parametrize("scene", SCENES)
async def test_how_the_dialog_looks(
    scene: str, size: tuple[int, int], config: Path, svg_snapshot: SvgSnapshot
) -> None:
    markdown, words = SCENES[scene]
    async with staged(config, size=size) as stage:
        await answer(stage, markdown)
        stage.chat.transcript.scroll_home(animate=False)
        await click(stage, words)
        asked = dialog(stage)
        assert asked is not None
        asked._arming._armed_at = 0.0
        asked._say_when_armed()
        await stage.settle()
        svg_snapshot(stage.app)


@sizes
async def test_how_the_list_looks(
    size: tuple[int, int], config: Path, svg_snapshot: SvgSnapshot
) -> None:
    markdown = "\n".join(f"- {each[0]}" for each in SCENES.values())
    async with staged(config, size=size) as stage:
        await answer(stage, markdown)
        await stage.pilot.press("f8")
        await stage.settle()
        svg_snapshot(stage.app)
