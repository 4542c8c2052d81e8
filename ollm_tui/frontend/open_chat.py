"""The open chat as slash commands see it, whatever the front end: its model, tools and exports."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import anyio.to_thread

from ollm_tui.chat.conversation import Conversation
from ollm_tui.commands.files import Exports, Memory, Profiles
from ollm_tui.commands.host import OfferedTool, TaskModels
from ollm_tui.commands.tool_host import (
    BackgroundJob,
    ChangedFile,
    Changes,
    LoopControl,
    SignInControl,
    TakenBack,
    ToolAtWork,
    WorkInProgress,
)
from ollm_tui.dataclass import dataclass, field
from ollm_tui.frontend.figures import seconds
from ollm_tui.frontend.instructions import ChatInstructions
from ollm_tui.frontend.memory import ChatMemory
from ollm_tui.frontend.session import ChatSession
from ollm_tui.frontend.tool_text import words_of
from ollm_tui.models.tasks import ModelTask
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.shell.folder_changes import FolderChanges

if TYPE_CHECKING:
    from ollm_tui.mcp.server import McpServer
    from ollm_tui.models.thinking import ThinkingSupport


@dataclass(frozen=True, slots=True)
class OpenChatExports:
    """The open chat in the formats of an export."""

    session: ChatSession

    async def text(self, form: str) -> str:
        """Return the chat as text."""
        # Imported with the first export, as below.
        from ollm_tui.exchange.formats import format_named

        return await self.session.runtime.exports.text(self.session.client, format_named(form))

    async def write(self, form: str, path: Path | None, *, replaces: bool) -> Path:
        """Write the chat to a file."""
        # As above.
        from ollm_tui.exchange.formats import format_named

        return await self.session.runtime.exports.write(
            self.session.client, format_named(form), path, replaces=replaces
        )


@dataclass(frozen=True, slots=True)
class OpenChatTasks:
    """The models for tasks beside the open chat."""

    session: ChatSession

    def models(self, task: ModelTask) -> Sequence[str]:
        """Return the model that a task uses, or all that can if none is chosen."""
        return self.session.runtime.task_defaults.models(task, self.session.ref)


@dataclass(frozen=True, slots=True)
class OpenChatChanges:
    """What tools changed in the open chat."""

    session: ChatSession

    async def undo(self, *, only_call: bool) -> Sequence[TakenBack]:
        """Take back the changes of the newest prompt, or only of its newest call."""
        changes = self.session.client.changes
        if changes is None:
            return ()
        return await anyio.to_thread.run_sync(partial(changes.undo, only_call=only_call))

    async def by_commands(self) -> FolderChanges:
        """Return which files commands changed."""
        changes = self.session.client.changes
        if changes is None:
            return FolderChanges({}, is_whole=True)
        return await anyio.to_thread.run_sync(changes.commands.merged)

    async def listed(self) -> Sequence[ChangedFile]:
        """Return every file that was changed."""
        changes = self.session.client.changes
        return () if changes is None else await anyio.to_thread.run_sync(changes.changed_files)


@dataclass(frozen=True, slots=True)
class RunningTool:
    """A call of a tool that has not ended."""

    id: str
    words: str
    """The tool, its main argument, and how long it has been running."""


@dataclass(frozen=True, slots=True)
class OpenChatWork:
    """What runs in the open chat."""

    session: ChatSession

    def tools(self) -> Sequence[ToolAtWork]:
        """Return the calls of tools that have not ended."""
        now = time.monotonic()
        return [
            RunningTool(one.call.id, f"{words_of(one.call)} · {seconds(now - one.since)}")
            for one in self.session.client.running_calls
        ]

    def cancel(self, call_id: str) -> bool:
        """Cancel one of them, and let the others go on; False if it has ended."""
        return self.session.client.cancel_call(call_id)

    def jobs(self) -> Sequence[BackgroundJob]:
        """Return the commands in the background, also those that have ended."""
        return self.session.client.jobs.listed

    def stop_job(self, number: int) -> bool:
        """Have one of them ended with all that it started; False if it does not run."""
        return self.session.client.jobs.stop(number)


@dataclass(slots=True)
class OpenChatHost:
    """The part of a `CommandHost` that only reads the open chat and the runtime."""

    session: ChatSession
    exports: Exports = field(init=False)
    tasks: TaskModels = field(init=False)
    changes: Changes = field(init=False)
    work: WorkInProgress = field(init=False)
    loop: LoopControl = field(init=False)
    instructions: ChatInstructions = field(init=False)
    memory: Memory = field(init=False)
    sign_ins: SignInControl = field(init=False)

    def __post_init__(self) -> None:
        self.memory = ChatMemory(self.session)
        self.changes = OpenChatChanges(self.session)
        self.work = OpenChatWork(self.session)
        self.exports = OpenChatExports(self.session)
        self.tasks = OpenChatTasks(self.session)
        self.instructions = ChatInstructions(
            self.session.runtime.instruction_files, self.conversation
        )

    def conversation(self) -> Conversation:
        """Return the open conversation."""
        return self.session.client.conversation

    @property
    def profiles(self) -> Profiles:
        """The profiles of the settings."""
        return self.session.runtime.profiles

    def offered_tools(self) -> Sequence[OfferedTool]:
        """Return all tools, switched on or not."""
        return self.session.runtime.offered_tools()

    def servers(self) -> "Mapping[str, McpServer]":
        """Return the MCP servers of the settings, running or not."""
        servers = self.session.runtime.mcp
        return servers.all if servers is not None else {}

    def tools_off(self) -> Sequence[OfferedTool]:
        """Return the tools that act and that the settings do not name."""
        return self.session.runtime.tools_off()

    def model_addresses(self) -> Mapping[str, bool]:
        """Return the known models as people write them, recent ones first; True: in use."""
        session, runtime = self.session, self.session.runtime
        recent = [ref for one in runtime.recent_models() if (ref := ModelRef.parse(one))]
        listings = runtime.catalog.cached()
        listed = (ModelRef(one.provider, info.name) for one in listings for info in one.models)
        in_use = [session.ref] if session.ref else []  # maybe not listed yet
        known = dict.fromkeys([*recent, *in_use, *listed])
        return {runtime.catalog.shown_address(ref): ref == session.ref for ref in known}

    def tool_mode(self) -> Literal["native", "react"] | None:
        """Return how the model is given its tools, or None if that is unknown."""
        model = self.session.model
        return self.session.runtime.tool_mode(model) if model is not None else None

    async def thinking(self) -> "ThinkingSupport | None":
        """Return how the model thinks, or None if that is unknown."""
        model = self.session.model
        if model is None:
            return None
        try:
            return await self.session.runtime.thinking_of(model)
        except AIError:  # the next prompt says why
            return None

    def takes_window(self) -> bool:
        """Return whether the model's server loads it with the window that a chat asks for."""
        model = self.session.model
        return model is None or self.session.runtime.manager.takes_window(model)
