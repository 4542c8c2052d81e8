"""`ChatClient`: prompts for a conversation, and the events of their answers, one at a time.

An answer that did not end well is kept with `metadata["ended"]`: `stopped` or `failed`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import anyio
import anyio.lowlevel

from ollm_tui.chat.compacting import Compactor, apply_compaction, compactor_for
from ollm_tui.chat.compaction import Compaction
from ollm_tui.chat.context import ContextGuard
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.drawing import DrawingWish, MediaRun, resumable_job, wish_of
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions, check_question
from ollm_tui.chat.prompt_run import Ending, PromptRun
from ollm_tui.chat.resolving import unless_stopped
from ollm_tui.chat.saving import FINISH_S, ChatSaver
from ollm_tui.chat.summary import SummaryProgress
from ollm_tui.chat.tool_loop import RunningCall
from ollm_tui.config.foreign import foreign_code, without_secrets
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.blocks import Content
from ollm_tui.protocol.chat_events import Emit
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ChatJournal
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.channel import Channel
from ollm_tui.tasks import single_error
from ollm_tui.tokens.count import TokenCounter

ChatStream = AbstractAsyncContextManager[AsyncIterator[chat_events.ChatEvent]]
BUFFERED_EVENTS = 32
"""How far the answer may run ahead of a slow reader before reading from the socket stops."""


class ChatClient:
    """Sends prompts to the model of a conversation and keeps the history."""

    def __init__(
        self,
        parts: ChatParts,
        conversation: Conversation | None = None,
        *,
        journal: ChatJournal | None = None,
    ) -> None:
        self._parts = parts
        self.changes = parts.changes
        """What tools changed in this chat; None if that is not kept."""
        self.jobs = parts.jobs
        """The commands of this chat that run in the background."""
        self.conversation = conversation or Conversation()
        self.saving = ChatSaver(journal)
        """Whether the chat is being saved, and why not."""
        counter = parts.counter or TokenCounter(parts.encodings)
        self.guard = ContextGuard(counter, parts.windows)
        """How full the context is, as counted for the newest request."""
        self._busy = False
        self._prompt: PromptRun | None = None

    def chat(
        self,
        prompt: Content | Message,
        options: ChatOptions | None = None,
        signal: AbortSignal | None = None,
    ) -> ChatStream:
        """Send `prompt` and stream the events of its answer.

        A `Message` may be a template: with its `template_format` it is rendered, and the history
        keeps the text that was sent. One that cannot be rendered is not kept.

        Raises:
            AIError: on entering, CONFLICT while another prompt is being answered, BAD_REQUEST
                for an empty prompt, one of another role than `user`, or with a metadata key that
                the chat sets itself. Everything later is the closing `ErrorEvent`.
        """
        question = prompt if isinstance(prompt, Message) else Message("user", prompt)
        check_question(question)
        return self._asking(question, options or ChatOptions(), signal)

    def draw(
        self, prompt: Content, wish: DrawingWish, signal: AbortSignal | None = None
    ) -> ChatStream:
        """Have a model draw `prompt`, whose pictures are edited, and stream the events.

        Raises:
            AIError: on entering, as `chat`.
        """
        question = Message("user", prompt, metadata=wish.metadata())
        return self._asking(question, ChatOptions(), signal)

    def retry(
        self, options: ChatOptions | None = None, signal: AbortSignal | None = None
    ) -> ChatStream:
        """Send the newest prompt again and replace its answer; one that was drawn is drawn again.

        A picture that ollm quit before is picked up where its server still keeps it.

        Raises:
            AIError: on entering, as `chat`; BAD_REQUEST if there is no prompt yet.
        """
        return self._asking(None, options or ChatOptions(), signal)

    def go_on(
        self, options: ChatOptions | None = None, signal: AbortSignal | None = None
    ) -> ChatStream:
        """Continue after the turn limit, without a new prompt.

        Raises:
            AIError: on entering, as `retry`.
        """
        return self._asking(None, options or ChatOptions(), signal, rewind=False)

    @property
    def answered_by(self) -> str | None:
        """The address of the model that the newest prompt went to; None before the first one."""
        return None if self._prompt is None else self._prompt.model

    @property
    def running_calls(self) -> tuple[RunningCall, ...]:
        """The calls of tools that have not ended."""
        return () if self._prompt is None else self._prompt.running_calls

    def cancel_call(self, call_id: str) -> bool:
        """Cancel one call of a tool, and let the others go on; False if it does not run."""
        return self._prompt is not None and self._prompt.cancel_call(call_id)

    async def add(self, message: Message) -> None:
        """Append a message that asks for no answer; the next prompt is sent with it.

        Raises:
            AIError: CONFLICT while a prompt is being answered.
        """
        if self._busy:
            raise _still_answering()
        self.conversation.messages.append(message)
        with anyio.move_on_after(FINISH_S, shield=True):
            await self.saving.write(message)

    def rewind(self, kept: int) -> None:
        """Continue after the first `kept` messages; a saved chat keeps the others as a branch.

        Raises:
            AIError: CONFLICT while a prompt is being answered, BAD_REQUEST when there are fewer.
        """
        if self._busy:
            raise _still_answering()
        if not 0 <= kept <= len(self.conversation.messages):
            raise AIError(ErrorCode.BAD_REQUEST, "The chat has no such message any more.")
        self.conversation.rewind(kept)
        self.saving.rewind(kept)

    async def propose_summary(
        self,
        focus: str = "",
        *,
        signal: AbortSignal | None = None,
        progress: SummaryProgress | None = None,
    ) -> Compaction:
        """Have the model summarise all but the newest messages; `compact` makes it count.

        `focus` says what must not be lost. `progress` may be read meanwhile.

        Raises:
            AIError: CONFLICT while a prompt is being answered; BAD_REQUEST if there are no older
                messages; ABORTED by the signal; the model failed, or wrote no summary.
        """
        return await self._proposed(lambda one: one.summarise(None, focus, progress), signal)

    async def propose_leaving_out(self, *, signal: AbortSignal | None = None) -> Compaction:
        """Propose to leave out the oldest messages; `compact` makes it count.

        Raises:
            AIError: as `propose_summary`, but no answer is needed.
        """
        return await self._proposed(lambda one: one.leave_out(), signal)

    async def compact(self, compaction: Compaction) -> None:
        """Continue with what was proposed; a saved chat keeps the messages as another branch.

        Raises:
            AIError: CONFLICT while a prompt is being answered, or if the chat has changed since.
        """
        if self._busy:
            raise _still_answering()
        await apply_compaction(compaction, self.conversation, self.saving)

    def reworded(self, compaction: Compaction, text: str) -> Compaction:
        """Return what was proposed with other words in the place of its summary."""
        model, estimate = self.conversation.model or "model", self.guard.estimate_message
        before = max(1, estimate(model, compaction.message()))
        after = estimate(model, compaction.with_text(text, 0).message())
        return compaction.with_text(text, round(compaction.tokens_after * after / before))

    async def _proposed(
        self, propose: Callable[[Compactor], Awaitable[Compaction]], signal: AbortSignal | None
    ) -> Compaction:
        if self._busy:
            raise _still_answering()
        self._busy = True
        try:
            signal = signal or AbortSignal()
            compactor = await compactor_for(self._parts, self.conversation, self.guard, signal)
            proposal = await unless_stopped(signal, lambda: propose(compactor))
        except AIError as error:
            without_secrets(error, self._parts.redact)
            raise
        finally:
            self._busy = False
        if proposal is None:
            raise AIError(ErrorCode.ABORTED, "It was stopped.")
        return proposal

    @asynccontextmanager
    async def _asking(
        self,
        question: Message | None,
        options: ChatOptions,
        signal: AbortSignal | None,
        *,
        rewind: bool = True,
    ) -> AsyncIterator[AsyncIterator[chat_events.ChatEvent]]:
        job = resumable_job(self.conversation.messages)
        self._begin(question, rewind=rewind)
        run = self._run(options, signal or AbortSignal(), job)
        try:
            events = Channel[chat_events.ChatEvent](BUFFERED_EVENTS)
            with single_error():
                async with anyio.create_task_group() as group:
                    group.start_soon(self._answer, run, question, events)
                    try:
                        yield events
                    finally:  # first of all, or a waiting event fails beside the reader
                        group.cancel_scope.cancel()
                        events.leave()
        finally:
            self._busy = False

    def _run(
        self, options: ChatOptions, signal: AbortSignal, job: str | None
    ) -> PromptRun | MediaRun:
        parts, conversation, saving = self._parts, self.conversation, self.saving
        if wish_of(conversation.messages[-1]) is not None:
            return MediaRun(parts, conversation, saving, signal, job)
        self._prompt = PromptRun(parts, conversation, saving, self.guard, options, signal)
        return self._prompt

    def _begin(self, question: Message | None, *, rewind: bool) -> None:
        if self._busy:
            raise _still_answering()
        if question is not None:
            self.conversation.messages.append(question)
        elif not self.conversation.messages or (
            rewind and not self.conversation.rewind_to_prompt()
        ):
            raise AIError(ErrorCode.BAD_REQUEST, "No messages yet.")
        elif rewind:
            self.saving.rewind(len(self.conversation.messages))
        self._busy = True

    async def _answer(
        self,
        run: PromptRun | MediaRun,
        question: Message | None,
        events: Channel[chat_events.ChatEvent],
    ) -> None:
        try:
            run.has_template = question is not None and question.template_format is not None
            try:
                if not run.has_template:
                    # It is in the history already, so the file must have it too.
                    run.unsaved = question
                # Any failure, also in an adapter, has to become one event here.
                with foreign_code("A prompt failed unexpectedly", _unexpected):
                    end = await self._saved(run, partial(self._give, events))
            except AIError as error:
                end = chat_events.ErrorEvent(error=error)
            finally:
                if run.has_template:  # the next prompt would be refused for it
                    self.conversation.messages.pop()
            await self._give(events, end)
        finally:
            events.end()

    async def _give(
        self, events: Channel[chat_events.ChatEvent], event: chat_events.ChatEvent
    ) -> None:
        """Send an event, with keys of the settings redacted from errors."""
        if isinstance(event, chat_events.ErrorEvent | chat_events.Retrying):
            without_secrets(event.error, self._parts.redact)
        try:
            await events.send(event)
        except anyio.BrokenResourceError:
            await anyio.lowlevel.checkpoint()  # who left has cancelled this task
            raise

    async def _saved(self, run: PromptRun | MediaRun, emit: Emit) -> Ending:
        """Answer and save the growing answer alongside; a failure of either ends both."""
        with single_error():
            async with anyio.create_task_group() as group:
                group.start_soon(self.saving.keep_pace)
                end = await run.run(emit)
                group.cancel_scope.cancel()
        return end


def _still_answering() -> AIError:
    return AIError(ErrorCode.CONFLICT, "The last prompt is still being answered.")


def _unexpected(error: BaseException) -> AIError:
    return AIError(
        ErrorCode.INTERNAL_ERROR,
        f"Internal error ({type(error).__name__}).",
        hint="Try again; `ollm.log` in the state folder has the details.",
    )
