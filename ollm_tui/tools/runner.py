"""The tools there are, which of them a prompt offers, and one call from request to result.

Every failure on the way is an error result. No id is ever run a second time.
"""

import copy
import logging
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TypeAlias

import anyio

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.counted import counted
from ollm_tui.decode.redact import without_private_keys
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.ports import Approver, Tool
from ollm_tui.protocol.tools import (
    STOPPED,
    Approval,
    ToolCall,
    ToolEffect,
    ToolOutput,
    ToolResult,
    ToolSchema,
)
from ollm_tui.shell.jobs import BackgroundJobs
from ollm_tui.tools.define import ToolFailure
from ollm_tui.tools.prepared import CallScope, PreparesCalls
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.writing.journal import ChangeJournal

MAX_BYTES = 256 * 1024
PREPARING_S = 20.0
"""How long a call may take to see what it would do."""
_UNSENDABLE = lazy_re("[\x00\ud800-\udfff]")


def repair(text: str) -> str:
    """Replace what JSON, SQLite or UTF-8 cannot hold: NUL and lone surrogates."""
    return _UNSENDABLE.sub("\ufffd", text)


def keep_ends(text: str, max_bytes: int = MAX_BYTES) -> str:
    """Keep the beginning and the end of a long text, with a note of what is left out between."""
    if len(text) <= max_bytes // 4:
        return text
    data = text.encode()
    if len(data) <= max_bytes:
        return text
    tail_bytes = max_bytes // 4
    head = data[: max_bytes - tail_bytes].decode(errors="ignore")
    tail = data[len(data) - tail_bytes :].decode(errors="ignore")
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[... {counted(left_out, 'byte')} left out here ...]\n{tail}"


_EFFECTS: Mapping[ToolEffect, str] = {
    "write": "change files",
    "run": "run programs",
    "network": "use the network",
}


class ReadOnly:
    """Allows tools that only read; refuses the others with the reason."""

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        """Decide by the tool's effect, without asking."""
        if tool.effect == "read":
            return Approval(allowed=True)
        would = _EFFECTS.get(tool.effect, tool.effect)
        return Approval(
            allowed=False,
            reason=f"{call.name} could {would}, and only tools that read are allowed here.",
        )


_TRUSTED_TOOLS = frozenset({"current_time", "calculate"})
"""Tools whose results hold nothing from outside."""

NOT_ALLOWED = "Not run: it was not allowed."

_Interruption: TypeAlias = Literal["denied", "stopped"] | None

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Entry:
    call: ToolCall
    ended: anyio.Event = field(default_factory=anyio.Event)
    output: ToolOutput | None = None
    is_denied: bool = False
    result: ToolResult | None = None


class ToolRunner:
    """Runs the calls of one conversation, any number concurrently."""

    def __init__(
        self,
        registry: ToolRegistry,
        approver: Approver,
        *,
        changes: ChangeJournal | None = None,
        jobs: BackgroundJobs | None = None,
        redact: Callable[[str], str] = without_private_keys,
    ) -> None:
        self._registry = registry
        self._approver = approver
        self._changes = changes or ChangeJournal()
        self._jobs = jobs or BackgroundJobs()
        self._redact = redact
        self._entries: dict[str, _Entry] = {}
        self._untrusted_prompts: set[str] = set()
        """The prompts in which text from outside came to the model."""

    def offer(self, names: Collection[str]) -> "ToolOffer":
        """Offer the tools with these names for one prompt; unknown names are ignored."""
        return ToolOffer(self, self._registry.named(names), secrets.token_hex(8))

    def mark_untrusted(self, prompt_id: str) -> None:
        """Note that text from outside came to the model in a prompt."""
        self._untrusted_prompts.add(prompt_id)

    def result_of(self, call_id: str) -> ToolResult | None:
        """Return the result of a call, or None if it has not ended or is unknown."""
        entry = self._entries.get(call_id)
        return entry.result if entry else None

    async def run(
        self,
        call: ToolCall,
        offered: Mapping[str, Tool],
        prompt_id: str = "",
        show: Callable[[str], None] = lambda _output: None,
    ) -> ToolResult:
        """Run a call of an offered tool, or return the result of the earlier call with its id.

        A tool that is not in `offered` is not run, and no approval is requested for it. `show` gets
        the end of the output while it runs.
        """
        known = self._entries.get(call.id)
        if known is not None:
            return await self._again(call, known)
        entry = self._entries[call.id] = _Entry(call)
        try:
            has_untrusted_input = prompt_id in self._untrusted_prompts
            scope = CallScope(
                call.id,
                prompt_id,
                self._changes,
                show,
                has_untrusted_input=has_untrusted_input,
                jobs=self._jobs,
            )
            await _attempt(entry, offered, self._approver, scope)
        finally:
            # A call that finished despite a cancellation is reported as done.
            interruption: _Interruption = "denied" if entry.is_denied else None
            if entry.output is None:
                interruption = "stopped"
            output = entry.output or ToolOutput(STOPPED, is_error=True)
            entry.result = self._result(call, output, interruption)
            entry.ended.set()
        tool = offered.get(call.name)
        is_own = tool is None or tool.effect == "write" or call.name in _TRUSTED_TOOLS
        if not (is_own or entry.is_denied):
            self.mark_untrusted(prompt_id)
        return entry.result

    async def _again(self, call: ToolCall, entry: _Entry) -> ToolResult:
        if (call.name, call.args) != (entry.call.name, entry.call.args):
            text = f"Not run: the id {call.id} belongs to an earlier call of {entry.call.name}."
            return self._result(call, ToolOutput(text, is_error=True))
        await entry.ended.wait()
        assert entry.result is not None
        return entry.result

    def _result(
        self, call: ToolCall, output: ToolOutput, interruption: _Interruption = None
    ) -> ToolResult:
        display = output.display
        return ToolResult(
            call_id=call.id,
            name=call.name,
            content=self._fit(output.content),
            is_error=output.is_error,
            display=None if display is None else self._fit(display),
            media=output.media,
            interruption=interruption,
        )

    def _fit(self, text: str) -> str:
        # Keys are redacted before the cut, which could leave an unrecognisable part of one.
        return keep_ends(self._redact(repair(text)), MAX_BYTES)


class ToolOffer:
    """The tools of one prompt: exactly these are offered, may run, and are listed by a refusal."""

    def __init__(self, runner: ToolRunner, tools: Collection[Tool], prompt_id: str) -> None:
        self._runner = runner
        self._prompt_id = prompt_id
        self._listeners: dict[str, Callable[[str], None]] = {}
        self._tools = {tool.schema.name: tool for tool in tools}
        self.schemas: tuple[ToolSchema, ...] = tuple(tool.schema for tool in tools)
        """The schemas that are sent to the model."""

    def listen(self, call_id: str, show: Callable[[str], None]) -> None:
        """Have `show` called with the end of a call's output while it runs."""
        self._listeners[call_id] = show

    def mark_untrusted(self) -> None:
        """Count what was read earlier in the same turn, such as before the limit of requests."""
        self._runner.mark_untrusted(self._prompt_id)

    def result_of(self, call_id: str) -> ToolResult | None:
        """Return the result of a call, or None if it has not ended or is unknown."""
        return self._runner.result_of(call_id)

    async def run(self, call: ToolCall) -> ToolResult:
        """Run one call; every failure is a result, and so is a tool that is not on offer."""
        show = self._listeners.get(call.id, lambda _output: None)
        return await self._runner.run(call, self._tools, self._prompt_id, show)


async def _attempt(
    entry: _Entry, offered: Mapping[str, Tool], approver: Approver, scope: CallScope
) -> None:
    call = entry.call
    with _faults_reported(entry):
        tool = offered.get(call.name)
        if tool is None:
            raise ToolFailure(not_offered(call.name, offered))
        args = _checked(call, tool)
        if isinstance(tool, PreparesCalls):
            tool = await _prepared(tool, args, scope)
        approval = await approver.approve(call, tool)
        if approval.allowed:
            await _run_in_time(entry, tool, args)
        else:
            reason = f" {approval.reason}" if approval.reason else ""
            entry.output, entry.is_denied = ToolOutput(f"{NOT_ALLOWED}{reason}"), True


@contextmanager
def _faults_reported(entry: _Entry) -> Iterator[None]:
    try:
        yield
    except ToolFailure as failure:
        entry.output = ToolOutput(str(failure), is_error=True)
    except (Exception, SystemExit) as error:
        # A tool may be foreign code: its exceptions become results and end nothing else.
        logger.exception("call %s of the tool %s failed", entry.call.id, entry.call.name)
        entry.output = ToolOutput(f"The tool failed: {_named(error)}", is_error=True)


def _checked(call: ToolCall, tool: Tool) -> JsonObject:
    """Return arguments that fit the schema, as a copy that the tool may change."""
    if call.args is None:
        raise ToolFailure(
            f"Not run: the arguments of {call.name} are not one JSON object. "
            'Call it again with an object such as {"name": "value"}, '
            "double quotes, no text around it and no key twice."
        )
    # Loaded only for a call.
    from ollm_tui.tools.arguments import find_faults

    faults = find_faults(tool.schema, call.args)
    if faults:
        raise ToolFailure(
            f"Not run: the arguments of {call.name} do not fit. {' '.join(faults)} "
            "Correct them and call it again."
        )
    return copy.deepcopy(call.args)


async def _prepared(tool: PreparesCalls, args: JsonObject, scope: CallScope) -> Tool:
    """Return the call as it would run; what is asked about and what runs are this one object."""
    with anyio.move_on_after(PREPARING_S):
        return await tool.prepare(copy.deepcopy(args), scope)
    raise ToolFailure(f"Not run: it took longer than {PREPARING_S:g} s to prepare.")


async def _run_in_time(entry: _Entry, tool: Tool, args: JsonObject) -> None:
    """Run a tool as a child task, so that a cancellation from inside ends only the tool."""

    async def run() -> None:
        with _faults_reported(entry):
            entry.output = _as_output(await tool.run(args))

    with anyio.move_on_after(tool.timeout_s) as limit:
        async with anyio.create_task_group() as group:
            group.start_soon(run)
    if entry.output is not None:
        return
    if limit.cancelled_caught:
        raise ToolFailure(f"Stopped: it took longer than {tool.timeout_s:g} s.")
    raise ToolFailure("It was cancelled from inside and gave no result.")


def _as_output(output: object) -> ToolOutput:
    if isinstance(output, ToolOutput) and isinstance(output.content, str):
        return output
    raise TypeError(f"it gave {type(output).__name__}, not text")


def not_offered(name: str, names: Collection[str]) -> str:
    """Return the refusal of a tool that is not offered; it lists those that are."""
    if not names:
        return "Not run: no tools are offered. Answer without them."
    # Loaded only for a name that is not known.
    import difflib

    near = difflib.get_close_matches(name[:64], sorted(names), n=1)
    suggestion = f" Did you mean {near[0]}?" if near else ""
    listed = ", ".join(sorted(names))
    return f"Not run: the tool {name[:64]!r} is not offered.{suggestion} Offered: {listed}."


def _named(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    message = " ".join(str(error).split())[:500]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
