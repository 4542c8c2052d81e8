"""From the command line's choices to a chat in lines, and to the exit code.

The main thread has the terminal: it edits lines, takes keys and gets the signals. The event loop
runs beside it and only writes, so an answer is read while the next message is typed.
"""

import base64
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from anyio.from_thread import BlockingPortal, start_blocking_portal

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import (
    CommandCall,
    parse,
    prompt_text,
    run_command,
    shell_line,
    suggest,
)
from ollm_tui.commands.registry import Command, plugin_commands
from ollm_tui.commands.server_prompts import CommandList
from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import default_paths
from ollm_tui.decode.clean import clean
from ollm_tui.frontend.grants import folder_grants
from ollm_tui.frontend.notes import report_errors
from ollm_tui.frontend.prompt_history import PromptHistory
from ollm_tui.frontend.session import ChatSession
from ollm_tui.linear.approver import LinearApprover
from ollm_tui.linear.chat import LinearChat
from ollm_tui.linear.commands import LinearCommands, help_lines, without_screen
from ollm_tui.linear.host import LinearHost
from ollm_tui.linear.narrator import error_line
from ollm_tui.linear.questions import Questions
from ollm_tui.linear.shell_commands import JobNews
from ollm_tui.linear.terminal import END, ESCAPE, INTERRUPT, Terminal
from ollm_tui.linear.work import Background, background
from ollm_tui.protocol.errors import AIError
from ollm_tui.runtime.opening import RuntimeOpener, opening

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime

PROMPT: Final = "You: "
_NEXT: Final = "Next: "
_MORE: Final = "More: "
_BLOCK: Final = '"""'
_GRACE_S: Final = 5.0
_OLD_PROMPTS: Final = 200
_MAX_COPIED: Final = 75_000
_EXITS: Final = ("SIGTERM", "SIGHUP", "SIGQUIT")


def run_linear(
    flags: Flags,
    keep_secret: Callable[[Iterable[str]], None],
    redact: Callable[[str], str],
    *,
    reads_thinking: bool = True,
) -> int:
    """Run the chat until it is left; `keep_secret` gets the keys in the settings."""
    terminal = Terminal(redact)
    app = LinearApp(flags, terminal, keep_secret, reads_thinking=reads_thinking)
    with _signals(app):
        try:
            return app.run()
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        except _Ended as ended:
            return ended.code
        finally:
            terminal.close()


AT_ONCE: Final = frozenset({"cancel", "jobs"})
"""Commands that run while an answer comes: they are about what runs."""


class _Ended(BaseException):
    """A signal ended the program."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


@contextmanager
def _signals(app: "LinearApp") -> Iterator[None]:
    """Stop an answer by Ctrl+C, and end in order by other signals."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if app.is_working:
            app.is_interrupted = True
            app.terminal.wake()
        else:
            raise KeyboardInterrupt

    def leave(number: int, _frame: FrameType | None) -> None:
        watchdog = threading.Timer(_GRACE_S, os._exit, (128 + number,))
        watchdog.daemon = True
        watchdog.start()
        raise _Ended(number)

    handlers = {signal.SIGINT: interrupt}
    handlers |= {getattr(signal, name): leave for name in _EXITS if hasattr(signal, name)}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _start(portal: BlockingPortal, act: Callable[[], None]) -> None:
    portal.start_task_soon(act)


class LinearApp:
    """Reads what is typed, hands it to the chat in the event loop, and waits for its end."""

    def __init__(
        self,
        flags: Flags,
        terminal: Terminal,
        keep_secret: Callable[[Iterable[str]], None],
        *,
        reads_thinking: bool,
    ) -> None:
        self.terminal = terminal
        self.is_interrupted = False
        self.is_working = False
        """Whether Ctrl+C stops what is going on, instead of the line that is typed."""
        self._flags = flags
        self._keep_secret = keep_secret
        self._reads_thinking = reads_thinking
        self._questions = Questions(terminal)
        history = default_paths().state_dir / "prompts.jsonl"
        self._history = PromptHistory(None if flags.private else history)
        self._is_over = False
        self._was_stopped = False
        self._commands: Sequence[Command] = COMMANDS

    def run(self) -> int:
        """Open the runtime, chat, and close it."""
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(opening(self._flags)) as opened,
            portal.wrap_async_context_manager(background(portal)) as beside,
        ):
            self._portal: BlockingPortal = portal
            self._background: Background = beside
            self._questions.call_loop = lambda act: _start(portal, act)
            # An error that left this block would come back inside a group.
            try:
                outcome: int | BaseException = self._run(opened)
            except BaseException as error:  # noqa: BLE001 -- raised again below
                outcome = error
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _run(self, opened: RuntimeOpener) -> int:
        try:
            runtime = self._portal.call(opened.runtime)
        except AIError as error:
            self.terminal.say(error_line(error))
            return 1
        finally:
            self._keep_secret(opened.secrets())
        self._build(runtime)
        try:
            return self._chat_on()
        except Exception:
            self._chat.has_failed = True
            raise

    def _build(self, runtime: "Runtime") -> None:
        say = self.terminal.say
        approver = LinearApprover(self._questions, say)
        approver.permissions.folder = folder_grants(runtime)
        runtime.ask_before_tools(approver)
        if runtime.copies is not None:
            self._portal.call(runtime.copies.start)
        session = ChatSession(
            runtime,
            is_private=self._flags.private,
            schema=self._flags.schema,
            schema_file=self._flags.schema_file,
            keep_prompts=self._history.keep,
        )
        self._chat = LinearChat(
            session,
            say,
            self._questions,
            approver,
            reads_thinking=self._reads_thinking,
            begin=self._background.begin,
        )
        self._job_news = JobNews(session, say)
        self._host = LinearHost(session, self._chat, self._leave, self._copy)
        self._host.writing.submit = self._submit
        self._host.snippets.listed()  # completion knows them then
        self._portal.call(runtime.download_service.go_on)
        self._background.begin(self._host.views.downloads.follow_earlier())
        more: Sequence[Command] = ()
        if runtime.plugin_commands:
            more, problems = plugin_commands(COMMANDS)
            for problem in problems:
                self._chat.say(problem, "warning")
        own = LinearCommands(self._chat, self._host).all()
        fixed = (*without_screen(COMMANDS), *own, *more)
        self._commands = CommandList(fixed, self._host.servers)
        self._host.views.show_help = lambda: say(
            "\n".join(help_lines(lambda: self._commands, self._host))
        )
        for prompt in self._history.recent(_OLD_PROMPTS):
            self.terminal.remember(prompt)

    def _leave(self) -> None:
        self._is_over = True

    def _copy(self, text: str) -> None:
        if len(text.encode()) > _MAX_COPIED:
            self._chat.say("This is too large for the terminal's clipboard.", "error")
            return
        encoded = base64.b64encode(clean(text).encode()).decode()
        self.terminal.send(f"\x1b]52;c;{encoded}\x07")
        self._chat.say("Sent to the terminal's clipboard.")

    # The loop of the main thread

    def _chat_on(self) -> int:
        self.terminal.say("ollm, screen reader mode. /help lists commands and keys.")
        # Throughout, since the terminal itself would show what is typed between two lines.
        with self.terminal.keys():
            self._work(self._chat.open)
            self._take_lines()
        return 0

    def _take_lines(self) -> None:
        while not self._is_over:
            self._job_news.look()  # between what was read and what is typed
            try:
                text = self._typed()
            except KeyboardInterrupt:
                continue
            except EOFError:
                self._host.quit()
                continue
            if not text.strip():
                continue
            self._history.add(text, sent=text)
            self.terminal.remember(text)
            self._work(self._submit, text)
            self._work_off()

    def _typed(self) -> str:
        """Return a message, of several lines if each but the last ends with a backslash."""
        initial, self._chat.next_line = self._chat.next_line, ""
        text = self._line(PROMPT, initial)
        is_block = text.lstrip().startswith(_BLOCK)
        while text.endswith("\\") or (is_block and text.count(_BLOCK) < 2):
            text = text.removesuffix("\\") + "\n" + self._line(_MORE)
        return text

    def _line(self, prompt: str, initial: str = "") -> str:
        return self.terminal.read_line(prompt, initial, self._complete)

    def _complete(self, draft: str) -> Sequence[str]:
        suggestions = suggest(draft, self._commands, self._host)
        if suggestions is None:
            return ()
        start = draft[: suggestions.start]
        return [
            f"{start}{one.value}{' ' if one.takes_more else ''}"
            for one in suggestions.items
            if not one.is_example
        ]

    def _work_off(self) -> None:
        """Send what was queued meanwhile, up to an error or a stop."""
        waiting = self._chat.waiting
        while waiting and not (self._chat.narrator.failed or self._was_stopped or self._is_over):
            text = waiting.popleft()
            self._chat.write(f"{PROMPT}{text}")
            self._work(self._submit, text)
        if waiting:
            for text in waiting:
                self.terminal.remember(text)
            waiting.clear()
            self._chat.say("What was queued was not sent. The Up key brings it back.")

    def _work(self, work: Callable[..., Any], *arguments: object) -> None:
        """Run something in the event loop, and take keys and questions until it ends."""
        self._was_stopped = self.is_interrupted = False
        self.is_working = True
        future: Future[Any] = self._portal.start_task_soon(partial(work, *arguments))
        future.add_done_callback(lambda _: self.terminal.wake())
        try:
            self._hear(self.terminal.key(0), future)  # typed before there could be a question
            while not future.done():
                if not self._questions.answer_next():
                    self._hear(self.terminal.key(), future)
        except EOFError:
            self._is_over = True
            future.cancel()
        finally:
            self.is_working = False
        try:
            future.result()
        except CancelledError:
            self._chat.say("Stopped.")

    def _hear(self, key: str | None, future: "Future[Any]") -> None:
        if self.is_interrupted or key in {ESCAPE, INTERRUPT}:
            self.is_interrupted = False
            self._stop(future)
        elif key in {"\n", "\r"} and self._chat.voice.is_recording:
            self._portal.call(self._chat.voice.insert)
        elif key in {"\n", "\r"}:
            waiting = f", {len(self._chat.waiting)} queued" if self._chat.waiting else ""
            self.terminal.say(f"{self._chat.state}{waiting}.")
        elif key == END:
            self.terminal.say("Escape stops what is going on.")
        elif key and key.isprintable():
            self._queue(key, future)

    def _stop(self, future: "Future[Any]") -> None:
        self._was_stopped = True
        if self._chat.is_answering:
            self._portal.call(self._chat.stop)
        else:
            future.cancel()

    def _queue(self, first: str, future: "Future[Any]") -> None:
        self.is_working = False
        try:
            text = self._line(_NEXT, first)
        except (KeyboardInterrupt, EOFError):
            self.terminal.say("Not queued.")
            return
        finally:
            self.is_working = True
        call = parse(text, self._commands)
        if isinstance(call, CommandCall) and call.command.name == "quit":
            self._stop(future)
            self._host.quit()
        elif isinstance(call, CommandCall) and call.command.name in AT_ONCE:
            self._portal.call(run_command, call, self._host)
        elif text.strip():
            self._history.add(text, sent=text)
            self.terminal.remember(text)
            self._chat.waiting.append(text)
            self.terminal.say(f"Queued, {len(self._chat.waiting)} waiting.")

    async def _submit(self, text: str) -> None:
        """Run a command or send a prompt; in the event loop."""
        if (command := shell_line(text)) is not None:
            await self._chat.send(command)
            return
        call = parse(text, self._commands)
        if call is None:
            await self._chat.send(prompt_text(text))
            return
        await run_command(call, self._host)
        for work in self._host.take_begun():
            await report_errors(work, self._chat.say)
