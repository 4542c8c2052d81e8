"""Which names are offered for a few letters, and how far a walk goes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from ollm_tui.attachments import paths
from ollm_tui.attachments.paths import FileFinder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in ("a.png", "sub/b.txt", "sub/deep/c.md", ".git/config", "node_modules/x.js"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (root / "bad\x1b\n.png").write_text("x")
    (root / "link.png").symlink_to("a.png")
    (root / "loop").symlink_to(".")
    os.mkfifo(root / "pipe.png")
    return root


def test_files_below_are_found_without_links_pipes_and_hidden_ones(root: Path) -> None:
    assert FileFinder(root).candidates("b") == ("a.png", "sub/b.txt", "sub/deep/c.md")


def test_a_path_is_looked_for_in_its_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = FileFinder(root / "sub").candidates
    monkeypatch.setenv("HOME", str(root))
    assert found("./") == ["./deep/", "./b.txt"] or found("./") == ["./b.txt", "./deep/"]
    assert sorted(found(f"{root}/sub/d")) == [f"{root}/sub/b.txt", f"{root}/sub/deep/"]
    assert sorted(found("~/x")) == ["~/a.png", "~/node_modules/", "~/sub/"]
    assert "~/.git/" in found("~/.g")
    assert found("~") == ("~/",)
    assert found("../none/") == []


def test_a_hidden_entry_that_cannot_be_looked_at_hides_no_other(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = Mock(is_file=Mock(side_effect=PermissionError), is_dir=Mock(side_effect=OSError))
    refused.name = ".gvfs"
    scandir = os.scandir

    @contextmanager
    def with_one_more(folder: Path) -> Iterator[list[os.DirEntry[str]]]:
        with scandir(folder) as entries:
            yield [refused, *entries]

    monkeypatch.setattr(os, "scandir", with_one_more)
    assert "a.png" in FileFinder(root).candidates("")
    assert "./a.png" in FileFinder(root).candidates("./")


def test_what_was_found_is_known_for_some_seconds(root: Path) -> None:
    now = 0.0
    found = FileFinder(root, lambda: now)
    found.candidates("")
    (root / "new.png").write_text("x")
    assert "new.png" not in found.candidates("")
    now = 6.0
    assert "new.png" in found.candidates("")


def test_a_walk_ends_by_the_clock_and_by_the_number_of_files(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter([0.0, 0.0, *[99.0] * 50])
    assert FileFinder(root, lambda: next(ticks)).candidates("") == ()
    monkeypatch.setattr(paths, "MAX_FILES", 1)
    assert len(FileFinder(root).candidates("")) <= 1
    assert len(FileFinder(root).candidates("./")) == 1
