"""The open chat without a screen: prompts, answers, the queue, and going from chat to chat."""

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import anyio

from ollm_tui.chat.model_support import count_media, media_words
from ollm_tui.commands.parse import ShellLine
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.figures import seconds
from ollm_tui.frontend.instructions import ChatInstructions
from ollm_tui.frontend.last_session import LastSession, OpenChatFile
from ollm_tui.frontend.notes import report_errors
from ollm_tui.frontend.private import PrivateChats
from ollm_tui.frontend.server_news import ServerNews
from ollm_tui.frontend.session import ChatSession
from ollm_tui.frontend.tool_text import missing_tools, words_of
from ollm_tui.frontend.welcome_note import welcome
from ollm_tui.linear.approver import LinearApprover
from ollm_tui.linear.attachments import LinearAttachments
from ollm_tui.linear.message_reading import MessageReading
from ollm_tui.linear.narrator import Narrator, error_line, without_marks
from ollm_tui.linear.questions import Questions
from ollm_tui.linear.shell_commands import LinearCommands
from ollm_tui.linear.speech import voice_in_lines
from ollm_tui.linear.work import CurrentWork, Work
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.store.branches import others_line

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient, ChatStream
    from ollm_tui.chat.prompt import ChatOptions
    from ollm_tui.commands.host import Severity

STOP_GRACE_S: Final = 1.5
"""How long a stopped answer may take to close its connection before its task is cancelled."""
_LEADS: Final = {"info": "", "warning": "Warning: ", "error": "Error: "}
_WAYS: Final = {"chat.models": "/model", "chat.manager": "/models"}


class LinearChat:
    """One conversation at a time, in words."""

    def __init__(
        self,
        session: ChatSession,
        write: Callable[[str], None],
        questions: Questions,
        approver: LinearApprover,
        *,
        reads_thinking: bool = True,
        begin: Callable[[Work], None] = lambda work: work.close(),
    ) -> None:
        """Open no chat yet; `begin` runs work in the background."""
        self.session, self.runtime = session, session.runtime
        self.write = write
        self.questions = questions
        self.approver = approver
        self.private = PrivateChats(self.session, self.say, _always, self.start_new)
        self.narrator = Narrator(write, reads_thinking)
        self.reading = MessageReading(self.session, questions, write)
        self.begin = begin
        self.begun: list[Work] = []
        """What commands have begun, to be awaited after them."""
        self.next_line = ""
        """What stands on the prompt line already: a dictation, a snippet."""
        self.voice = voice_in_lines(
            self.runtime, self._insert, self.begun.append, begin, write, self.say
        )
        self.work = CurrentWork()
        """What goes on that is no answer."""
        file = OpenChatFile(self.runtime.paths.sessions_dir)
        self.last = LastSession(session, begin, self.say, file, lambda: self.has_failed)
        self.has_failed = False
        """Whether the program ends because something in it failed."""
        self.attachments = LinearAttachments(write)
        self.waiting: deque[str] = deque()
        """Prompts that wait for the end of the answer; the main thread appends to it."""
        self.replaced: int | None = None
        """The position of the question that the next prompt replaces."""
        self._signal: AbortSignal | None = None
        self._scope: anyio.CancelScope | None = None
        self._saving_problem: str | None = None
        self._asked_to_quit = False
        self._agreed: set[tuple[ChatClient, str, str]] = set()

    def say(self, text: str, kind: "Severity" = "info", hint: str | None = None) -> None:
        """Write a note."""
        ended = text if not hint or text.endswith((".", "!", "?", ":")) else f"{text}."
        self.write(without_marks(f"{_LEADS[kind]}{f'{ended} {hint}' if hint else ended}"))

    def _insert(self, text: str) -> None:
        self.next_line = f"{self.next_line} {text}".lstrip()

    @property
    def state(self) -> str:
        """What is going on, in a few words."""
        if self.voice.is_dictating:
            return "Recording" if self.voice.is_recording else "Transcribing"
        now = time.monotonic()
        running = [
            f"{words_of(one.call)}, {seconds(now - one.since)}"
            for one in self.session.client.running_calls
        ]
        tools = f"Running the tool {'; '.join(running)}" if running else ""
        return self.work.state or tools or self.narrator.state

    # Opening

    async def open(self) -> None:
        """Say which model answers, and what was said last in a chat that goes on."""
        for problem in self.runtime.problems:
            self.say(problem, "warning")
        await self.private.begin()
        conversation = self.session.client.conversation
        if conversation.messages:
            await self.reading.read_chat()
        if conversation.messages and self.session.ref is not None:
            await self.session.find_window()
        else:
            await self._find_first()
        await self.say_branches()
        ServerNews(self.runtime.mcp, self.say).start()
        files = self.runtime.instruction_files
        await ChatInstructions(files, lambda: self.session.client.conversation).offer(self.say)
        await self.last.look()  # before there is a prompt, which it would have to wait for
        self.last.start()

    async def _find_first(self) -> None:
        try:
            first = await self.runtime.first_model()
        except AIError as error:
            self.write(error_line(error))
            return
        if first.ref is not None:
            self.set_model(first.ref)
        else:
            self.session.drop_model()
        text, hint = welcome(
            first, _WAYS.__getitem__, self.runtime.catalog.shown_address, verb="Type"
        )
        self.say(text, "info", hint)

    def set_model(self, ref: ModelRef) -> None:
        """Use a model from the next prompt on."""
        self.session.set_model(ref)

    async def use_model(self, address: str) -> None:
        """Use the model of that name, and say so.

        Raises:
            AIError: no provider has it.
        """
        resolved = await self.runtime.router.resolve(address)
        self.set_model(resolved.ref)
        self._remember()
        self.say(f"Now using {clean_name(resolved.ref.model)}.")
        await self.runtime.catalog.describe(resolved.ref)

    def _remember(self) -> None:
        try:
            self.session.remember_model()
        except OSError as error:
            self.say(f"The model could not be remembered: {error.strerror}.", "warning")

    # Prompts

    async def send(self, prompt: str) -> None:
        """Send a prompt and read its answer, or run a command."""
        if isinstance(prompt, ShellLine):
            await report_errors(self._run_shell(prompt), self.say)
            return
        if self.session.model is None:
            self.say("No model is selected.", "warning", "Type /model to choose one.")
            return
        if not await self._may_leave_out():
            return
        if self.replaced is not None:
            kept, self.replaced = self.replaced, None
            if not self._rewind(kept):
                return
        content = self.attachments.take(prompt)
        client = self.session.client
        await self.answer(lambda signal: client.chat(content, signal=signal))

    async def retry(self) -> None:
        """Send the newest question again."""
        if not self.session.was_asked:
            self.say("No messages yet.")
            return
        client = self.session.client
        await self.answer(lambda signal: client.retry(signal=signal))

    async def go_on(self, options: "ChatOptions") -> None:
        """Let the model continue where its turns ran out."""
        client = self.session.client
        await self.answer(lambda signal: client.go_on(options, signal))

    async def answer(
        self, ask: "Callable[[AbortSignal], ChatStream]", model: str | None = None
    ) -> None:
        """Read the events of one answer until its end, or until it is stopped."""
        self._signal = signal = AbortSignal()
        ref = ModelRef.parse(model or self.session.model or "")
        self.narrator.begin(ref.model if ref else "the model")
        self.voice.begin_answer()
        try:
            with anyio.CancelScope() as self._scope:
                await self._read(ask(signal))
        finally:
            self._signal = self._scope = None
            self.voice.end_answer()
        await self._after()

    async def _run_shell(self, command: str) -> None:
        """Run a command of the user, until its end or until it is stopped."""
        commands = LinearCommands(
            self.session, self.questions, self.approver.permissions, self.write
        )
        await self.work.stoppable(
            lambda signal: commands.run(command, signal), lambda: "Running the command"
        )

    async def _read(self, stream: "ChatStream") -> None:
        try:
            async with stream as events:
                async for event in events:
                    self.narrator.apply(event)
                    self.voice.take(event)
        except AIError as error:
            self.narrator.fail(error)
        else:
            self.narrator.fail(
                AIError(ErrorCode.STREAM_INCOMPLETE, "The answer ended without an end marker.")
            )

    async def _after(self) -> None:
        if not self.narrator.failed:
            self._remember()
            await self.session.count_use()
        problem = self.runtime.chats.problem if self.runtime.chats is not None else None
        message = problem.message if problem is not None else None
        if message != self._saving_problem:
            self._saving_problem, self._asked_to_quit = message, False
            if problem is not None:
                self.say(problem.message, "warning", problem.hint)
            else:
                self.say("The chat is saved again.")

    @property
    def is_answering(self) -> bool:
        """Whether an answer is coming, or something else that `stop` ends in order."""
        return self._signal is not None or self.work.is_going_on

    def stop(self) -> None:
        """Stop the answer: said at once, the connection closes afterwards."""
        self.work.stop()
        if self._signal is None or self._signal.aborted:
            return
        self._signal.abort()
        self.voice.stop()
        if self._scope is not None:
            self.narrator.stop()
            self._scope.deadline = anyio.current_time() + STOP_GRACE_S

    async def _may_leave_out(self) -> bool:
        """Ask, once for a chat and a model, whether what it does not accept may stay out."""
        client, model = self.session.client, self.session.model or ""
        conversation = client.conversation
        attached = self.attachments.kinds
        if not conversation.drops_attachments:
            attached += count_media(conversation.messages, conversation.turns_left_out)
        unasked = [kind for kind in attached if (client, model, kind) not in self._agreed]
        if not unasked:
            return True
        try:
            lacking = await self.runtime.lacking_media(model, unasked)
        except AIError:  # sending it says what is wrong
            return True
        if not lacking:
            return True
        count = sum(attached[kind] for kind in lacking)
        if lacking == {"image"}:
            question = "This model accepts text only. Send the message without "
            question += "the picture?" if count == 1 else f"{count} pictures?"
        else:
            question = f"This model does not accept {media_words(lacking)}. Send the message "
            question += f"without {counted(count, 'attachment')}?"
        if not await self.questions.is_sure(question):
            self.say("Not sent. The Up key brings the message back.")
            return False
        self._agreed |= {(client, model, kind) for kind in lacking}
        return True

    def _rewind(self, kept: int) -> bool:
        try:
            self.session.client.rewind(kept)
        except AIError as error:
            self.write(error_line(error))
            return False
        self.session.usage = None
        return True

    # From one chat to another

    def start_new(self) -> None:
        """Start a new chat."""
        self._leave()
        self.session.start_new()
        self.private.show_notes()

    async def go_to(self, client: "ChatClient", *, is_read: bool = True) -> None:
        """Continue another chat, and read how it ended."""
        self._leave()
        self.session.go_to(client)
        conversation = client.conversation
        if is_read:
            await self.reading.read_chat()
        if line := missing_tools(conversation.tools, self.runtime.offered_tools):
            self.say(line, "warning", "/tools lists the available tools.")
        await self.session.find_window()

    def _leave(self) -> None:
        self.replaced = None
        self.narrator.failed = self.narrator.can_go_on = False
        self.approver.permissions.forget()

    async def say_branches(self) -> None:
        """Say that the chat has other branches."""
        try:
            branches = await self.runtime.branches.listed(self.session.client)
        except AIError as error:
            self.write(error_line(error))
            return
        if (line := others_line(branches)) is not None:
            self.say(line, hint="/branch shows the next one, /tree lists them.")

    def may_quit(self) -> bool:
        """Whether nothing would be lost; says once what would."""
        chats = self.runtime.chats
        if chats is None or chats.problem is None or not chats.unsaved or self._asked_to_quit:
            return True
        self._asked_to_quit = True
        many = f"{counted(chats.unsaved, 'message')} {'is' if chats.unsaved == 1 else 'are'}"
        hint = "Quit again to leave without saving."
        self.say(f"{many} in memory only. {chats.problem.message}", "warning", hint)
        return False


async def _always(_action: str) -> bool:
    """Return True: commands run between the answers."""
    return True
