"""Looking for files on a disk that does not answer."""

import threading
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from ollm_tui.attachments.paths import FileFinder
from ollm_tui.commands.parse import Suggestions
from ollm_tui.tui.composer import attaching
from ollm_tui.tui.composer.attaching import FileSuggestions
from ollm_tui.tui.composer.completions import FileQuery


class HungDisk(FileFinder):
    """Gives a name for each query, as soon as the disk answers."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.answers = threading.Event()
        self.asked: list[str] = []

    def candidates(self, query: str) -> Sequence[str]:
        """Wait for the disk."""
        self.asked.append(query)
        if not self.answers.wait(10):
            raise TimeoutError
        return (f"{query}.txt",)


class Broken(FileFinder):
    """Fails in a way that nobody foresaw."""

    def candidates(self, query: str) -> Sequence[str]:
        """Fail."""
        raise ValueError(query)


def mention(text: str) -> FileQuery:
    return FileQuery(f"@{text}", text, 1, is_mention=True)


def names(found: Suggestions | None) -> list[str]:
    return [item.value for item in found.items] if found else []


async def test_letters_typed_while_the_disk_hangs_start_no_further_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attaching, "TIMEOUT_S", 0.02)
    disk = HungDisk()
    files = FileSuggestions(lambda _draft: None, disk)
    threads = set(threading.enumerate())
    for length in range(1, 9):
        assert await files.find(mention("abcdefgh"[:length])) is None, "nothing is said"
    assert disk.asked == ["a"]
    assert len(set(threading.enumerate()) - threads) == 1
    disk.answers.set()
    monkeypatch.undo()
    assert names(await files.find(mention("late"))) == ["late.txt"]
    assert disk.asked == ["a", "late"], "what was given up is not looked for"


async def test_what_is_asked_for_meanwhile_is_looked_for_when_the_disk_answers() -> None:
    disk = HungDisk()
    files = FileSuggestions(lambda _draft: None, disk)
    found: dict[str, list[str]] = {}

    async def look(text: str) -> None:
        found[text] = names(await files.find(mention(text)))

    async with anyio.create_task_group() as group:
        for text in ("one", "two"):
            group.start_soon(look, text)
        await anyio.wait_all_tasks_blocked()
        assert disk.asked == ["one"]
        disk.answers.set()
    assert found == {"one": ["one.txt"], "two": ["two.txt"]}


async def test_a_search_that_breaks_is_an_error_of_its_reader_and_the_next_one_runs() -> None:
    files = FileSuggestions(lambda _draft: None, Broken(Path()))
    for text in ("a", "b"):
        with pytest.raises(ValueError, match=text):
            await files.find(mention(text))
