"""Pictures and a model that accepts text only: asked once for a chat, before anything is sent."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from ollm_tui.attachments.attachment import FileBytes, image_of
from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.chat_events import PicturesLeftOut
from ollm_tui.protocol.message import Message
from ollm_tui.tui.chat.media_consent import LeaveOutMedia
from tests.support.picture_bytes import png
from tests.support.sounds import wav
from tests.support.video_bytes import mp4
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedRuntime, finish, text
from tests.tui.svg import SIZES, SvgSnapshot


@dataclass
class BlindRuntime(ScriptedRuntime):
    blind: tuple[str, ...] = ("local://qwen3:8b",)
    asked: list[str] = field(default_factory=list)
    gate: anyio.Event | None = None

    async def lacking_media(self, model: str, wanted: Collection[str]) -> frozenset[str]:
        self.asked.append(model)
        if self.gate is not None:
            await self.gate.wait()
        return frozenset(wanted) & {"image"} if model in self.blind else frozenset()


def attach(stage: Stage) -> None:
    picture = image_of(FileBytes("cat.png", png()))
    stage.chat.composer.insert(f"{stage.chat.composer.pictures.add(picture)} ")


async def press(stage: Stage, key: str) -> None:
    """Press a key once the dialog listens."""
    assert isinstance(stage.app.screen, LeaveOutMedia)
    with anyio.fail_after(5):
        while "y send" not in stage.screen_text:
            await stage.pilot.pause(0.02)
    await stage.pilot.press(key)
    await stage.settle()


async def test_it_is_asked_once_for_a_chat_and_then_sent_without(tmp_path: Path) -> None:
    runtime = BlindRuntime()
    async with staged(tmp_path / "config.toml", runtime, size=(100, 40)) as stage:
        attach(stage)
        await stage.ask("What is it?")
        assert "This model accepts text only" in stage.screen_text
        assert stage.client.prompts == []
        await press(stage, "y")
        # What is left out is left out below; the chat keeps it.
        assert stage.client.conversation.messages[-1].content[0].type == "image"
        stage.client.give(PicturesLeftOut(count=1, model="qwen3:8b"), text("Hm."), finish())
        await stage.settle()
        assert "qwen3:8b accepts text only: 1 picture of this chat is not sent." in stage.shown
        await stage.ask("And now?")
        assert not isinstance(stage.app.screen, LeaveOutMedia)
        stage.client.give(PicturesLeftOut(count=1, model="qwen3:8b"), text("Hm.", "b2"), finish())
        await stage.settle()
        assert stage.shown.count("accepts text only") == 1
        assert len(runtime.asked) == 1


@pytest.mark.parametrize("key", ["n", "escape"])
async def test_a_no_gives_the_draft_back_with_its_pictures(key: str, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", BlindRuntime(), size=(100, 40)) as stage:
        attach(stage)
        await stage.ask("What is it?")
        await press(stage, key)
        assert stage.chat.composer.text == "[Image #1] What is it?"
        assert "Image #1 · cat.png" in stage.screen_text
        assert stage.client.prompts == []


async def test_switching_in_mid_chat_asks_for_pictures_of_earlier_messages(tmp_path: Path) -> None:
    runtime = BlindRuntime(blind=("local://blind",))
    async with staged(tmp_path / "config.toml", runtime, size=(100, 40)) as stage:
        attach(stage)
        await stage.ask("What is it?")
        stage.client.answer("A cat.")
        await stage.settle()
        stage.client.conversation.model = "local://blind"
        await stage.ask("And now?")
        await press(stage, "y")
        assert stage.client.prompts == ["What is it?", "And now?"]


async def test_an_edited_question_is_still_there_after_a_no(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", BlindRuntime(), size=(100, 40)) as stage:
        await stage.ask("one?")
        stage.client.answer("Yes.")
        await stage.settle()
        picture = ImageContent(data=png(), mime_type="image/png", width=3, height=2)
        stage.client.conversation.messages[0] = Message("user", [TextContent("one?"), picture])
        await stage.pilot.press("escape", "escape")
        await stage.ask("")
        await press(stage, "n")
        assert stage.client.rewound == []
        assert "Editing an earlier message" in stage.screen_text


async def test_what_is_sent_while_the_server_is_asked_waits(tmp_path: Path) -> None:
    gate = anyio.Event()
    runtime = BlindRuntime(blind=(), gate=gate)
    async with staged(tmp_path / "config.toml", runtime) as stage:
        attach(stage)
        await stage.ask("first")
        await stage.ask("second")
        assert "1 queued" in stage.screen_text
        gate.set()
        await stage.settle()
        assert stage.client.prompts == ["first"]
        stage.client.answer("One.")
        await stage.settle()
        assert stage.client.prompts == ["first", "second"]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_how_it_is_asked(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", BlindRuntime(), size=size) as stage:
        attach(stage)
        await stage.ask("What is it?")
        with anyio.fail_after(5):
            while "y send" not in stage.screen_text:
                await stage.pilot.pause(0.02)
        await stage.settle()
        svg_snapshot(stage.app)


async def test_sound_video_and_pdf_are_attached_and_shown_as_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "hum.wav").write_bytes(wav(2.0))
    (tmp_path / "cat.mp4").write_bytes(mp4())
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7")

    @dataclass
    class DeafRuntime(ScriptedRuntime):
        async def lacking_media(self, _model: str, wanted: Collection[str]) -> frozenset[str]:
            return frozenset(wanted) & {"audio", "document"}

    async with staged(tmp_path / "config.toml", DeafRuntime(), size=(100, 40)) as stage:
        for name in ("hum.wav", "cat.mp4", "paper.pdf"):
            await stage.ask(f"/attach {tmp_path / name}")
        await stage.settle()
        assert "Audio #1 · hum.wav · wav · 2 s · 64 kB" in stage.screen_text
        assert "Video #2 · cat.mp4 · mp4 · 2 s" in stage.screen_text
        assert "PDF #3 · paper.pdf · pdf · 8 B" in stage.screen_text
        await stage.ask("What is it?")
        assert "This model does not accept sound or PDF files" in stage.screen_text
        await press(stage, "y")
        kinds = [block.type for block in stage.client.conversation.messages[-1].content]
        assert kinds == ["text", "audio", "video", "document"]
        assert "Sound: hum.wav, 2 s, audio/wav, 64 kB\n" + "█" * 48 in stage.shown
        assert "Video: cat.mp4, 2 s, 64 x 48, video/mp4" in stage.shown
        assert "PDF: paper.pdf, application/pdf, 8 B" in stage.shown
