"""/memory: notes that last over chats, listed and changed by their numbers."""

import pytest

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import suggest
from tests.commands.recording_host import RecordingHost
from tests.commands.test_instructions import ran


async def test_it_lists_the_notes_with_their_tokens() -> None:
    [(_say, words, *_)] = (await ran("/memory")).asked
    assert words.startswith(
        "2 notes, about 12 tokens, not in this chat:\n1. Speaks German.\n2. Likes rain.\n"
    )


@pytest.mark.parametrize(
    ("line", "asked", "words"),
    [
        ("/memory add Likes  snow.", ("add_note", "Likes  snow."), "Noted. This chat does not"),
        ("/memory edit 2 Likes sun.", ("replace_note", "2", "Likes sun."), "Changed."),
        ("/memory rm 1", ("replace_note", "1", ""), "Removed."),
        ("/memory on", ("use_notes", "True"), "2 notes, about 12 tokens, sent with every prompt"),
        ("/memory off", ("use_notes", "False"), "Neither this chat nor a new one"),
    ],
)
async def test_it_changes_them(line: str, asked: tuple[str, ...], words: str) -> None:
    calls = (await ran(line)).asked
    assert asked in calls
    assert any(call[0] == "info" and call[1].startswith(words) for call in calls)


@pytest.mark.parametrize(
    "line", ["/memory rm", "/memory rm x", "/memory edit 1", "/memory rm 1 x", "/memory what"]
)
async def test_what_it_cannot_read_is_said(line: str) -> None:
    [(_say, words, *_)] = (await ran(line)).asked
    assert words.startswith("Write /memory")


def test_its_words_are_offered() -> None:
    suggestions = suggest("/memory ", COMMANDS, RecordingHost())
    assert suggestions is not None
    assert [one.value.strip() for one in suggestions.items] == ["add", "edit", "rm", "on", "off"]
