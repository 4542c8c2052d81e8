import json
import logging
import os
import stat
from pathlib import Path

import pytest

from ollm_tui.frontend.prompt_history import MAX_ENTRIES, MAX_ENTRY_CHARACTERS, PromptHistory


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "prompts.jsonl"


def texts(history: PromptHistory) -> list[str]:
    found = []
    while (text := history.previous("")) is not None:
        found.append(text)
    return found[::-1]


def test_a_prompt_is_there_in_the_next_run(path: Path) -> None:
    history = PromptHistory(path)
    history.add("one", "one")
    history.add("two\nlines", "two\nlines")
    assert texts(PromptHistory(path)) == ["one", "two\nlines"]
    assert texts(history) == ["one", "two\nlines"]


def test_the_file_is_for_its_owner_alone(path: Path) -> None:
    PromptHistory(path).add("one", "one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    PromptHistory(path).add("two", "two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_draft_that_was_never_sent_is_not_written_down(path: Path) -> None:
    history = PromptHistory(path)
    history.add("secret")
    assert not path.exists()
    assert texts(history) == ["secret"]


def test_what_is_sent_is_written_whole_while_the_walk_shows_the_draft(path: Path) -> None:
    history = PromptHistory(path)
    history.add("[Pasted text #1 · 2 lines]", "a\nb")
    assert history.previous("") == "[Pasted text #1 · 2 lines]"
    assert texts(PromptHistory(path)) == ["a\nb"]


def test_the_walk_keeps_the_draft_and_edits_of_entries_until_something_is_sent() -> None:
    history = PromptHistory()
    history.add("one")
    history.add("two")
    assert history.next("draft") is None
    assert history.previous("draft") == "two"
    assert history.previous("two edited") == "one"
    assert history.previous("one") is None
    assert history.next("one") == "two edited"
    assert history.next("two edited") == "draft"
    assert history.next("draft") is None
    history.add("three")
    assert texts(history) == ["one", "two", "three"]


def test_the_same_prompt_twice_in_a_row_is_one_entry() -> None:
    history = PromptHistory()
    for text in ("one", "one", "two", "one", " "):
        history.add(text)
    assert texts(history) == ["one", "two", "one"]


def test_broken_lines_are_passed_over(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(
        b'{"text": "one"}\n\xff\xfe\nnull\n[1]\n{"text": 5}\n{"other": "x"}\n'
        + b"[" * 100_000
        + b'\n{"text": "two"}\n{"text": "cut o'
    )
    history = PromptHistory(path)
    assert texts(history) == ["one", "two"]
    history.add("three", "three")
    assert texts(PromptHistory(path)) == ["one", "two", "three"]


def test_only_the_newest_entries_are_kept(path: Path) -> None:
    path.parent.mkdir()
    lines = [json.dumps({"text": f"prompt {number}"}) for number in range(3 * MAX_ENTRIES)]
    path.write_text("\n".join(lines) + "\n")
    found = texts(PromptHistory(path))
    assert (len(found), found[-1]) == (MAX_ENTRIES, f"prompt {3 * MAX_ENTRIES - 1}")
    assert len(path.read_text().splitlines()) == MAX_ENTRIES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_a_huge_file_is_read_from_its_end(path: Path) -> None:
    path.parent.mkdir()
    with path.open("wb") as file:
        file.truncate(50_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b'\n{"text": "last"}\n')
    assert texts(PromptHistory(path)) == ["last"]


def test_a_huge_prompt_is_remembered_but_not_written(path: Path) -> None:
    history = PromptHistory(path)
    huge = "x" * (MAX_ENTRY_CHARACTERS + 1)
    history.add(huge, huge)
    assert not path.exists()
    assert texts(history) == [huge]


@pytest.mark.parametrize("kind", ["folder", "pipe", "below a file"])
def test_a_place_that_is_no_file_is_logged_and_left_alone(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "history"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_text("")
        path = path / "history"
    history = PromptHistory(path)
    with caplog.at_level(logging.WARNING):
        history.add("one", "one")
        assert texts(history) == ["one"]
    assert "prompt history" in caplog.text
