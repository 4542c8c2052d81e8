"""`/image` in the app, with a server: drawn, stopped, edited, varied, saved, and there again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.protocol.blocks import ImageContent
from ollm_tui.protocol.message import Message
from tests.support.fake_drawing import FakeSdCpp, FakeWebUI
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Handler, serve
from tests.support.picture_bytes import png
from tests.tui.screens import RealStage, is_ready, staged_for_real

SOON_S = 10.0
CHAT = Flags(model="openai-compatible://tiny")


class Scene(RealStage):
    """A chat beside a server that draws."""

    @property
    def messages(self) -> list[Message]:
        return self.controller.session.client.conversation.messages

    @property
    def sizes(self) -> list[tuple[int | None, int | None]]:
        """The sizes of all pictures that were drawn."""
        return [
            (block.width, block.height)
            for message in self.messages
            if message.role == "assistant"
            for block in message.content
            if isinstance(block, ImageContent)
        ]

    async def image(self, words: str, *shown: str, is_over: bool = True) -> None:
        """Run the command and wait for its end, or for what is shown on the way."""
        await self.send(f"/image {words}".rstrip())
        await self.until(*shown, test=lambda: not is_over or is_ready(self.chat), within_s=SOON_S)


def settings(folder: Path, url: str, backend: str, *, default: bool = True) -> None:
    (folder / "config").mkdir(exist_ok=True)
    lines = [
        "[providers.sd]",
        'kind = "openai-compatible"',
        f'backend = "{backend}"',
        f'base_url = "{url}"',
        *(["[defaults]", 'picture = "sd://painter"'] if default else []),
    ]
    (folder / "config" / "config.toml").write_text("\n".join(lines))


@asynccontextmanager
async def scene(
    folder: Path, painter: Handler, backend: str, *, default: bool = True, goes_on: bool = False
) -> AsyncIterator[Scene]:
    async with serve(painter) as server, serve(FakeOpenAI()) as chat:
        settings(folder, server.url, backend, default=default)
        environ = {"OPENAI_COMPATIBLE_HOST": chat.url}
        flags = Flags(model=CHAT.model, goes_on=goes_on)
        async with staged_for_real(folder, environ, flags) as stage:
            yield Scene(stage.app, stage.pilot, stage.runtime)


async def test_a_picture_is_drawn_edited_varied_saved_and_there_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with scene(tmp_path, FakeWebUI(), "sdwebui") as played:
        await played.image("a red cat --size 16x16 --seed 3", "a red cat", "16 x 16")
        assert "Drawing with sd://painter." in played.screen_text
        await played.image("edit make it blue", "make it blue", "17 x 16")
        await played.image("vary 2")
        # The varied prompt is an edit: each picture is made of the first one again.
        assert played.sizes == [(16, 16), (17, 16), (17, 16), (17, 16)]
        await played.image("save cat.png", "Saved cat.png.")
        assert Path("cat.png").read_bytes() == png(17, 16)
        await played.image("save cat.png", "cat.png exists already.")
        await played.image("save", "Saved picture-1.png.")
        await played.send("hello")
        await played.until(test=lambda: is_ready(played.chat) and played.messages[-1].text != "")
        kept = list(played.messages)
    assert [message.role for message in kept] == ["user", "assistant"] * 4
    async with scene(tmp_path, FakeWebUI(), "sdwebui", goes_on=True) as played:
        assert played.messages == kept
        pictures = [
            block.source.text
            for block in played.chat.transcript.block_list.blocks
            if block.kind.value == "picture"
        ]
        assert len(pictures) == len(played.sizes) + 2, "with those that were edited"


async def test_an_edited_question_is_drawn_again_with_the_same_size_and_seed(
    tmp_path: Path,
) -> None:
    painter = FakeWebUI()
    async with scene(tmp_path, painter, "sdwebui") as played:
        await played.image("a red cat --size 16x16 --seed 3", "16 x 16")
        await played.pilot.press("alt+up", "e")
        await played.until("Editing an earlier message · Enter draws it", within_s=SOON_S)
        await played.pilot.press(*" on a mat", "enter")
        await played.until("a red cat on a mat", "16 x 16", within_s=SOON_S)
        await played.until(test=lambda: is_ready(played.chat), within_s=SOON_S)
        assert [message.text for message in played.messages[::2]] == ["a red cat on a mat"]
        assert played.sizes == [(16, 16)]
        assert played.messages[0].metadata["drawing"] == {
            "model": "sd://painter",
            "size": "16x16",
            "seed": 3,
            "count": 1,
        }
        await played.pilot.press("alt+up", "e")
        await played.until("Enter draws it", within_s=SOON_S)
        await played.pilot.press("escape")
        assert len(played.messages) == 2, "nothing is removed before it is drawn"


async def test_a_mask_says_where_a_picture_is_changed_and_stays_with_the_question(
    tmp_path: Path,
) -> None:
    mask = tmp_path / "my head.png"
    mask.write_bytes(png(16, 16))
    painter = FakeWebUI()
    async with serve(painter) as server, serve(FakeOpenAI()) as chat:
        settings(tmp_path, server.url, "sdwebui")
        environ = {"OPENAI_COMPATIBLE_HOST": chat.url}
        async with staged_for_real(tmp_path, environ, CHAT) as stage:
            played = Scene(stage.app, stage.pilot, stage.runtime)
            await played.image(f'a hat --mask "{mask}"', "--mask takes a picture to edit.")
            await played.image(f"a hat --mask {tmp_path / 'none.png'}", "--mask takes a picture")
            await played.image("a red cat --size 16x16", "16 x 16")
            await played.image("edit a hat --mask none.png", "none.png does not exist")
            await played.image(f'edit a hat --mask "{mask}"', "18 x 16")
            await played.image("again")
            assert played.sizes == [(16, 16), (18, 16), (18, 16)]
        bodies: list[Any] = [one.json() for one in server.received if one.path.endswith("img2img")]
        assert [(len(body["init_images"]), "mask" in body) for body in bodies] == [(1, True)] * 2


async def test_steps_are_shown_while_it_is_drawn_and_esc_stops_it(tmp_path: Path) -> None:
    painter = FakeWebUI(done=anyio.Event())
    async with scene(tmp_path, painter, "sdwebui") as played:
        await played.image("a red cat", "drawing · step 3 of 20", "1 x 1", is_over=False)
        await played.pilot.press("escape")
        await played.until("Stopped", test=lambda: is_ready(played.chat), within_s=SOON_S)
        assert "1 x 1" not in played.screen_text
        assert painter.interrupted == 1
        assert played.sizes == []
        assert painter.done is not None
        painter.done.set()
        await played.image("a blue cat", "3 x 2")
        assert played.sizes == [(3, 2)]


async def test_a_drawing_waits_for_no_answer_and_a_prompt_waits_for_a_drawing(
    tmp_path: Path,
) -> None:
    painter = FakeWebUI(done=anyio.Event())
    async with scene(tmp_path, painter, "sdwebui") as played:
        await played.image("a red cat", "drawing", is_over=False)
        await played.send("hello")
        await played.until("1 queued", within_s=SOON_S)
        await played.image("another", "An answer is still in progress.", is_over=False)
        assert painter.done is not None
        painter.done.set()
        await played.until(test=lambda: len(played.messages) == 4 and is_ready(played.chat))
        assert [message.text for message in played.messages[::2]] == ["a red cat", "hello"]


async def test_the_only_model_that_draws_is_found_and_a_chat_without_one_says_what_helps(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, FakeSdCpp(), "sdcpp", default=False) as played:
        await played.image("a red cat", "3 x 2")
        assert played.sizes == [(3, 2)]
        assert played.messages[-1].metadata == {"drawn_by": "sd://painter"}
        (tmp_path / "cat.png").write_bytes(png(6, 5))
        await played.send(f"/attach {tmp_path / 'cat.png'}")
        await played.until("Image #1", within_s=SOON_S)
        await played.image("make it red", "4 x 2")
        assert played.sizes == [(3, 2), (4, 2)], "what is attached is edited"

    async with scene(tmp_path, FakeOpenAI(), "generic", default=False) as played:
        assert played.runtime.task_defaults.models("picture") == ()
        await played.image("a red cat", "No picture model found.", "`picture` below [defaults]")
        assert played.messages == []
