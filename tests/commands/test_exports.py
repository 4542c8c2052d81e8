"""/export and `/copy chat`."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import parse, run_command
from ollm_tui.config.new_file import NameTaken
from tests.commands.recording_host import RecordingHost


@dataclass
class RecordingExports:
    taken: bool = False
    asked: list[tuple[object, ...]] = field(default_factory=list)

    async def text(self, form: str) -> str:
        return f"the chat as {form}"

    async def write(self, form: str, path: Path | None, *, replaces: bool) -> Path:
        self.asked.append((form, path, replaces))
        if self.taken and not replaces:
            raise NameTaken(path or Path())
        return path or Path("Title.md")


async def run(line: str, *, taken: bool = False) -> tuple[RecordingHost, RecordingExports]:
    exports = RecordingExports(taken)
    host = RecordingHost(exports=exports)
    call = parse(line, COMMANDS)
    assert call is not None
    await run_command(call, host)
    return host, exports


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("/export", ("md", None, False)),
        ("/export HTML", ("html", None, False)),
        ("/export json a b.txt", ("json", Path("a b.txt"), False)),
        ("/export notes.html", ("html", Path("notes.html"), False)),
        ("/export md my notes", ("md", Path("my notes"), False)),
        ("/export md a.md replace", ("md", Path("a.md"), True)),
        ("/export md replace", ("md", Path("replace"), False)),
    ],
)
async def test_export_takes_a_format_a_file_and_whether_it_replaces(
    line: str, asked: tuple[object, ...]
) -> None:
    host, exports = await run(line)
    assert exports.asked == [asked]
    assert host.asked == [("info", f"Saved {asked[1] or 'Title.md'}.")]


async def test_a_file_that_exists_is_kept_and_the_next_step_named() -> None:
    host, _ = await run("/export a.html", taken=True)
    assert host.asked == [
        ("error", "a.html exists already. To replace it: /export html a.html replace")
    ]


@pytest.mark.parametrize(
    ("line", "form"), [("chat", "md"), ("chat json", "json"), ("Chat HTML", "html")]
)
async def test_the_whole_chat_is_copied_in_a_format(line: str, form: str) -> None:
    host, _ = await run(f"/copy {line}")
    assert host.asked == [("copy", f"the chat as {form}")]


async def test_a_format_that_is_none_is_refused() -> None:
    host, _ = await run("/copy chat pdf")
    assert host.asked == [("error", "A chat is copied as one of: md, json, html.")]


@pytest.mark.parametrize("name", ["pdf", "notes.docx", "my notes"])
async def test_a_name_without_the_ending_of_a_format_is_refused(name: str) -> None:
    host, exports = await run(f"/export {name}")
    assert exports.asked == []
    [(kind, words)] = host.asked
    assert kind == "error"
    assert words == (
        f"{name} has no ending of a format, which are .md, .json or .html."
        f" Markdown below that name: /export md {name}"
    )
