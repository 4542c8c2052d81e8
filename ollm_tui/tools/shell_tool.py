"""`shell`: a command of a model, asked about as it is, run in the sandbox that the system has."""

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

import anyio
import anyio.to_thread

from ollm_tui.config.regular_file import is_file, real_path
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import CallPreview, ToolEffect, ToolOutput, ToolSchema
from ollm_tui.shell.command import GIVEN_UP_S, CommandSettings, check_command, run_command
from ollm_tui.shell.containment import Containment
from ollm_tui.shell.folder_changes import take_snapshot
from ollm_tui.shell.words import plain_words
from ollm_tui.tools.define import ToolFailure
from ollm_tui.tools.prepared import CallScope
from ollm_tui.tools.sandboxed import SandboxFinder, finish_run, output_of
from ollm_tui.tools.shell_jobs import report_of, wait_for_news

_SHELLS: Final = (Path("/bin/bash"), Path("/usr/bin/bash"))
FIRST_WORDS_S: Final = 1.0
"""How long a command in the background is waited for, so that a failure at once is seen."""
_SCHEMA: Final = ToolSchema(
    name="shell",
    description="Run a command with bash in the working folder and return its output. It has no "
    "input and no terminal. Nothing goes on running after it has ended, unless it runs in the "
    "background.",
    parameters={
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command line."},
            "background": {
                "type": "boolean",
                "default": False,
                "description": "Start it and return at once, such as a server or a watcher; "
                "`shell_job` reads its output and stops it.",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    },
)


class ShellTool:
    """Runs commands in one folder."""

    schema = _SCHEMA
    effect: ToolEffect = "run"

    def __init__(
        self,
        settings: CommandSettings,
        *,
        network: bool,
        hidden: Iterable[Path] = (),
        background_s: float = 3600.0,
    ) -> None:
        """Run commands as `settings` say; they see nothing of what is in `hidden`."""
        self._settings = settings
        self._background_s = background_s
        self._hidden = tuple(str(real_path(path)) for path in hidden)
        self._sandbox = SandboxFinder(settings.folder, network=network)
        self.timeout_s = settings.timeout_s + GIVEN_UP_S + 3.0
        """The command has a limit of its own, which ends it in order."""

    @property
    def warning(self) -> str:
        """What the sandbox does not cover, once that is known; empty if it is complete."""
        return self._sandbox.warning

    async def prepare(self, args: JsonObject, scope: CallScope) -> "PreparedCommand":
        """Check a command, and find out what contains it.

        Raises:
            ToolFailure: it cannot be run.
        """
        command = args["command"]
        assert isinstance(command, str)  # the schema says so
        if not command.strip():
            raise ToolFailure("The command is empty.")
        try:
            check_command(command)
        except AIError as error:
            raise ToolFailure(error.message) from None
        containment = await self._sandbox.find()
        is_background = args.get("background") is True
        settings = replace(self._settings, timeout_s=self._background_s) if is_background else None
        return PreparedCommand(
            command,
            settings or self._settings,
            containment,
            self._hidden,
            scope,
            self.timeout_s,
            is_background=is_background,
        )

    async def run(self, args: JsonObject) -> ToolOutput:
        """Refuse: what is not prepared was not shown."""
        del args
        return ToolOutput("Not run: the command was not prepared.", is_error=True)


@dataclass(frozen=True, slots=True)
class PreparedCommand:
    """A command that runs exactly as it was shown."""

    command: str
    settings: CommandSettings
    containment: Containment
    hidden: tuple[str, ...]
    scope: CallScope
    timeout_s: float
    is_background: bool = False
    """Whether it runs in the background."""
    schema: ToolSchema = _SCHEMA
    effect: Literal["run"] = "run"

    @property
    def preview(self) -> CallPreview:
        """The command, with where and in which sandbox it runs."""
        parts = [("command", self.command), ("in the folder", str(self.settings.folder))]
        if self.is_background:
            most = f"until it is stopped or the chat is left, at most {self.settings.timeout_s:g} s"
            parts.append(("in the background", most))
        return CallPreview(
            summary=self.containment.sentence,
            parts=tuple(parts),
            is_command=True,
            # what goes on running is asked about each time
            argv=None if self.is_background else plain_words(self.command),
            containment=self.containment.key,
        )

    async def run(self, args: JsonObject) -> ToolOutput:
        """Run the command; what the question showed counts, not the arguments."""
        del args
        before = await anyio.to_thread.run_sync(take_snapshot, self.settings.folder)
        temporary = await anyio.to_thread.run_sync(partial(tempfile.mkdtemp, prefix="ollm-"))
        finish = partial(finish_run, self.scope, self.settings.folder, before, temporary)
        if self.is_background:
            return await self._start(temporary, finish)
        try:
            return await self._run(temporary)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(finish)

    async def _start(self, temporary: str, finish: Callable[[], None]) -> ToolOutput:
        """Start the command in the background, and wait for its first words."""
        start = partial(self.scope.jobs.start, self.command, self._placed(temporary), finish)
        try:
            job = await anyio.to_thread.run_sync(start)
        except AIError as error:
            await anyio.to_thread.run_sync(finish)
            raise ToolFailure(f"{error.message} {error.hint or ''}".strip()) from None
        await wait_for_news(job, FIRST_WORDS_S)
        more = "" if job.is_running else "\nNothing of it runs any more."
        text = f"{report_of(job)}{more}"
        return ToolOutput(text, display=f"{text}\n[{self.containment.word}]")

    def _placed(self, temporary: str) -> CommandSettings:
        """Return the settings with the shell in its sandbox."""
        folder = str(self.settings.folder)
        shell = next((str(path) for path in _SHELLS if is_file(path)), "/bin/sh")
        return replace(
            self.settings,
            environ={**self.settings.environ, "SHELL": shell, "TMPDIR": temporary},
            launcher=self.containment.launcher([folder, temporary], self.hidden),
            temporary=temporary,
        )

    async def _run(self, temporary: str) -> ToolOutput:
        settings = self._placed(temporary)
        try:
            result = await run_command(self.command, settings, AbortSignal(), self.scope.show)
        except AIError as error:
            raise ToolFailure(error.message) from None
        return output_of(result, result.output, self.containment)
