"""The app starts with a pipe in the place of every file that it keeps, and says so."""

import os
import statistics
import time
from pathlib import Path

import pytest

from tests.config.test_broken_files import BROKEN
from tests.e2e.conftest import Start, ask, assert_left_sane

pytestmark = pytest.mark.pty

FILES = (
    "config/ollm/config.toml",
    "config/ollm/themes/mine.toml",
    "state/ollm/choices.json",
    "state/ollm/prompts.jsonl",
    "state/ollm/ollm.log",
    "data/ollm/chats.db",
    "data/ollm/models/model.gguf",
    "data/ollm/models/model.gguf.origin.json",
    "cache/huggingface/token",
)


@pytest.mark.slow
def test_the_app_starts_and_leaves_with_pipes_in_place_of_its_files(
    start: Start, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    for name in FILES:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)
    with start(home, "--theme", "mine", size=(100, 40), is_new=True) as session:
        session.wait_for("it is a pipe", timeout=20)
        session.wait_for("The theme mine.toml cannot be used", timeout=20)
        session.wait_for("Not saved", timeout=20)
        session.write(b"\x1b[A")  # the earlier prompts
        ask(session, "/quit")
        assert_left_sane(session, 0)


def test_the_app_starts_with_settings_of_which_every_line_is_wrong(
    start: Start, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    settings = home / "config" / "ollm" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        'theme = "dsk"\n[keymap]\n"chat.models" = "ctrl+o"\n"chat.palette" = "ctlr+p"\n'
        '[tools]\nroot = "~/notes"\nenabled = ["read_fil"]\n[options]\ntemperature = 300\n'
    )
    with start(home, size=(100, 50)) as session:
        for message in (
            "The theme dsk cannot be used",
            "Did you mean dusk?",
            "gives Ctrl+O to both",
        ):
            session.wait_for(message, timeout=20)
        for message in ("ctlr+p", "`tools.root`", "'read_fil'", "`options.temperature`"):
            session.wait_for(message, timeout=20)
        session.write(b"\x10")  # Ctrl+P still is the palette
        session.wait_for("Type to filter", timeout=10)
        session.write(b"\x1b")
        ask(session, "/quit")
        assert_left_sane(session, 0)


@pytest.mark.slow
def test_the_app_is_usable_with_every_broken_settings_file(start: Start, tmp_path: Path) -> None:
    times = []
    for number, (text, _line, _sentence) in enumerate(BROKEN.values()):
        home = tmp_path / str(number)
        settings = home / "config" / "ollm" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_bytes(text if isinstance(text, bytes) else text.encode())
        written = settings.read_bytes()
        begun = time.monotonic()
        with start(home, size=(100, 40)) as session:
            session.wait_for("F1 help", timeout=20)
            times.append(time.monotonic() - begun)
            session.wait_for("ready", timeout=20)
            ask(session, "/quit")
            assert_left_sane(session, 0)
        assert settings.read_bytes() == written
    assert len(times) >= 30
    assert statistics.median(times) < 1
