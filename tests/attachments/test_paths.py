"""What terminals paste when a file is dropped on them, and what people type."""

import shlex
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.attachments.paths import as_path, may_be_files, readings

NAMES = st.text(st.characters(blacklist_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1).map(
    lambda name: name.replace("/", "-")
)


def first(text: str) -> tuple[str, ...] | None:
    found = next(readings(text), None)
    return None if found is None else tuple(map(str, found))


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        ("/a/shot.png", ["/a/shot.png"]),
        ("/a/my shot.png ", ["/a/my shot.png"]),
        (r"/a/my\ shot\ \(1\).png ", ["/a/my shot (1).png"]),
        ("'/a/my shot.png' ", ["/a/my shot.png"]),
        (r"'/a/it'\''s.png'", ["/a/it's.png"]),
        ('"/a/my shot.png"', ["/a/my shot.png"]),
        ("file:///a/my%20shot.png", ["/a/my shot.png"]),
        ("file://localhost/a/b.png", ["/a/b.png"]),
        ("/a/1.png\n/a/2.png\n", ["/a/1.png", "/a/2.png"]),
        ("/a/1.png '/a/2 b.png'", ["/a/1.png", "/a/2 b.png"]),
        ("file:///a/1.png\r\nfile:///a/2.png\r\n", ["/a/1.png", "/a/2.png"]),
    ],
)
def test_a_dropped_file_is_among_the_readings(pasted: str, meant: list[str]) -> None:
    assert tuple(map(Path, meant)) in list(readings(pasted))
    assert may_be_files(pasted)


@pytest.mark.parametrize(
    "text",
    ["", "hello", "see /a/shot.png for it", "a.png\0", "\n" * 50 + "x", "x" * 100_000 + ".png"],
)
def test_other_pastes_are_text(text: str) -> None:
    assert not (may_be_files(text) and text.startswith("/"))


def test_what_is_no_path_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert as_path("~/a.png") == Path("/home/me/a.png")
    for word in ("", "a\0b", "x" * 5000, "\udfff\ud800x"):
        assert as_path(word) is None
    # A server's file is nobody's here: it stays a name that no file has.
    assert as_path("file://elsewhere/a.png") == Path("file:/elsewhere/a.png")


@given(name=NAMES)
def test_any_name_is_found_again_however_a_terminal_writes_it(name: str) -> None:
    path = Path("/folder") / f"x{name}.png"
    for written in (shlex.quote(str(path)), f"file://{quote(str(path))}"):
        assert (path,) in list(readings(written))


@given(text=st.text())
def test_nothing_that_is_pasted_fails(text: str) -> None:
    may_be_files(text)
    assert all(paths for paths in readings(text))
