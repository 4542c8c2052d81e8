"""The tool `shell`: shown as it is, contained, streamed, bounded, and ended whole."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.tools import ToolResult
from ollm_tui.shell.command import CommandSettings
from ollm_tui.shell.containment import Containment, Sandbox
from ollm_tui.tools import sandboxed
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner
from ollm_tui.tools.shell_tool import ShellTool
from tests.shell.test_command import TAG, Place
from tests.support.tools import tool_call
from tests.tools.writing.acting import Person

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands need a POSIX system")


class Console:
    def __init__(self, folder: Path, person: Person | None = None, timeout_s: float = 20.0) -> None:
        self.place, self.person = Place(folder), person or Person()
        environ = {"PATH": os.environ["PATH"], TAG: self.place.tag, "OPENAI_API_KEY": "planted"}
        settings = CommandSettings(folder, timeout_s, (TAG,), environ)
        self.tool = tool = ShellTool(settings, network=False)
        self.offer = ToolRunner(ToolRegistry([tool]), self.person).offer(["shell"])
        self.shown: list[str] = []

    async def run(self, command: JsonValue, call_id: str = "c1") -> ToolResult:
        self.offer.listen(call_id, self.shown.append)
        with anyio.fail_after(30):
            return await self.offer.run(tool_call("shell", {"command": command}, id=call_id))


async def test_a_command_is_shown_with_its_place_and_what_contains_it(tmp_path: Path) -> None:
    console = Console(tmp_path)
    result = await console.run("echo hello; echo there >&2; env")
    preview = console.person.previews[0]
    assert preview.parts == (
        ("command", "echo hello; echo there >&2; env"),
        ("in the folder", str(tmp_path)),
    )
    assert preview.argv is None
    assert "ontained: it" in preview.summary
    assert result.outcome == "done"
    assert result.content.startswith("hello\nthere\n")
    assert "planted" not in result.content
    assert (result.display or "").rpartition("\n")[2] in {
        *("[contained: writes, network]", "[partly contained: writes]", "[not contained]")
    }
    await console.run("git status", "c2")
    assert console.person.previews[1].argv == ("git", "status")


@pytest.mark.parametrize(
    ("sandbox", "warning"),
    [
        ("namespaces", ""),
        ("landlock", "partly contained: writes"),
        ("none", "not contained"),
    ],
)
async def test_walls_that_are_missing_are_named_once_that_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox, warning: str
) -> None:
    monkeypatch.setattr(
        sandboxed, "find_containment", lambda _folder, *, network: Containment(sandbox, network)
    )
    console = Console(tmp_path, Person(allows=False))
    assert console.tool.warning == ""
    await console.run("ls")
    assert console.tool.warning == warning


async def test_a_refused_command_does_not_run(tmp_path: Path) -> None:
    console = Console(tmp_path, Person(allows=False))
    assert (await console.run("touch ran")).outcome == "denied"
    assert not (tmp_path / "ran").exists()
    for command in ("", "  ", "a\0b", "x" * 200_000):
        assert (await console.run(command, f"c{len(command)}")).outcome == "failed"
    assert len(console.person.previews) == 1


async def test_output_streams_and_a_failure_is_one(tmp_path: Path) -> None:
    class Opens(list[str]):
        """Lets the command go on once its first words are shown."""

        def append(self, output: str) -> None:
            super().append(output)
            (tmp_path / "go").touch()

    console = Console(tmp_path)
    console.shown = Opens()
    waits = "echo first; while [ ! -e go ]; do sleep 0.02; done; echo last; exit 3"
    result = await console.run(waits)
    assert any("first" in output and "last" not in output for output in console.shown)
    assert result.outcome == "failed"
    assert result.content == "first\nlast\nExit code 3."


async def test_the_time_limit_ends_all_of_it(tmp_path: Path) -> None:
    console = Console(tmp_path, timeout_s=0.5)
    result = await console.run("echo go; (setsid sleep 300 &); sleep 300")
    assert result.outcome == "failed"
    assert "Stopped after 0.5 s" in result.content
    assert console.place.left() == []


async def test_a_stop_ends_all_of_it(tmp_path: Path) -> None:
    console = Console(tmp_path)
    async with anyio.create_task_group() as group:
        group.start_soon(console.run, "echo go; (setsid sleep 300 &); sleep 300")
        with anyio.fail_after(20):
            while not console.shown:
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    assert console.offer is not None
    with anyio.fail_after(10):
        while console.place.left():
            await anyio.sleep(0.02)


@pytest.mark.slow
async def test_a_flood_and_a_large_file_are_bounded(tmp_path: Path) -> None:
    console = Console(tmp_path, timeout_s=5)
    result = await console.run("head -c 3000000 /dev/zero | tr '\\0' x")
    assert len(result.content) < 40_000
    assert "left out" in result.content
    result = await console.run("ulimit -c; ulimit -f", "c2")
    assert result.content == "0\n1048576"
