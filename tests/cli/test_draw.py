"""`ollm draw`: a file for each picture, and none of a failure."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_sound import files
from tests.cli.test_sound import run as run
from tests.cli.test_sound import server as server
from tests.support.fake_openai import parts_of
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


def test_a_picture_is_edited_where_a_mask_says(run: Run, server: Server) -> None:
    Path("cat.png").write_bytes(png(6, 5))
    Path("note.txt").write_text("meow")
    edit = ("draw", "make it red", "--edit", "cat.png", "-o", "red.png", *MODEL)
    assert run(*edit, "--mask", "cat.png")[0] == 0
    (asked,) = (one for one in server.received if one.path == "/v1/images/edits")
    sent = {name: data for name, _, data in parts_of(asked)}
    assert (sent["image"], sent["mask"]) == (png(6, 5), png(6, 5))
    assert Path("red.png").read_bytes() == png(5, 2)
    for more, words in (
        (("--mask", "cat.png"), "--mask takes a picture to edit: --edit FILE."),
        (("--edit", "note.txt"), "note.txt is no picture that can be read."),
        (("--edit", "none.png"), "none.png cannot be read"),
        (("--edit", "cat.png", "--mask", "note.txt"), "note.txt is no picture that can be read."),
    ):
        code, _, err = run("draw", "red", "-o", "new.png", *more, *MODEL)
        assert code == 2, more
        assert words in err
    assert files() == ["cat.png", "note.txt", "red.png"]


def test_a_name_that_promises_another_kind_is_mentioned(run: Run) -> None:
    for name, is_mentioned in (("a.webp", True), ("b.xyz", True), ("c", False), ("d.PNG", False)):
        code, _, err = run("draw", "a cat", "-o", name, *MODEL)
        assert code == 0
        assert ("the name of the file says something else" in err) is is_mentioned, name


def test_a_file_is_on_the_disk_before_it_gets_its_name(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, link = os.fsync, os.link

    def noted(name: str, call: Callable[..., None]) -> Callable[..., None]:
        def noting(*arguments: object) -> None:
            done.append(name)
            call(*arguments)

        return noting

    monkeypatch.setattr(os, "fsync", noted("fsync", fsync))
    monkeypatch.setattr(os, "link", noted("link", link))
    assert run("draw", "a cat", "-o", "cat.png", *MODEL)[0] == 0
    assert done[-3:] == ["fsync", "link", "fsync"]  # the folder at the end
