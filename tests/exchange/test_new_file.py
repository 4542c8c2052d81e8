"""An export is a private file that is there whole, or not at all."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ollm_tui.config.new_file import NameTaken
from ollm_tui.exchange.formats import FORMATS, format_named, format_of
from ollm_tui.exchange.new_file import free_name, write_file
from ollm_tui.protocol.errors import AIError
from tests.store.test_records import TREE, chat


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "exports"
    folder.mkdir()
    return folder


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_file_is_private_and_complete(empty: Path) -> None:
    old = os.umask(0)
    try:
        assert write_file(empty / "a.md", ["é", "\ud800"]) == 3
    finally:
        os.umask(old)
    assert (empty / "a.md").read_bytes() == "é?".encode()
    assert stat.S_IMODE((empty / "a.md").stat().st_mode) == 0o600
    assert names(empty) == ["a.md"]


def test_a_file_is_replaced_only_if_that_is_wanted(empty: Path) -> None:
    path = empty / "a.md"
    path.write_text("mine")
    with pytest.raises(NameTaken, match="exists already"):
        write_file(path, ["new"])
    assert path.read_text() == "mine"
    write_file(path, ["new"], replaces=True)
    assert path.read_text() == "new"


def test_a_name_that_is_taken_while_it_is_written_is_kept(empty: Path) -> None:
    path = empty / "a.md"

    def pieces() -> Iterator[str]:
        yield "new"
        path.write_text("mine")

    with pytest.raises(NameTaken):
        write_file(path, pieces())
    assert path.read_text() == "mine"
    assert names(empty) == ["a.md"]


@pytest.mark.parametrize("replaces", [False, True])
def test_nothing_is_left_of_a_failure(empty: Path, replaces: bool) -> None:
    def pieces() -> Iterator[str]:
        yield "new"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_file(empty / "a.md", pieces(), replaces=replaces)
    assert names(empty) == []


@pytest.mark.parametrize("name", [".", "no/such/folder.md", "a\0b", "x" * 300, "/dev/null"])
def test_a_name_that_cannot_be_a_file_is_one_sentence(empty: Path, name: str) -> None:
    with pytest.raises(AIError, match=r"\.$"):
        write_file(empty / name, ["x"], replaces=True)
    assert names(empty) == []


def test_names_of_files_are_made_of_titles(empty: Path) -> None:
    assert free_name(empty, "../a/b: c?\n", ".md") == empty / "a b c.md"
    assert free_name(empty, " .. ", ".md") == empty / "Chat.md"
    assert len(free_name(empty, "x" * 1000, ".md").name) < 100
    (empty / "T.md").touch()
    assert free_name(empty, "T", ".md") == empty / "T 2.md"


def test_a_format_is_known_by_its_name_and_by_a_file() -> None:
    assert format_named("HTML") is FORMATS["html"]
    assert format_of(Path("a.HTM")) is FORMATS["html"]
    assert format_of(Path("a")) is None
    with pytest.raises(AIError) as raised:
        format_named("pdf")
    assert raised.value.hint == "Use md, json or html."


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_writes_a_branch_or_the_whole_tree(name: str) -> None:
    record = chat(*TREE, leaf="c1")
    branch = "".join(FORMATS[name].pieces(record, is_tree=False))
    tree = "".join(FORMATS[name].pieces(record, is_tree=True))
    assert ("c1" in branch, "c2" in branch) == (True, False)
    assert ("c1" in tree, "c2" in tree) == (True, True)
    assert "".join(FORMATS[name].pieces(record)) == (tree if name == "json" else branch)
