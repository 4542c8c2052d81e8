"""Pictures of prompts and answers in the whole app."""

import base64
from pathlib import Path

import pytest
from textual.widgets import TextArea

from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.chat_events import MediaDelta
from ollm_tui.protocol.message import Message
from ollm_tui.tui.transcript.pictures import PictureDecoder
from tests.decode.drawn import Image, bomb, saved
from tests.tui.screens import Stage, staged
from tests.tui.scripted import finish, text
from tests.tui.svg import SIZES, SvgSnapshot

sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


def scene(kind: str = "png", *, evening: bool = False) -> bytes:
    """A sun over the sea; few colours, so that the stored picture stays small."""
    image = Image.new("RGB", (96, 54), (190, 90, 70) if evening else (60, 110, 190))
    image.paste((250, 210, 80), (66, 6, 82, 22))
    image.paste((20, 60, 120), (0, 34, 96, 54))
    image.paste((235, 235, 240), (20, 20, 24, 34))
    image.paste((190, 60, 50), (12, 34, 34, 40))
    return saved(image, kind)


def picture_event(data: bytes, **more: int | None) -> MediaDelta:
    step = {"step": None, "total_steps": None} | more
    return MediaDelta(modality="image", data=data, turn=1, block="m", **step)


async def recalled(stage: Stage, *pictures: ImageContent) -> None:
    await stage.settle()
    controller = stage.controller
    controller.presenter.recall(
        [
            Message("user", [TextContent("What is on this picture?"), *pictures]),
            Message("assistant", "A boat on the sea, below the sun."),
        ]
    )
    await stage.settle()


@sizes
@pytest.mark.parametrize("state", ["drawn", "waiting", "words"])
async def test_how_a_picture_looks(
    state: str,
    size: tuple[int, int],
    svg_snapshot: SvgSnapshot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if state == "waiting":
        monkeypatch.setattr(PictureDecoder, "request", lambda *_: None)
    async with staged(tmp_path / "config.toml", size=size) as stage:
        if state == "words":
            link = ImageContent(url="https://example.org/boats/2024/red-boat.webp")
            svg = ImageContent(data=b"<svg/>", mime_type="image/svg+xml")
            await recalled(stage, link, svg, ImageContent(data=bomb()))
        else:
            await recalled(stage, ImageContent(data=base64.b64encode(scene()).decode()))
        await stage.settle()
        svg_snapshot(stage.app)


async def test_a_picture_that_a_model_sends_is_shown(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 50)) as stage:
        await stage.ask("Draw a boat.")
        stage.client.give(text("Here:"), picture_event(scene()), text(" done."), finish())
        await stage.settle()
        assert "▀" * 10 in stage.screen_text
        assert "png · 96 x 54 · " in stage.screen_text
        assert "Here: done." in stage.screen_text
        assert "empty" not in stage.screen_text.casefold()


async def test_asked_again_the_question_keeps_its_pictures(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 50)) as stage:
        await recalled(stage, ImageContent(data=scene("jpeg")))
        controller = stage.controller
        controller.presenter.begin(None)
        await stage.settle()
        assert "boat" not in stage.shown
        assert "\nWhat is on this picture?\njpeg · 96 x 54 · " in stage.shown


async def test_the_input_takes_keys_while_pictures_wait(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await recalled(stage, *[ImageContent(data=scene())] * 3)
        await stage.type("next")
        assert stage.chat.query_one(TextArea).text == "next"
