"""What the tools that run commands and code of a model share: their sandbox and their results."""

import shutil
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from ollm_tui.protocol.tools import ToolOutput
from ollm_tui.shell.command import CommandResult
from ollm_tui.shell.containment import REFUSED, Containment, find_containment
from ollm_tui.shell.folder_changes import Snapshot, changes_between, take_snapshot
from ollm_tui.tools.prepared import CallScope


class SandboxFinder:
    """Finds out what contains commands in a folder.

    That takes some tenths of a second, so it is tried with the first call of a model.
    """

    def __init__(self, folder: Path, *, network: bool) -> None:
        self._folder = folder
        self._network = network
        self._lock = anyio.Lock()
        self._containment: Containment | None = None

    @property
    def warning(self) -> str:
        """What the sandbox does not cover, once that is known; empty if it is complete."""
        known = self._containment
        return "" if known is None or known.is_whole else known.word

    async def find(self) -> Containment:
        """Return what contains commands; the first time it is tried, in a thread."""
        async with self._lock:
            if self._containment is None:
                find = partial(find_containment, self._folder, network=self._network)
                self._containment = await anyio.to_thread.run_sync(find, abandon_on_cancel=True)
            return self._containment


def finish_run(scope: CallScope, folder: Path, before: Snapshot, temporary: str) -> None:
    """Note which files a call has changed, and remove its temporary folder; blocks."""
    shutil.rmtree(temporary, ignore_errors=True)
    changed = changes_between(before, take_snapshot(folder))
    scope.changes.commands.add(scope.call_id, changed)


def output_of(
    result: CommandResult, output: str, containment: Containment, *, appendix: str = ""
) -> ToolOutput:
    """Return the result of a command with its `output`; the user sees the `appendix` as well."""
    is_refused = result.code == REFUSED and result.output.startswith("The command was not run:")
    rows = [output.rstrip("\n"), result.words]
    text = "\n".join(row for row in rows if row) or "It printed nothing."
    return ToolOutput(
        text,
        display=f"{text}\n[{containment.word}]{appendix}",
        is_error=is_refused or result.end != "exited" or result.code != 0,
    )
