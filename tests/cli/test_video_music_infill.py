"""`ollm video`, `ollm music` and `ollm infill`: whole files, and text as it was written."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ollm_tui.cli import main
from tests.cli.conftest import Run
from tests.cli.test_sound import files
from tests.cli.test_sound import run as run
from tests.cli.test_sound import server as server
from tests.support.fake_backends import FakeLocalAI
from tests.support.fake_openai import parts_of
from tests.support.fake_videos import middle
from tests.support.http_server import Server, in_thread
from tests.support.picture_bytes import png
from tests.support.video_bytes import mp4

FILM = ("--model", "film")
TINY = ("--model", "tiny")


def test_a_text_becomes_a_video_that_begins_with_a_picture(run: Run, server: Server) -> None:
    Path("cat.png").write_bytes(png(6, 5))
    length = ("--seconds", "4", "--fps", "8", "--size", "64x48", "--seed", "3")
    code, out, err = run("video", "a", "cat", "-o", "cat.mp4", "--image", "cat.png", *length, *FILM)
    assert (code, out) == (0, "")
    assert err.startswith("ollm: Saved cat.mp4 (")
    assert err.endswith(", 2.0 s).\n")
    assert Path("cat.mp4").read_bytes() == mp4()
    (asked,) = (one for one in server.received if one.method == "POST")
    sent = {name: data for name, _, data in parts_of(asked)}
    assert sent["input_reference"] == png(6, 5)
    assert (sent["seconds"], sent["fps"], sent["seed"]) == (b"4", b"8", b"3")
    code, out, err = run("video", "a dog", "-o", "dog.webm", "--frames", "9", "--json", *FILM)
    assert code == 0
    shown = json.loads(out)
    assert (shown["type"], shown["path"], shown["bytes"]) == ("file", "dog.webm", len(mp4()))
    assert (shown["mime_type"], shown["duration_s"]) == ("video/mp4", 2.0)
    assert (shown["width"], shown["height"], shown["model"]) == (64, 48, "film")
    assert "The server sent video/mp4" in err
    assert files() == ["cat.mp4", "cat.png", "dog.webm"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("video", "a dog", *FILM), 2, "-o FILE"),
        (("video", "a dog", "-o", "a.mp4", "--seconds", "0", *FILM), 2, "--seconds takes a number"),
        (("video", "a dog", "-o", "a.mp4", "--fps", "999", *FILM), 2, "--fps takes a number"),
        (("video", "a dog", "-o", "a.mp4", "--frames", "0", *FILM), 2, "--frames takes a number"),
        (("video", "a dog", "-o", "a.mp4", "--size", "big", *FILM), 2, "--size takes width"),
        (("video", "a dog", "-o", "a.mp4", "--image", "x.png", *FILM), 2, "x.png cannot be read"),
        (("video", "a dog", "-o", "a.mp4", *TINY), 1, "Not a video model"),
        (("music", "jazz", "-o", "a.wav", "--seconds", "0", *TINY), 2, "--seconds takes a number"),
        (("music", "jazz", "-o", "a.wav", *TINY), 1, "offers no music"),
        (("infill", "--max-tokens", "0", "a.py", *TINY), 2, "--max-tokens takes a number"),
        (("infill", "none.py", *TINY), 2, "none.py cannot be read"),
        (("infill", "--prefix", "p.py", "a.py", *TINY), 2, "take the place of FILE"),
    ],
)
def test_what_makes_no_sense_or_fails_leaves_no_file(
    run: Run, arguments: tuple[str, ...], code: int, words: str
) -> None:
    shown, out, err = run(*arguments)
    assert (shown, out) == (code, "")
    assert words in err
    assert files() == []


@pytest.fixture
def localai() -> Iterator[Server]:
    with in_thread(FakeLocalAI()) as running:
        yield running


def test_localai_makes_music_into_a_file(
    localai: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "song.mp3"
    ask = ["music", "slow", "jazz", "-o", str(path), "--seconds", "9", "--model", "band"]
    assert main([*ask, "--provider", "localai", "--host", localai.url]) == 0
    assert path.read_bytes() == b"RIFF\0\0\0\0WAVEslow jazz:9"
    assert "The server sent audio/wav" in capsys.readouterr().err


def test_a_gap_is_filled_as_the_model_wrote_it(run: Run) -> None:
    Path("a.py").write_text("def f(x):<FILL>    return y\n")
    Path("p.py").write_text("def f(x):")
    Path("s.py").write_text("    return y\n")
    text = middle("def f(x):", "    return y\n")
    assert run("infill", "a.py", *TINY) == (0, text, "")
    assert run("infill", "--prefix", "p.py", "--suffix", "s.py", *TINY) == (0, text, "")
    Path("b.py").write_text("def f(x):@@    return y\n")
    code, out, _ = run("infill", "b.py", "--mark", "@@", "--json", *TINY)
    assert code == 0
    assert json.loads(out) == {
        "type": "infill",
        "text": text,
        "finish_reason": "stop",
        "provider": "openai-compatible",
        "model": "tiny",
    }
    for content, words in (("no mark", "no gap"), ("<FILL> and <FILL>", "2 gaps")):
        Path("a.py").write_text(content)
        code, out, err = run("infill", "a.py", *TINY)
        assert (code, out) == (2, "")
        assert words in err
