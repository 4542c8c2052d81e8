"""Speech in the real program: dictated from a file device, asked, and read aloud."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import CONFIG, Start, ready
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Received, Reply, in_thread
from tests.support.pty_session import wait_until
from tests.support.sounds import file_device, file_output, played, wav

pytestmark = pytest.mark.pty
DICTATED = "echo One is read. Two is read."


class HearingOpenAI(FakeOpenAI):
    """Writes down the same words, whatever it gets."""

    async def answer(self, request: Received, reply: Reply) -> object:
        if request.path == "/v1/audio/transcriptions":
            return {"text": f" {DICTATED}\n"}
        return await super().answer(request, reply)


def settings(home: Path, url: str, record: list[str]) -> None:
    lines = (
        CONFIG,
        'model = "hearing://tiny"',
        "[providers.hearing]",
        'kind = "openai-compatible"',
        f'base_url = "{url}/v1"',
        "[defaults]",
        'speech = "hearing://voice"',
        'transcription = "hearing://ears"',
        "[sound]",
        f"record_command = {json.dumps(record)}",
        f"play_command = {json.dumps(file_output(home / 'played'))}",
    )
    table = "\n".join([lines[1], CONFIG, *lines[2:]])
    (home / "config" / "ollm" / "config.toml").write_text(table)


def test_dictate_ask_and_have_the_answer_read(start: Start, home: Path) -> None:
    (home / "device.wav").write_bytes(wav())
    with in_thread(HearingOpenAI()) as server:
        settings(home, server.url, file_device(home / "device.wav", goes_on=True))
        with start(home) as session:
            ready(session)
            session.write("/speak on\r")
            session.wait_for("Answers are read aloud by", timeout=20)
            session.write(b"\x1b[20~")  # F9
            session.wait_for("Recording 0:0", timeout=20)
            session.wait_for("to hearing://ears")
            session.write("\r")
            session.wait_for(DICTATED, timeout=20)
            session.write("\r")
            both = [b"RIFFOne is read.", b"RIFFTwo is read."]
            assert wait_until(lambda: played(home / "played") == both), played(home / "played")
            sent = [one for one in server.received if one.path == "/v1/audio/transcriptions"]
            assert [wav() in one.body for one in sent] == [True]
