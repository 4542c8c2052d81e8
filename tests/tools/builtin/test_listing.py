import os
from pathlib import Path

import pytest

from ollm_tui.tools.builtin import list_directory
from tests.tools.builtin.files import fail, use


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


async def test_a_folder_is_listed_with_folders_first_and_sizes(folder: Path) -> None:
    (folder / "Zebra").mkdir()
    (folder / "b.txt").write_text("12345")
    (folder / "A.txt").write_text("")
    (folder / "link").symlink_to("/etc")
    (folder / ".hidden").write_text("")
    os.mkfifo(folder / "pipe")
    output = await use(folder, "list_directory")
    assert output.splitlines() == [
        "Zebra/",
        "A.txt 0",
        "b.txt 5",
        "link (link)",
        "pipe (pipe, socket or device)",
        "[.: 5 entries, 1 hidden]",
    ]
    assert ".hidden 0" in await use(folder, "list_directory", include_hidden=True)


async def test_an_empty_folder_says_so(folder: Path) -> None:
    (folder / "sub").mkdir()
    assert await use(folder, "list_directory", path="sub") == "[sub: 0 entries]"


async def test_names_that_are_no_text_or_not_seen_are_spelled_out(folder: Path) -> None:
    (folder / "a\nb 5").write_text("")
    try:
        (folder / os.fsdecode(b"\xff")).write_text("")
    except OSError:
        pytest.skip("this file system takes only names that are text")
    output = await use(folder, "list_directory")
    assert output.splitlines() == ["a⟦U+000A⟧b 5 0", "\ufffd 0", "[.: 2 entries]"]


async def test_a_large_folder_is_cut_and_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        (folder / f"{number:02}").write_text("")
    monkeypatch.setattr(list_directory, "MAX_ENTRIES", 3)
    output = await use(folder, "list_directory")
    assert output.splitlines() == ["00 0", "01 0", "02 0", "[.: 30 entries, the first 3 are shown]"]
    monkeypatch.setattr(list_directory, "MAX_SEEN", 20)
    assert "20 entries or more" in await use(folder, "list_directory")


async def test_a_file_and_a_folder_outside_are_sentences(folder: Path) -> None:
    (folder / "a.txt").write_text("")
    assert await fail(folder, "list_directory", path="a.txt") == (
        "a.txt is a file. Use read_file for it."
    )
    assert "is outside" in await fail(folder, "list_directory", path="..")


async def test_what_may_hold_keys_is_counted_and_not_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "id_rsa").write_text("")
    listed = await use(tmp_path, "list_directory", include_hidden=True)
    assert "id_rsa" not in listed
    assert listed.endswith("not named that may hold passwords or keys]")
