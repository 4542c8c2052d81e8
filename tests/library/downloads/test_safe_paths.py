"""Names from the network become files inside the folder or no files at all (row G3)."""

import os
import unicodedata
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ollm_tui.library.downloads.safe_paths import (
    MAX_NAME_BYTES,
    checked_path,
    refuse_collisions,
)
from ollm_tui.protocol.errors import AIError, ErrorCode

REFUSED = (
    "..",
    ".",
    "",
    "/",
    "//",
    "../x.gguf",
    "../../../../etc/passwd",
    "a/../../x.gguf",
    "a/../b.gguf",
    "a/./b.gguf",
    "a//b.gguf",
    "/etc/passwd",
    "//server/share/x.gguf",
    "a/",
    "a\\b.gguf",
    "..\\x.gguf",
    "\\\\server\\share\\x.gguf",
    "\\\\?\\C:\\x.gguf",
    "\\x.gguf",
    "C:x.gguf",
    "C:\\x.gguf",
    "C:/x.gguf",
    "x.gguf:stream",
    "x\0.gguf",
    "\0",
    "x.gguf\0.txt",
    "x\n.gguf",
    "x\r.gguf",
    "x\x1b[2J.gguf",
    "x\x7f.gguf",
    "x\x85.gguf",
    "CON",
    "con.gguf",
    "Con .gguf",
    "a/NUL.gguf",
    "nul",
    "AUX.tar.gguf",
    "PRN.gguf",
    "COM1.gguf",
    "lpt9.gguf",
    "COM¹.gguf",
    "CONIN$",
    "conout$.gguf",
    "x" * 300,
    "ü" * 150,
    "x" * 250 + ".gguf",
    "a/" * 20 + "x.gguf",
    "/".join(["a" * 200] * 8),
    "x.gguf.part",
    "x.gguf.PART",
    "x.gguf.part.json",
    "x.gguf.part.lock",
    "x.gguf.part.json.new",
    "x.gguf.sha256",
    "x.gguf.",
    "x.gguf ",
    "x.gguf. .",
    " x.gguf",
    ".x.gguf",
    "~/x.gguf",
    "PROGRA~1.gguf",
    "x\u202egguf.exe",
    "x\u200b.gguf",
    "x\u2066.gguf",
    "x\ufeff.gguf",
    "x\u3164.gguf",
    "x\u00a0.gguf",
    "x\u00ad.gguf",
    "x\U000e0041.gguf",
    "u\u0308.gguf",
    "x\ud800.gguf",
    "x\ue000.gguf",
    "a<b.gguf",
    'a"b.gguf',
    "a|b.gguf",
    "a?b.gguf",
    "a*b.gguf",
    "$HOME.gguf",
    "%41.gguf",
    "`id`.gguf",
    "a;b.gguf",
    "😀.gguf",
)
GOOD = (
    "Qwen2.5-0.5B-Instruct-Q4_K_M.gguf",
    "Q4_K_M/model-00001-of-00003.gguf",
    "ggml-model (copy) [1].gguf",
    "модель.gguf",
    "模型-ü.gguf",
    "console.gguf",
    "com10.gguf",
    "x.partial",
    "part",
    "a+b=c@d,e#f!g&h'.gguf",
    "x" * MAX_NAME_BYTES,
)


def census(folder: Path) -> dict[str, tuple[int, int]]:
    """Give all that lies below a folder, with size and time of the last change."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found[os.fsdecode(bytes(path))] = (status.st_size, status.st_mtime_ns)
    return found


def test_there_are_as_many_as_promised() -> None:
    assert len(REFUSED) >= 60


def written(root: Path, name: str) -> None:
    """Do what a careless download would do with a name that was let through."""
    place = checked_path(root, name)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"hostile")


def test_refused_names_write_nothing_anywhere(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "models"
    root.mkdir(parents=True)
    before = census(tmp_path)
    for name in REFUSED:
        with pytest.raises(AIError, match="refused name ") as caught:
            written(root, name)
        assert caught.value.code == ErrorCode.BAD_REQUEST
        shown = str(caught.value.details["refused_name"])
        assert all(sign.isprintable() for sign in shown), name
        assert len(caught.value.message) < 400
    assert census(tmp_path) == before


@pytest.mark.parametrize("name", GOOD)
def test_usual_names_are_used_as_they_are(tmp_path: Path, name: str) -> None:
    assert checked_path(tmp_path, name) == tmp_path / name
    written(tmp_path, name)
    assert [p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()] == [
        name
    ]


def test_what_cannot_be_seen_is_spelled_out(tmp_path: Path) -> None:
    with pytest.raises(AIError) as caught:
        checked_path(tmp_path, "model\u202egguf.exe")
    assert caught.value.message.startswith("refused name model⟦U+202E⟧gguf.exe: ")


def test_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "models", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "away").symlink_to(outside)
    (root / "here").symlink_to(root)
    with pytest.raises(AIError, match="a link leads out"):
        written(root, "away/x.gguf")
    written(root, "here/x.gguf")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Model.gguf", "model.GGUF"),
        ("a/Model.gguf", "A/model.gguf"),
        ("straße.gguf", "STRASSE.gguf"),
        ("fi.gguf", "ﬁ.gguf"),
        ("ü.gguf", "Ü.gguf"),
        ("same.gguf", "same.gguf"),
    ],
)
def test_twins_are_refused(one: str, other: str) -> None:
    with pytest.raises(AIError, match="may be the same file"):
        refuse_collisions([one, "third.gguf", other])
    refuse_collisions([one, "third.gguf"])


@given(st.text(max_size=40) | st.text(".\\:~ CONcon\0", max_size=12))
def test_whatever_is_let_through_is_one_plain_name_under_both_rules(name: str) -> None:
    assume("/" not in name)
    try:
        checked_path(Path(), name)
    except AIError:
        return
    windows = PureWindowsPath(name)
    assert windows.name == name == Path(name).name
    assert not windows.drive
    assert not windows.root
    assert len(name.encode()) <= 255
    assert name.isprintable()
    assert unicodedata.normalize("NFC", name) == name


@given(st.text("./\\:ab", max_size=20))
def test_whatever_is_let_through_lies_below_the_folder(path: str) -> None:
    root = Path("/nowhere/models")
    try:
        place = checked_path(root, path)
    except AIError:
        return
    assert Path(os.path.normpath(place)).is_relative_to(root)
    assert place != root
