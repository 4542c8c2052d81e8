"""Letters that come at once into a field of one line are one edit, and the line has an end."""

from pathlib import Path

import pytest
from textual import events, on
from textual.app import App, ComposeResult
from textual.widgets import Input

from ollm_tui.tui.widgets.text_field import MAX_LENGTH, TextField
from tests.tui.screens import Stage, staged
from tests.tui.size_scenes import SCENES, every_runtime


class Fields(App[None]):
    """Two fields, and how often a text changed."""

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0

    def compose(self) -> ComposeResult:
        yield TextField(id="first")
        yield TextField(id="second", max_length=5)

    @on(Input.Changed)
    def _count(self) -> None:
        self.changes += 1

    def typed(self, *keys: str) -> None:
        """Let keys come as from the terminal, all before any of them is handled."""
        for key in keys:
            self.post_message(events.Key(key, key if len(key) == 1 else None))

    def value(self, name: str) -> str:
        return self.query_one(f"#{name}", TextField).value


async def test_letters_that_come_at_once_are_few_edits() -> None:
    async with Fields().run_test() as pilot:
        app = pilot.app
        assert isinstance(app, Fields)
        app.typed(*"abc" * 500)
        await pilot.pause()
        assert app.value("first") == "abc" * 500
        assert app.changes < 20


async def test_keys_between_letters_keep_their_place() -> None:
    async with Fields().run_test() as pilot:
        app = pilot.app
        assert isinstance(app, Fields)
        app.typed("a", "b", "left", "c", "d", "backspace", "home", "e", "end", "f")
        await pilot.pause()
        assert app.value("first") == "eacbf"
        await pilot.press("tab", "g")
        assert (app.value("first"), app.value("second")) == ("eacbf", "g")


async def test_letters_take_the_place_of_a_selection() -> None:
    async with Fields().run_test() as pilot:
        app = pilot.app
        assert isinstance(app, Fields)
        app.typed(*"words", "home", "shift+right", "shift+right", *"xyz")
        await pilot.pause()
        assert app.value("first") == "xyzrds"


@pytest.mark.parametrize(("name", "most"), [("first", MAX_LENGTH), ("second", 5)])
async def test_a_text_that_is_too_long_is_cut(name: str, most: int) -> None:
    async with Fields().run_test() as pilot:
        app = pilot.app
        assert isinstance(app, Fields)
        field = app.query_one(f"#{name}", TextField)
        field.focus()
        app.typed(*"x" * 3)
        app.post_message(events.Paste("y" * 10_000))
        await pilot.pause()
        assert field.value == ("xxx" + "y" * most)[:most]


async def edits(stage: Stage, letters: int) -> int:
    changes = 0
    field = stage.app.screen.query_one(Input)

    def count() -> None:
        nonlocal changes
        changes += 1

    field.watch(field, "value", count, init=False)
    for _ in range(letters):
        stage.app.post_message(events.Key("q", "q"))
    await stage.settle()
    assert field.value.endswith("q" * 190)
    return changes


@pytest.mark.slow
@pytest.mark.parametrize(
    "scene", ["find models", "second name", "models", "picker of chats", "search", "palette"]
)
async def test_every_field_takes_letters_in_runs(scene: str, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        await SCENES[scene](stage)
        assert await edits(stage, 1000) < 20


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
async def test_every_field_of_every_screen_is_such_a_field(scene: str, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        await SCENES[scene](stage)
        fields = [field for screen in stage.app.screen_stack for field in screen.query(Input)]
        assert all(isinstance(field, TextField) for field in fields)
