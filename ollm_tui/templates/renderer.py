"""`TemplateRenderer`: renders chat templates in a child process that is kept for some seconds.

What takes too much memory or time ends the child, never the program; the next rendering begins a
new one.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal, Self, TypeAlias, cast

import anyio
from anyio import to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.redact import without_secrets
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.templates.conversation import best, fold_system, has_system, variants

RENDER_S: Final = 2.0
START_S: Final = 20.0
"""A loaded machine needs seconds to start Python."""
IDLE_S: Final = 10.0
MEMORY_BYTES: Final = 512 * 1024 * 1024
TEMPLATE_LIMIT: Final = 1024 * 1024
JOB_LIMIT: Final = 64 * 1024 * 1024
_REPLY_LIMIT: Final = 64 * 1024 * 1024
_PIECE: Final = 256 * 1024
_COMMAND: Final = (sys.executable, "-P", str(Path(__file__).with_name("child.py")))

_SYSTEM: Final = "zqsystemzq"
_PROBE: Final[tuple[JsonObject, ...]] = (
    {"role": "system", "content": _SYSTEM},
    {"role": "user", "content": "zquserzq"},
)
"""Tells whether a template has a system role."""

FailureKind: TypeAlias = Literal[
    "raised", "syntax", "unsafe", "memory", "time", "too_large", "too_long", "too_deep",
    "undefined", "failed",
]  # fmt: skip
_REASONS: Final[Mapping[FailureKind, str]] = {
    "raised": "it refuses this conversation: {message}",
    "syntax": "it is not a valid template ({message})",
    "unsafe": "it does what no template may do ({message})",
    "memory": "it needs more than 512 MB of memory",
    "time": "it takes longer than 2 s",
    "too_large": "{message}",
    "too_long": "its text is longer than 4 million characters",
    "too_deep": "it is nested too deeply",
    "undefined": "it fails: {message}",
    "failed": "it fails: {message}",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a template was not rendered."""

    kind: FailureKind
    message: str = ""

    @property
    def reason(self) -> str:
        """Completes "The chat template was refused: ..."."""
        return _REASONS[self.kind].format(message=self.message)

    def error(self) -> AIError:
        """Return it as an error for the user."""
        code = ErrorCode.TIMEOUT if self.kind == "time" else ErrorCode.BAD_REQUEST
        return AIError(
            code,
            f"The chat template was refused: {self.reason}.",
            hint="The model's engine may read it in another way; a chat is not affected.",
        )


Rendered: TypeAlias = str | Refusal
_TOO_LARGE: Final = Refusal("too_large", "it is longer than 1 million characters")


class TemplateRenderer:
    """Renders templates, one job at a time; use it as an async context manager, or `close` it."""

    def __init__(
        self,
        *,
        render_s: float = RENDER_S,
        idle_s: float = IDLE_S,
        memory: int = MEMORY_BYTES,
        command: Sequence[str] = _COMMAND,
    ) -> None:
        self._render_s = render_s
        self._command = (*command, str(memory), str(int(render_s) + 1), str(idle_s))
        self._child: _Child | None = None
        self._turn = anyio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.close()

    @property
    def process_id(self) -> int | None:
        """The id of the child; None without one."""
        return None if self._child is None else self._child.pid

    def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()

    async def render(self, template: str, context: JsonMapping, *, now: str | None = None) -> str:
        """Return the text of one conversation.

        Raises:
            AIError: the template was refused, or no process can be started.
        """
        (text,) = await self.render_all(template, [context], now=now)
        if isinstance(text, Refusal):
            raise text.error()
        return text

    async def render_all(
        self, template: str, contexts: Sequence[JsonMapping], *, now: str | None = None
    ) -> list[Rendered]:
        """Render several conversations with one template; all share one limit of time.

        Raises:
            AIError: no process can be started.
        """
        if len(template) > TEMPLATE_LIMIT:
            return [_TOO_LARGE] * len(contexts)
        job = {"template": template, "contexts": list(contexts), "now": now}
        return await self._results(job, len(contexts))

    async def render_texts(
        self, texts: Sequence[tuple[str, JsonMapping]], *, now: str | None = None
    ) -> list[Rendered]:
        """Render texts that are templates, each with its values; all share one limit of time.

        A variable without a value is refused, which chat templates may have.

        Raises:
            AIError: no process can be started.
        """
        if any(len(text) > TEMPLATE_LIMIT for text, _ in texts):
            return [_TOO_LARGE] * len(texts)
        return await self._results({"texts": list(texts), "now": now}, len(texts))

    async def _results(self, job: Mapping[str, object], count: int) -> list[Rendered]:
        line = await to_thread.run_sync(lambda: json.dumps(job).encode() + b"\n")
        if len(line) > JOB_LIMIT:
            return [Refusal("too_large", "the chat is longer than 64 MB")] * count
        async with self._turn:
            reply = await self._asked(line)
        if isinstance(reply, Refusal):
            return [reply] * count
        results = await to_thread.run_sync(partial(json.loads, reply))
        return [_rendered(result) for result in results["results"]]

    async def render_chat(
        self, template: str, context: JsonMapping, *, now: str | None = None
    ) -> Rendered:
        """Render a conversation in the form that the template takes.

        Without a system role its text goes in front of the first question, as llama.cpp does it.

        Raises:
            AIError: no process can be started.
        """
        forms, folded, probes = _forms(context)
        texts = await self.render_all(template, [*forms, *folded, *probes], now=now)
        shown = [text for text in texts[len(forms) + len(folded) :] if isinstance(text, str)]
        if probes and not any(_SYSTEM in text for text in shown):
            texts = texts[len(forms) :]
        # Looks for the text of every message in all that was rendered.
        return texts[await to_thread.run_sync(best, context, texts[: len(forms)])]

    async def _asked(self, line: bytes) -> bytes | Refusal:
        """Return the child's reply, or that of a new one if it has just ended for idling."""
        is_kept = self._child is not None and self._child.is_running
        reply = await self._reply_of(await self._ready_child(), line)
        if not reply and is_kept:
            reply = await self._reply_of(await self._ready_child(), line)
        return reply or Refusal("memory")

    async def _reply_of(self, child: "_Child", line: bytes) -> bytes | Refusal:
        """Return a child's reply, empty if it ended; it is ended unless it replied properly."""
        reply = b""
        try:
            with anyio.move_on_after(self._render_s) as limit:
                await child.write(line)
                reply = await child.read_line()
        finally:
            if not reply or b'"memory"' in reply:
                self.close()
        if limit.cancelled_caught or (not reply and child.has_run_out_of_time):
            return Refusal("time")
        return reply

    async def _ready_child(self) -> "_Child":
        if self._child is not None and self._child.is_running:
            return self._child
        self.close()
        try:
            # starting a process takes some milliseconds
            self._child = child = await to_thread.run_sync(_Child, self._command)
            ready = b""
            with anyio.move_on_after(START_S):
                ready = await child.read_line()
        except OSError as error:
            raise _cannot_start(error.strerror or "it cannot be started") from error
        except BaseException:
            self.close()
            raise
        if not ready:
            self.close()
            raise _cannot_start("it ended, or did not begin in time")
        return child


def _forms(
    context: JsonMapping,
) -> tuple[list[JsonObject], list[JsonObject], list[JsonObject]]:
    """Return the forms of a conversation, those without a system role, and the probes for it."""
    forms = variants(context)
    if not has_system(context):
        return forms, [], []
    probes = variants({**context, "tools": None, "messages": [*_PROBE]})
    return forms, variants(fold_system(context)), probes


def _rendered(result: JsonValue) -> Rendered:
    fields = cast("Mapping[str, str]", result)
    if "text" in fields:
        return fields["text"]
    return Refusal(cast("FailureKind", fields["error"]), clean_line(fields["message"]).rstrip("."))


def _cannot_start(reason: str) -> AIError:
    return AIError(
        ErrorCode.ENGINE_ERROR,
        f"The process that renders chat templates cannot be used: {reason}.",
        hint="Try again; if it happens again, reinstall the program.",
    )


class _Child:
    """One process, its pipes read and written without waiting in the event loop."""

    def __init__(self, command: Sequence[str]) -> None:
        self._popen = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env=without_secrets(os.environ),
            start_new_session=True,
        )
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._input, self._output = self._popen.stdin, self._popen.stdout
        for pipe in (self._input, self._output):
            os.set_blocking(pipe.fileno(), False)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def is_running(self) -> bool:
        return self._popen.poll() is None

    @property
    def has_run_out_of_time(self) -> bool:
        """Whether the system ended it for the processor time that it took."""
        return self._popen.poll() == -signal.SIGXCPU

    async def write(self, line: bytes) -> None:
        """Send a job; a no-op if the child is gone."""
        rest = memoryview(line)
        with contextlib.suppress(BrokenPipeError):
            while rest:
                await anyio.wait_writable(self._input)
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(self._input.fileno(), rest[:_PIECE]) :]

    async def read_line(self) -> bytes:
        """Return the next line, or nothing if the child ends before its end."""
        pieces, length = [], 0
        while length < _REPLY_LIMIT:
            await anyio.wait_readable(self._output)
            try:
                piece = os.read(self._output.fileno(), _PIECE)
            except BlockingIOError:
                continue
            if not piece:
                return b""
            pieces.append(piece)
            length += len(piece)
            if piece.endswith(b"\n"):
                return b"".join(pieces)
        return b""

    def kill(self) -> None:
        """End it and close its pipes; it holds nothing that has to be left in order."""
        self._popen.kill()
        self._popen.wait()
        for pipe in (self._input, self._output):
            pipe.close()
