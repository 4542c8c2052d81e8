"""A person goes through every modality in one session of the real program, at 80 x 24."""

from pathlib import Path

import pytest

from tests.e2e.conftest import Start, ready
from tests.e2e.test_speech import DICTATED, HearingOpenAI, settings
from tests.support.fake_drawing import FakeWebUI
from tests.support.http_server import in_thread
from tests.support.picture_bytes import png
from tests.support.pty_session import wait_until
from tests.support.sounds import file_device, played, wav

pytestmark = pytest.mark.pty
DRAWING = """
[providers.sd]
kind = "openai-compatible"
backend = "sdwebui"
base_url = "{url}"
"""


def test_dictate_ask_listen_draw_edit_and_save(start: Start, home: Path, tmp_path: Path) -> None:
    (home / "device.wav").write_bytes(wav())
    (tmp_path / "head.png").write_bytes(png(16, 16))
    painter = FakeWebUI()
    with in_thread(HearingOpenAI()) as server, in_thread(painter) as drawing:
        settings(home, server.url, file_device(home / "device.wav", goes_on=True))
        file = home / "config" / "ollm" / "config.toml"
        file.write_text("# mine\n" + file.read_text() + DRAWING.format(url=drawing.url))
        with start(home) as session:
            ready(session)
            session.write("/speak on\r")
            session.wait_for("Answers are read aloud by", timeout=20)
            session.write(b"\x1b[20~")  # F9
            session.wait_for("Recording 0:0", timeout=20)
            session.write("\r")
            session.wait_for(DICTATED, timeout=20)
            session.write("\r")
            assert wait_until(lambda: len(played(home / "played")) == 2)

            session.write(b"\x0c")  # Ctrl+L
            session.wait_for("For other tasks", timeout=20)
            session.write("painter")
            session.wait_for("drawing")
            session.write("\r")
            session.wait_for("Now using painter for drawing.", timeout=20)
            text = file.read_text()
            assert ("# mine" in text, 'picture = "sd://painter"' in text) == (True, True)

            session.write("/ima")
            session.wait_for("With sd://painter: draw a picture", timeout=20)
            session.write("ge a red cat --size 16x16 --seed 3\r")
            session.wait_for("16 x 16", timeout=20)
            ready(session)
            session.write(f"/image edit a hat --mask {tmp_path / 'head.png'}\r")
            session.wait_for("18 x 16", timeout=20)
            ready(session)
            session.write("/image save cat.png\r")
            session.wait_for("Saved cat.png.", timeout=20)
            assert (tmp_path / "cat.png").read_bytes() == png(18, 16)
            session.write(b"\x03\x03")
            assert session.exit_status() == 0
            assert session.processes() == []
    drawn = [one.json() for one in drawing.received if one.path.endswith("2img")]
    assert [("mask" in one, one["prompt"]) for one in drawn] == [
        (False, "a red cat"),
        (True, "a hat"),
    ]
