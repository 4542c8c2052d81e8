"""`shell` in the background and `shell_job`: asked about once, followed up without a question."""

import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from ollm_tui.frontend.consent import Permissions, can_grant
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.tools import CallPreview, ToolResult
from ollm_tui.shell.jobs import BackgroundJobs
from ollm_tui.tools.prepared import preview_of
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner
from ollm_tui.tools.shell_jobs import ShellJobTool
from ollm_tui.tools.writing.journal import ChangeJournal
from tests.support.tools import tool_call
from tests.tools.test_shell_tool import Console
from tests.tools.writing.acting import Person

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands need a POSIX system")


class Desk(Console):
    def __init__(self, folder: Path, person: Person | None = None) -> None:
        super().__init__(folder, person)
        self.jobs, self.changes = BackgroundJobs(), ChangeJournal()
        registry = ToolRegistry([self.tool, ShellJobTool()])
        runner = ToolRunner(registry, self.person, changes=self.changes, jobs=self.jobs)
        self.offer = runner.offer(["shell"])
        self._count = 0

    async def call(self, name: str, **args: JsonValue) -> ToolResult:
        self._count += 1
        given = dict(args)
        with anyio.fail_after(30):
            return await self.offer.run(tool_call(name, given, id=f"j{self._count}"))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.jobs.stop_all()


async def test_a_command_goes_on_and_is_read_and_stopped(desk: Desk, tmp_path: Path) -> None:
    assert [schema.name for schema in desk.offer.schemas] == ["shell", "shell_job"]
    waits = "echo up; while [ ! -e go ]; do sleep 0.02; done; echo more; sleep 300"
    started = await desk.call("shell", command=waits, background=True)
    assert started.outcome == "done"
    assert started.content.startswith("Command 1 runs for ")
    assert started.content.endswith("\nup")
    preview = desk.person.previews[0]
    assert preview.argv is None
    assert dict(preview.parts)["in the background"].startswith("until it is stopped")
    nothing = await desk.call("shell_job", job=1)
    assert nothing.content.endswith("It printed nothing new.")
    (tmp_path / "go").touch()
    more = await desk.call("shell_job", job=1, wait_s=20)
    assert more.content.endswith("\nmore")
    stopped = await desk.call("shell_job", job=1, stop=True)
    assert stopped.content.startswith("Command 1 has ended: Stopped")
    assert desk.place.left() == []
    unknown = await desk.call("shell_job", job=2)
    assert unknown.content == "No command in the background has this number. There are: 1."


async def test_one_that_fails_at_once_says_so(desk: Desk) -> None:
    failed = await desk.call("shell", command="echo broken; exit 4", background=True)
    assert failed.content.startswith("Command 1 has ended: Exit code 4.\nbroken")
    assert failed.content.endswith("Nothing of it runs any more.")


async def test_what_was_refused_does_not_start(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Person(allows=False))
    assert (await desk.call("shell", command="touch ran", background=True)).outcome == "denied"
    assert (desk.jobs.listed, (tmp_path / "ran").exists()) == ((), False)


async def test_too_many_are_a_failure_that_the_model_reads(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ollm_tui.shell.jobs.MAX_JOBS", 1)
    await desk.call("shell", command="sleep 60", background=True)
    second = await desk.call("shell", command="sleep 60", background=True)
    assert (second.outcome, second.content) == (
        "failed",
        "1 command run in the background, which is the limit. Stop one first.",
    )


@pytest.mark.parametrize("goes_on", [False, True])
async def test_the_files_that_changed_are_noted(desk: Desk, tmp_path: Path, goes_on: bool) -> None:
    (tmp_path / "old").write_text("1")
    await desk.call("shell", command="echo 2 > old; touch new", background=goes_on)
    with anyio.fail_after(10):
        while not desk.changes.commands.merged().files:
            await anyio.sleep(0.02)
    assert desk.changes.commands.merged().files == {"new": "new", "old": "changed"}


def test_following_up_needs_no_question_and_starting_always_does() -> None:
    permissions = Permissions()
    follows = CallPreview("Reads.", (("command", "x"),), follows_up=True)
    assert permissions.allows("shell_job", "read", follows)
    starts = CallPreview("Contained.", (("command", "ls"),), is_command=True, argv=None)
    assert not permissions.allows("shell", "run", starts)
    assert not can_grant(starts)
    assert preview_of(ShellJobTool()) is None
