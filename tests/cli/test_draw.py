"""`ollm draw`: a file for each picture, and none of a failure."""

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.test_sound import files
from tests.cli.test_sound import run as run
from tests.cli.test_sound import server as server
from tests.support.http_server import Server
from tests.support.picture_bytes import png

MODEL = ("--model", "painter")


def test_a_text_becomes_a_picture_or_several(run: Run, server: Server) -> None:
    code, out, err = run("draw", "a", "cat", "-o", "cat.png", *MODEL)
    assert (code, out) == (0, "")
    assert err.startswith("ollm: Saved cat.png (")
    assert Path("cat.png").read_bytes() == png(3, 2)
    several = ("--count", "2", "--seed", "5", "--size", "16x12", "--json")
    code, out, err = run("draw", "a dog", "-o", "dog.jpg", *several, *MODEL)
    assert code == 0
    shown = [json.loads(line) for line in out.splitlines()]
    assert [line["path"] for line in shown] == ["dog-1.jpg", "dog-2.jpg"]
    assert (shown[0]["mime_type"], shown[0]["width"], shown[0]["height"]) == ("image/png", 16, 12)
    assert "The server sent image/png" in err
    asked = [one.json() for one in server.received if one.path == "/v1/images/generations"]
    assert [body.get("seed") for body in asked] == [None, 5, 6]
    assert files() == ["cat.png", "dog-1.jpg", "dog-2.jpg"]


def test_what_makes_no_sense_or_fails_leaves_no_file(run: Run, server: Server) -> None:
    Path("dog-2.png").write_text("mine")
    ask = ("draw", "a dog", "-o", "dog.png", *MODEL)
    for more, words in (
        (("--count", "2"), "dog-2.png exists already."),
        (("--count", "0"), "--count takes a number from 1 to 20."),
        (("--count", "99"), "--count takes a number from 1 to 20."),
        (("--size", "large"), "--size takes width and height"),
        (("--size", "0x0"), "--size takes width and height"),
    ):
        code, out, err = run(*ask, *more)
        assert (code, out) == (2, "")
        assert words in err
    assert run("draw", "a dog", *MODEL)[0] == 2
    assert server.received == []
    code, _, err = run("draw", "a dog", "-o", "dog.png", "--model", "voice")
    assert code == 1
    assert "Not a picture model" in err
    code, _, err = run("draw", "http://127.0.0.1:9/cat.png", "-o", "dog.png", *MODEL)
    assert code == 1
    assert "another server" in err
    assert files() == ["dog-2.png"]
