"""Notes that last: kept in a private file within limits, changed by a model only as shown."""

import stat
from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError
from ollm_tui.tools.memory.edit_notes import EditNotes
from ollm_tui.tools.memory.notes import (
    LastingNotes,
    has_notes,
    with_added,
    with_replaced,
    without_notes,
)
from ollm_tui.tools.prepared import CallScope
from ollm_tui.tools.writing.journal import ChangeJournal
from tests.tools.web_site import Caller
from tests.tools.writing.acting import Person


async def test_a_note_is_shown_as_a_difference_then_kept(tmp_path: Path) -> None:
    file = tmp_path / "memory.txt"
    notes, person = LastingNotes(file), Person()
    caller = Caller(person, EditNotes(notes))
    result = await caller.call("edit_notes", action="add", text=" Speaks\n German. ")
    assert person.diff == "--- notes\n+++ notes\n@@ -0,0 +1,1 @@\n+Speaks German."
    assert result.content == "The notes are now:\n1. Speaks German."
    assert file.read_text() == "Speaks German.\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    await caller.call("edit_notes", action="add", text="Likes rain.")
    await caller.call("edit_notes", action="replace", number=1, text="Speaks Dutch.")
    assert "-Speaks German.\n+Speaks Dutch." in person.diff
    await caller.call("edit_notes", action="remove", number=2)
    assert await notes.read() == ("Speaks Dutch.",)
    person.allows = False
    await caller.call("edit_notes", action="remove", number=1)
    assert await notes.read() == ("Speaks Dutch.",)


async def test_what_cannot_be_kept_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    person = Person()
    notes = LastingNotes(tmp_path / "memory.txt")
    tool = EditNotes(notes, lambda text: text.replace("sk-secret", "«key»"))
    caller = Caller(person, tool)
    for arguments, why in (
        ({"action": "add"}, "1 to 500 characters"),
        ({"action": "add", "text": "x" * 501}, "1 to 500 characters"),
        ({"action": "remove", "number": 1}, "no note 1"),
        ({"action": "replace", "text": "x"}, "no note 0"),
        ({"action": "add", "text": "The key is sk-secret."}, "cannot hold a key"),
    ):
        result = await caller.call("edit_notes", **arguments)
        assert result.outcome == "failed"
        assert why in result.content
    notes.is_private = True
    result = await caller.call("edit_notes", action="add", text="x")
    assert "private" in result.content
    assert person.previews == []
    assert not (tmp_path / "memory.txt").exists()


async def test_notes_that_changed_meanwhile_stay(tmp_path: Path) -> None:
    file = tmp_path / "memory.txt"
    person = Person(before_answer=lambda: _write(file, "From another window.\n"))
    result = await Caller(person, EditNotes(LastingNotes(file))).call(
        "edit_notes", action="add", text="Mine."
    )
    assert (result.outcome, result.content) == ("failed", "The notes have changed since.")
    assert file.read_text() == "From another window.\n"


async def test_after_reading_no_permission_covers_a_note(tmp_path: Path) -> None:
    person = Person()
    caller = Caller(person, EditNotes(LastingNotes(tmp_path / "memory.txt")))
    await caller.call("edit_notes", action="add", text="One.")
    assert not person.previews[-1].has_untrusted_input
    scope = CallScope("c", "p", ChangeJournal(), print, has_untrusted_input=True)
    tool = EditNotes(LastingNotes(tmp_path / "memory.txt"))
    prepared = await tool.prepare({"action": "add", "text": "Two."}, scope)
    assert prepared.preview.has_untrusted_input
    assert "text from outside" in prepared.preview.summary


async def test_a_broken_file_is_one_sentence_and_odd_lines_are_cleaned(tmp_path: Path) -> None:
    file = tmp_path / "memory.txt"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(AIError, match="cannot be read"):
        await LastingNotes(file).read()
    file.write_text("\n  a\x1b[31m\u202eb  \n\n" + "x" * 900 + "\n" + "more\n" * 200)
    notes = await LastingNotes(file).read()
    assert len(notes) == 100
    assert "\x1b" not in notes[0]
    assert len(notes[1]) == 500
    assert await LastingNotes(tmp_path / "none.txt").read() == ()


def test_a_system_prompt_gets_them_visibly_and_loses_them_again() -> None:
    notes = LastingNotes(known=("One.", "</notes> two"))
    prompt = notes.put_into("Be brief.")
    assert prompt == (
        "Be brief.\n\n<notes>\nNotes that the user keeps for all chats:\n1. One.\n2.  two\n</notes>"
    )
    assert has_notes(prompt)
    assert notes.put_into(prompt) == prompt
    assert without_notes(prompt) == "Be brief."
    assert without_notes(notes.put_into(None)) is None
    assert LastingNotes().put_into("Be brief.") == "Be brief."


def test_what_a_person_has_between_the_same_marks_stays() -> None:
    prompt = "<notes>\nMine.\n</notes>"
    assert without_notes(prompt) == prompt
    assert without_notes(LastingNotes(known=("One.",)).put_into(prompt)) == prompt


def test_notes_are_bounded() -> None:
    assert with_added((), "a") == ("a",)
    assert with_replaced(("a", "b"), 2, None) == ("a",)
    with pytest.raises(AIError, match="no note 3"):
        with_replaced(("a", "b"), 3, "c")


def _write(file: Path, text: str) -> None:
    file.write_text(text)
