"""Which models speak and transcribe in the app, what they are sent, and what is said of none."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.runtime.compose import load_runtime
from ollm_tui.runtime.media.voice import Voice
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Server, in_thread

DEFAULTS = '[defaults]\nspeech = "work://voice"\ntranscription = "work://ears"\n'
SOUND = '[sound]\nvoice = "nova"\nrecord_command = "arecord -q -"\nlongest_recording_s = 7\n'


@pytest.fixture
def server() -> Iterator[Server]:
    with in_thread(FakeOpenAI()) as running:
        yield running


@asynccontextmanager
async def opened(folder: Path, server: Server, settings: str) -> AsyncIterator[Voice]:
    provider = f'[providers.work]\nkind = "openai-compatible"\nbase_url = "{server.url}/v1"\n'
    paths = AppPaths(*(folder / kind for kind in ("config", "data", "state", "cache")))
    paths.config_file.parent.mkdir(parents=True)
    paths.config_file.write_text(provider + settings)
    async with load_runtime(Flags(), {}, paths)() as runtime:
        yield Voice(runtime, {"SSH_TTY": "/dev/pts/1"})


async def test_a_text_becomes_sound_and_sound_a_text(tmp_path: Path, server: Server) -> None:
    async with opened(tmp_path, server, DEFAULTS + SOUND) as voice:
        assert await voice.find_model("speech") == "work://voice"
        sound = await voice.speak("Good\x1b morning.")
        assert (server.received[-1].json()["voice"], sound[:4]) == ("nova", b"RIFF")
        assert await voice.transcribe(b"RIFF Good\n morning. ") == "Good morning."


async def test_an_error_of_the_server_is_passed_on(tmp_path: Path, server: Server) -> None:
    settings = DEFAULTS.replace("voice", "mute").replace("ears", "deaf")
    async with opened(tmp_path, server, settings) as voice:
        for work in (voice.speak("Hi."), voice.transcribe(b"RIFF")):
            with pytest.raises(AIError) as caught:
                await work
            assert caught.value.known_code is ErrorCode.BAD_REQUEST


@pytest.mark.parametrize("task", ["speech", "transcription"])
async def test_without_a_model_the_setting_is_named(
    tmp_path: Path, server: Server, task: str
) -> None:
    async with opened(tmp_path, server, "") as voice:
        with pytest.raises(AIError, match=f"No {task} model found") as caught:
            await voice.find_model("speech" if task == "speech" else "transcription")
        hint = caught.value.hint or ""
        assert hint.startswith(f"`{task}` below [defaults] in the settings names one. ")
        assert "--model" not in hint


async def test_the_devices_are_as_the_settings_say(tmp_path: Path, server: Server) -> None:
    async with opened(tmp_path, server, SOUND) as voice:
        recorder = voice.recorder()
        assert (recorder.program.command, recorder.max_seconds) == (["arecord", "-q", "-"], 7)
        with pytest.raises(AIError, match="no sound output in an SSH session"):
            voice.player()
