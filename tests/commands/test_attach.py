"""/attach adds, lists and removes what goes with the next message."""

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import parse, run_command, suggest
from tests.commands.recording_host import RecordingHost


async def run(host: RecordingHost, text: str) -> tuple[str, ...]:
    call = parse(text, COMMANDS)
    assert call is not None
    await run_command(call, host)
    return host.asked[-1] if host.asked else ()


async def test_files_are_attached_listed_and_removed() -> None:
    host = RecordingHost()
    assert "No attachments" in (await run(host, "/attach"))[1]
    for name in ("a.png", "my cat.png"):
        await run(host, f"/attach {name}")
    listing = (await run(host, "/attach"))[1]
    assert "Image #1 · a.png\nImage #2 · my cat.png\n" in listing
    suggested = suggest("/attach rem", COMMANDS, host)
    assert suggested is not None
    assert [item.value for item in suggested.items] == ["remove 1", "remove 2"]
    await run(host, "/attach remove #1")
    assert host.attached == ["Image #2 · my cat.png"]
    assert (await run(host, "/attach remove 7"))[0] == "error"
    await run(host, "/attach remove all")
    assert host.attached == []


async def test_why_a_file_is_not_attached_is_reported() -> None:
    assert await run(RecordingHost(), "/attach none.png") == ("error", "none.png does not exist.")
