"""`ollm -p --image`: pictures go along as pictures, and what is no picture is a wrong usage."""

import base64
import json
import os
from pathlib import Path

import pytest

from ollm_tui.decode.json_fields import as_object, objects
from tests.cli.conftest import Ollm
from tests.cli.fake_ollama import FakeOllama
from tests.support.fake_anthropic import FakeAnthropic
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Handler, in_thread
from tests.support.picture_bytes import bmp, jpeg, png
from tests.support.seeds import sampled
from tests.support.sounds import wav


@pytest.fixture
def seeing(fake: FakeOllama) -> FakeOllama:
    fake.capabilities = ["completion", "vision"]
    return fake


def local(fake: FakeOllama) -> list[str]:
    return ["--host", fake.url, "--model", "local://tiny:1b"]


def test_pictures_reach_the_model_in_their_order(
    ollm: Ollm, seeing: FakeOllama, tmp_path: Path
) -> None:
    (tmp_path / "one.png").write_bytes(png())
    (tmp_path / "two pictures.txt").write_bytes(jpeg())
    both = ["--image", "one.png", "--image", f"file://{tmp_path}/two%20pictures.txt"]
    done = ollm(*local(seeing), "-p", "Compare them.", *both)
    assert (done.stdout, done.stderr, done.returncode) == ("Hello there.\n", "", 0)
    message = seeing.requests[-1]["messages"][-1]
    assert message["content"] == "Compare them.\n\none.png:\ntwo pictures.txt:\n"
    assert [base64.b64decode(each) for each in message["images"]] == [png(), jpeg()]


def test_a_model_of_which_nothing_is_known_gets_the_picture(
    ollm: Ollm, fake: FakeOllama, tmp_path: Path
) -> None:
    fake.capabilities = None
    (tmp_path / "one.png").write_bytes(png())
    assert ollm(*local(fake), "-p", "What?", "--image", "one.png").returncode == 0
    assert len(fake.requests[-1]["messages"][-1]["images"]) == 1


def test_a_model_that_reads_only_text_gets_none_and_that_is_reported(
    ollm: Ollm, fake: FakeOllama, tmp_path: Path
) -> None:
    (tmp_path / "one.png").write_bytes(png())
    done = ollm(*local(fake), "-p", "What?", "--image", "one.png")
    assert (done.stdout, done.returncode) == ("Hello there.\n", 0)
    assert done.stderr == "ollm: tiny:1b accepts text only: 1 picture of this chat is not sent.\n"
    assert "images" not in fake.requests[-1]["messages"][-1]
    assert "[image" not in json.dumps(fake.requests[-1]).casefold()
    assert "one.png" not in json.dumps(fake.requests[-1])
    lines = ollm(*local(fake), "--json", "-p", "What?", "--image", "one.png").stdout.splitlines()
    left_out = {"type": "pictures_left_out", "count": 1, "model": "tiny:1b", "turn": 1}
    left_out |= {"kinds": ["image"]}
    assert json.loads(lines[0]) == left_out


NOT_SENT = {
    "none.png": "none.png does not exist.",
    "pipe": "pipe is not a file",
    "\x1b[31m.png": "⟦U+001B⟧[31m.png does not exist.",
    "a.bmp": "a.bmp is a BMP file.",
    "a.txt": "a.txt is not a picture.",
    "large.png": "20 MB is the limit.",
    ".": "is a folder.",
    "": "--image needs the path of a file.",
}


@pytest.mark.parametrize("name", sampled(NOT_SENT, 3))
def test_what_cannot_be_sent_is_a_wrong_usage_in_one_sentence(
    ollm: Ollm, seeing: FakeOllama, tmp_path: Path, name: str
) -> None:
    (tmp_path / "a.bmp").write_bytes(bmp())
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "good.png").write_bytes(png())
    (tmp_path / "large.png").write_bytes(png())
    os.truncate(tmp_path / "large.png", 20_000_001)
    os.mkfifo(tmp_path / "pipe")
    done = ollm(*local(seeing), "-p", "What?", "--image", "good.png", "--image", name)
    assert (done.stdout, done.returncode) == ("", 2)
    assert NOT_SENT[name] in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert seeing.requests == []


def test_too_many_pictures_and_pictures_without_a_prompt_are_refused(
    ollm: Ollm, seeing: FakeOllama, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(png())
    for arguments, shown in {
        ("-p", "x", *["--image", "a.png"] * 21): "21 pictures are too many; 20 is the limit.",
        ("--image", "a.png"): "--image needs a prompt.",
        ("--image", "a.png", "models", "list"): "`models` does not take --image.",
    }.items():
        done = ollm(*local(seeing), *arguments)
        assert (done.returncode, shown in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("handler", "provider", "where"),
    [
        (FakeOpenAI("k"), "openai", ("image_url", "url")),
        (FakeOpenAI("k"), "openai-compatible", ("image_url", "url")),
        (FakeAnthropic("k"), "anthropic", ("source", "data")),
    ],
)
def test_other_servers_get_the_same_picture_in_their_own_words(
    handler: Handler, provider: str, where: tuple[str, str], ollm: Ollm, tmp_path: Path
) -> None:
    (tmp_path / "one.png").write_bytes(png())
    name = provider.upper().replace("-", "_")
    with in_thread(handler) as server:
        url = {f"{name}_BASE_URL": server.url, "OPENAI_COMPATIBLE_HOST": server.url}
        asked = ["--model", f"{provider}://tiny", "-p", "hello", "--image", "one.png"]
        done = ollm(*asked, **url, **{f"{name}_API_KEY": "k"})
    assert (done.returncode, done.stderr) == (0, "")
    body = json.loads(server.received[-1].body)
    [message] = objects(body["messages"])
    _text, file, picture = objects(message["content"])
    assert file["text"] == "\n\none.png:\n"
    sent = as_object(picture[where[0]])[where[1]]
    assert isinstance(sent, str)
    assert base64.b64decode(sent.rpartition(",")[2]) == png()


def test_sound_and_text_files_are_attached_as_what_they_are(
    ollm: Ollm, fake: FakeOllama, tmp_path: Path
) -> None:
    fake.capabilities = ["completion", "audio"]
    (tmp_path / "a.wav").write_bytes(wav())
    (tmp_path / "notes.md").write_text("# Notes")
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")
    both = ("--attach", "a.wav", "--attach", "notes.md", "--attach", "a.pdf")
    done = ollm(*local(fake), "-p", "What?", *both)
    left_out = "ollm: tiny:1b does not accept PDF files: 1 PDF file of this chat is not sent.\n"
    assert (done.stdout, done.stderr, done.returncode) == ("Hello there.\n", left_out, 0)
    message = fake.requests[-1]["messages"][-1]
    assert message["content"] == "What?\n\nnotes.md:\n```\n# Notes\n```\na.wav:\n"
    assert [base64.b64decode(each) for each in message["images"]] == [wav()]
