"""`run_python`: code of a model in a Python process in the sandbox of commands."""

import shlex
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

import anyio
import anyio.to_thread

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import is_file, real_path, why_unreadable
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import CallPreview, ToolEffect, ToolOutput, ToolSchema
from ollm_tui.shell.command import GIVEN_UP_S, CommandResult, CommandSettings, run_command
from ollm_tui.shell.containment import Containment
from ollm_tui.shell.folder_changes import take_snapshot
from ollm_tui.tools.define import ToolFailure
from ollm_tui.tools.prepared import CallScope
from ollm_tui.tools.sandboxed import SandboxFinder, finish_run, output_of

MAX_CODE_LENGTH: Final = 100_000
"""Characters of code."""
_FILE: Final = "code.py"
_NO_FILE: Final = "Not run: the code cannot be put into a temporary file: {}."
_VARIABLES: Final[Mapping[str, str]] = {
    "MPLBACKEND": "Agg",
    "PYTHONUTF8": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONSAFEPATH": "1",
}
"""Figures are never shown in a window, and modules in the folder take no place of Python's own."""
_SCHEMA: Final = ToolSchema(
    name="run_python",
    description="Run Python code in a new process in the working folder and return what it prints. "
    "Nothing is kept between calls. It has no input and no window: print what you want to see.",
    parameters={
        "type": "object",
        "properties": {"code": {"type": "string", "description": "A whole program."}},
        "required": ["code"],
        "additionalProperties": False,
    },
)


class PythonTool:
    """Runs code in one folder."""

    schema = _SCHEMA
    effect: ToolEffect = "run"

    def __init__(
        self, settings: CommandSettings, *, network: bool, hidden: Iterable[Path] = ()
    ) -> None:
        """Run code as `settings` say; it sees nothing of what is in `hidden`."""
        self._settings = settings
        self._hidden = tuple(str(real_path(path)) for path in hidden)
        self._sandbox = SandboxFinder(settings.folder, network=network)
        self.timeout_s = settings.timeout_s + GIVEN_UP_S + 3.0
        """The process has a limit of its own, which ends it in order."""

    @property
    def warning(self) -> str:
        """What the sandbox does not cover, once that is known; empty if it is complete."""
        return self._sandbox.warning

    async def prepare(self, args: JsonObject, scope: CallScope) -> "PreparedPython":
        """Check the code, and find out what contains it.

        Raises:
            ToolFailure: it cannot be run.
        """
        code = str(args["code"])
        if not code.strip():
            raise ToolFailure("The code is empty.")
        if len(code) > MAX_CODE_LENGTH or "\0" in code:
            raise ToolFailure(
                f"Code has at most {MAX_CODE_LENGTH:,} characters, and none of them NUL."
            )
        if sys.platform == "win32":
            raise ToolFailure("Code cannot be run on Windows yet.")
        return PreparedPython(
            code=code,
            python=_python_of(self._settings.environ),
            settings=self._settings,
            containment=await self._sandbox.find(),
            hidden=self._hidden,
            scope=scope,
            timeout_s=self.timeout_s,
        )

    async def run(self, args: JsonObject) -> ToolOutput:
        """Refuse: what is not prepared was not shown."""
        del args
        return ToolOutput("Not run: the code was not prepared.", is_error=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPython:
    """Code that runs exactly as it was shown."""

    code: str
    python: str
    settings: CommandSettings
    containment: Containment
    hidden: tuple[str, ...]
    scope: CallScope
    timeout_s: float
    schema: ToolSchema = _SCHEMA
    effect: Literal["run"] = "run"

    @property
    def preview(self) -> CallPreview:
        """The whole code, with where and in which sandbox it runs."""
        return CallPreview(
            summary=self.containment.sentence,
            parts=(
                ("code", self.code),
                ("in the folder", str(self.settings.folder)),
                ("with", self.python),
            ),
            is_command=True,
            language="python",
        )

    async def run(self, args: JsonObject) -> ToolOutput:
        """Run the code; what the question showed counts, not the arguments."""
        del args
        before = await anyio.to_thread.run_sync(take_snapshot, self.settings.folder)
        try:
            temporary = await anyio.to_thread.run_sync(partial(tempfile.mkdtemp, prefix="ollm-"))
        except OSError as error:
            raise ToolFailure(_NO_FILE.format(why_unreadable(error))) from None
        try:
            result = await self._result(temporary)
        except AIError as error:
            raise ToolFailure(error.message) from None
        except OSError as error:
            raise ToolFailure(_NO_FILE.format(why_unreadable(error))) from None
        finally:
            with anyio.CancelScope(shield=True):
                folder = self.settings.folder
                await anyio.to_thread.run_sync(finish_run, self.scope, folder, before, temporary)
        output = result.output.replace(f"{temporary}/", "")
        return output_of(result, output, self.containment, appendix=f"\n\nThe code:\n{self.code}")

    async def _result(self, temporary: str) -> CommandResult:
        file = Path(temporary, _FILE)
        data = self.code.encode("utf-8", "replace")
        await anyio.to_thread.run_sync(write_private, file, data)
        settings = replace(
            self.settings,
            further_variables=(*self.settings.further_variables, *_VARIABLES),
            environ={
                **self.settings.environ,
                **_VARIABLES,
                "SHELL": "/bin/sh",
                "TMPDIR": temporary,
            },
            launcher=self.containment.launcher([str(self.settings.folder), temporary], self.hidden),
            temporary=temporary,
        )
        command = f"exec {shlex.quote(self.python)} -u {shlex.quote(str(file))}"
        return await run_command(command, settings, AbortSignal(), self.scope.show)


def _python_of(environ: Mapping[str, str]) -> str:
    """Return the Python of the user's virtual environment, or the one that runs this program."""
    active = environ.get("VIRTUAL_ENV", "")
    own = Path(active, "bin", "python")
    return str(own) if active and is_file(own) else sys.executable
