"""`/video` and `/music` in the app, with a server: made, stopped, saved, and there again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.protocol.blocks import AudioContent, VideoContent
from tests.support.fake_backends import FakeLocalAI
from tests.support.fake_drawing import FakeSdCpp
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Handler, serve
from tests.support.video_bytes import webm
from tests.tui.chat.test_drawing import CHAT, SOON_S, Scene
from tests.tui.screens import is_ready, staged_for_real


@asynccontextmanager
async def scene(
    folder: Path, maker: Handler, backend: str, default: str, *, goes_on: bool = False
) -> AsyncIterator[Scene]:
    async with serve(maker) as server, serve(FakeOpenAI()) as chat:
        (folder / "config").mkdir(exist_ok=True)
        lines = ["[providers.sd]", 'kind = "openai-compatible"', f'backend = "{backend}"']
        lines += [f'base_url = "{server.url}"', "[defaults]", default]
        (folder / "config" / "config.toml").write_text("\n".join(lines))
        environ = {"OPENAI_COMPATIBLE_HOST": chat.url}
        flags = Flags(model=CHAT.model, goes_on=goes_on)
        async with staged_for_real(folder, environ, flags) as stage:
            yield Scene(stage.app, stage.pilot, stage.runtime)


async def typed(played: Scene, text: str, *shown: str) -> None:
    await played.send(text)
    await played.until(*shown, test=lambda: is_ready(played.chat), within_s=SOON_S)


async def test_a_video_is_made_saved_opened_and_there_again_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = FakeSdCpp(modes=("vid_gen",))
    default = 'video = "sd://painter"'
    path = tmp_path / "cat.webm"
    monkeypatch.setenv("SSH_TTY", "/dev/pts/0")
    async with scene(tmp_path, maker, "sdcpp", default) as played:
        words = "Video: 2 s, 64 x 48, video/webm"
        await typed(played, "/video a cat walks --frames 16 --fps 8", words, "/save writes")
        assert "Making a video with sd://painter." in played.screen_text
        await typed(played, f"/video save {path}", "Saved ")
        await typed(played, f"/save {path}", "already.")
        await typed(played, "/open", "Files cannot be opened from a remote session.")
        await typed(played, f"/video save {tmp_path / 'cat.mp4'}", "End it with .webm")
        (video,) = played.messages[-1].content
        kept = list(played.messages)
    assert path.read_bytes() == webm()
    assert video == VideoContent(data=webm(), mime_type="video/webm", duration_s=2.0)
    async with scene(tmp_path, maker, "sdcpp", default, goes_on=True) as played:
        assert played.messages == kept
        assert words in played.screen_text


async def test_esc_cancels_a_video_that_waits(tmp_path: Path) -> None:
    maker = FakeSdCpp(modes=("vid_gen",), states=("queued",))
    async with scene(tmp_path, maker, "sdcpp", 'video = "sd://painter"') as played:
        await played.send("/video a cat walks")
        await played.until("making", test=lambda: bool(maker.jobs), within_s=SOON_S)
        await played.pilot.press("escape")
        await played.until("Stopped", test=lambda: is_ready(played.chat), within_s=SOON_S)
        await played.until(test=lambda: bool(maker.cancelled), within_s=SOON_S)


async def test_music_is_made_and_saved_and_offered_only_if_a_model_can(tmp_path: Path) -> None:
    path = tmp_path / "song.wav"
    async with scene(tmp_path, FakeLocalAI(), "localai", 'music = "sd://band"') as played:
        assert played.runtime.task_defaults.models("video") == ()
        await typed(played, "/music slow jazz --seconds 9", "Sound: ", "/save writes")
        await typed(played, f"/music save {path}", "Saved ")
        (sound,) = played.messages[-1].content
        assert isinstance(sound, AudioContent)
        assert path.read_bytes() == sound.data == b"RIFF\0\0\0\0WAVEslow jazz:9"
        assert played.runtime.task_defaults.models("music") == ("sd://band",)
