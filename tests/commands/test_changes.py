"""What /undo and /diff say of the changes of a chat."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.changes import MAX_ROWS
from ollm_tui.commands.parse import parse, run_command
from ollm_tui.shell.folder_changes import FolderChanges
from ollm_tui.tools.writing.journal import ChangedFile, TakenBack
from tests.commands.recording_host import RecordingHost, SomeTool


@dataclass
class SomeChanges:
    taken: Sequence[TakenBack] = ()
    files: Sequence[ChangedFile] = ()
    calls: list[bool] = field(default_factory=list)
    commands: FolderChanges = field(default_factory=lambda: FolderChanges({}, is_whole=True))

    async def by_commands(self) -> FolderChanges:
        return self.commands

    async def undo(self, *, only_call: bool) -> Sequence[TakenBack]:
        self.calls.append(only_call)
        return self.taken

    async def listed(self) -> Sequence[ChangedFile]:
        return self.files


async def answer(host: RecordingHost, text: str) -> tuple[str, str]:
    call = parse(text, COMMANDS)
    assert call is not None
    await run_command(call, host)
    kind, words = host.asked[-1]
    return kind, words


async def test_undo_names_every_file() -> None:
    changes = SomeChanges(
        [
            TakenBack("a.txt", "restored"),
            TakenBack("b.txt", "removed"),
            TakenBack("c.txt", "restored", "c.txt has changed since, so it was left alone."),
        ]
    )
    host = RecordingHost(changes=changes)
    assert await answer(host, "/undo") == (
        "warning",
        "a.txt was restored.\nb.txt was removed.\nc.txt has changed since, so it was left alone.",
    )
    changes.taken = changes.taken[2:]
    assert (await answer(host, "/undo call"))[1].startswith("Nothing was taken back.\nc.txt has")
    assert changes.calls == [False, True]


async def test_undo_without_changes_names_what_else_can_be_meant() -> None:
    host = RecordingHost(changes=SomeChanges())
    kind, words = await answer(host, "/undo")
    assert kind == "info"
    assert "/edit" in words
    assert "/undelete" in words
    assert (await answer(host, "/undo everything"))[0] == "error"


async def test_diff_shows_all_files_or_one() -> None:
    files = [ChangedFile("a.txt", "--- a.txt", True), ChangedFile("b.txt", "--- b.txt", False)]
    host = RecordingHost(changes=SomeChanges(files=files))
    note = "[b.txt has changed since; this is what the tools did.]"
    assert await answer(host, "/diff") == ("info", f"--- a.txt\n--- b.txt\n{note}")
    assert await answer(host, "/diff a.txt") == ("info", "--- a.txt")
    assert await answer(host, "/diff c.txt") == (
        "error",
        "Tools have not changed c.txt, but: a.txt, b.txt.",
    )


async def test_a_long_diff_is_cut_with_a_way_to_the_rest() -> None:
    files = [ChangedFile("a.txt", "\n".join("+x" for _ in range(MAX_ROWS + 5)), True)]
    host = RecordingHost(changes=SomeChanges(files=files))
    assert (await answer(host, "/diff"))[1].endswith("[5 more lines; /diff FILE shows one file.]")
    host.changes = SomeChanges()
    assert (await answer(host, "/diff"))[1] == "Tools have changed no files in this chat."


@pytest.mark.parametrize("name", ["write_file", "WRITE_FILE"])
async def test_a_tool_that_is_switched_off_says_how_to_switch_it_on(name: str) -> None:
    host = RecordingHost(off=(SomeTool("write_file", "write"), SomeTool("runs", "run")))
    assert await answer(host, f"/tools {name}") == (
        "error",
        "write_file is off. To switch one on, name it in the settings (tools.enabled) or "
        "with --tools.",
    )
    assert not host.current.tools
    listed = (await answer(host, "/tools"))[1]
    assert "Further tools are off: write_file (writes), runs (runs programs)." in listed
    assert (await answer(host, "/tools on"))[0] == "info"
    assert host.current.tools == ("clock", "shell")


async def test_what_commands_changed_is_named_and_not_taken_back() -> None:
    changes = SomeChanges(commands=FolderChanges({"a\x1b.txt": "new", "b": "deleted"}, True))
    host = RecordingHost(changes=changes)
    assert "(new), b (deleted)." in (await answer(host, "/diff"))[1]
    assert "\x1b" not in (await answer(host, "/diff"))[1]
    assert "which /undo cannot restore" in (await answer(host, "/undo"))[1]
    changes.files = [ChangedFile("c.txt", "--- c.txt\n+++ c.txt", True)]
    assert "b (deleted)" in (await answer(host, "/diff"))[1]
    assert "b (deleted)" not in (await answer(host, "/diff c.txt"))[1]
    changes.commands = FolderChanges({}, is_whole=False)
    assert "too many files" in (await answer(host, "/diff"))[1]
