"""`PromptRun`: one prompt, from finding its model to its one end.

States: looking for the model -> answering -> running tools -> answering ... -> ended.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import TypeAlias, TypeVar

import anyio

from ollm_tui.chat.answer_schema import (
    FINAL_REQUEST,
    Verdict,
    as_refusal,
    correction,
    mismatch,
)
from ollm_tui.chat.compacting import RoomKeeper
from ollm_tui.chat.context import ContextGuard
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import require_words
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import WRAP_UP, ChatOptions, no_result
from ollm_tui.chat.request import RequestBuilder
from ollm_tui.chat.resolving import resolve_model, unless_stopped
from ollm_tui.chat.saving import FINISH_S, ChatSaver
from ollm_tui.chat.templates import rendered_texts
from ollm_tui.chat.tool_loop import NothingOffered, RunningCall, ToolOffer, ToolRound
from ollm_tui.chat.turn import Turn
from ollm_tui.protocol import chat_events, provider_events
from ollm_tui.protocol.chat_events import Emit
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import CHECKED, Message
from ollm_tui.protocol.provider_events import End
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.router import ResolvedModel

CUT_CALL = "Not run: the answer was cut before its end, so the call may not be whole."
ONLY_CALLS = Verdict(faults=("It has only calls of tools.",))
TOLD_IN_TEXT = "The tools are described to the model in text instead."
T = TypeVar("T")
Ending: TypeAlias = chat_events.Finish | chat_events.ErrorEvent


class PromptRun:
    """One prompt of one conversation."""

    def __init__(
        self,
        parts: ChatParts,
        conversation: Conversation,
        saving: ChatSaver,
        guard: ContextGuard,
        options: ChatOptions,
        signal: AbortSignal,
    ) -> None:
        self._parts = parts
        self._conversation = conversation
        self._saving = saving
        self._options = options
        self._signal = signal
        self._room = RoomKeeper(parts, conversation, saving, guard, signal)
        self.has_template = False
        """Whether the prompt is a template that was not rendered yet, and so is not saved."""
        self.unsaved: Message | None = None
        """The prompt, which is saved before anything is sent."""
        self._corrections = 0
        self._verdict: Verdict | None = None
        """Whether the newest answer matches its schema; None if it was not checked."""
        self._further_asks = 0
        """Requests that only an answer that cannot be used made necessary."""
        self._round: ToolRound | None = None
        self._was_told = False
        """Whether the model was told that no tools are offered."""
        self._is_corrected = False
        self.model: str | None = None
        """The address of the model that answers, once it is resolved."""
        # Set as soon as the prompt runs and its model is found.
        self._emit: Emit
        self._builder: RequestBuilder

    @property
    def running_calls(self) -> tuple[RunningCall, ...]:
        """The calls of tools that have not ended."""
        return () if self._round is None else self._round.running

    def cancel_call(self, call_id: str) -> bool:
        """Cancel one call; False if it does not run."""
        return self._round is not None and self._round.cancel(call_id)

    async def run(self, emit: Emit) -> Ending:
        """Answer the prompt, tool calls included, and return how it ended."""
        self._emit = emit
        limit_s = self._parts.limits.prompt_s
        with anyio.move_on_after(limit_s):
            return await self._turns()
        return chat_events.ErrorEvent(
            error=AIError(
                ErrorCode.TIMEOUT,
                f"The prompt took longer than {limit_s:g} s.",
                hint="Ask for less at once, or raise the limit.",
            )
        )

    async def _turns(self) -> Ending:
        unsaved, prepare = self.unsaved, self._prepare
        if not await (
            prepare() if unsaved is None else self._saving.write_alongside(unsaved, prepare)
        ):
            return chat_events.Finish(reason="abort")
        if self._options.wraps_up:
            await self._add(Message("user", WRAP_UP, metadata={"correction": True}))
        most = self._options.max_turns or self._parts.limits.max_turns
        for number in count(1):
            ending = await self._turn(number)
            if ending is not None:
                return ending
            await self._emit(chat_events.TurnComplete(turn_number=number))
            if number == most + self._further_asks:
                break
        return chat_events.Finish(reason="max_turns", turn=number)

    async def _prepare(self) -> bool:
        """Find the model and what of the prompt it takes; return False if stopped."""
        resolved = await resolve_model(self._parts, self._conversation, self._options, self._signal)
        if resolved is None or not await self._render_texts(resolved):
            return False
        self.model = str(resolved.ref)
        self._builder = RequestBuilder(
            self._parts, self._conversation, self._options, self._signal, resolved
        )
        return await self._plan() and await self._look_at_media()

    async def _render_texts(self, resolved: ResolvedModel) -> bool:
        """Render what is a template, and save a prompt that was one; return False if stopped."""
        conversation = self._conversation
        work = partial(rendered_texts, conversation, self._options, self._parts, resolved)
        rendered = await self._unless_stopped(work)
        if rendered is None:
            return False
        conversation.messages[:], self._options = rendered
        if self.has_template:
            self.has_template = False
            await self._add(conversation.messages.pop())
        return True

    async def _plan(self) -> bool:
        """Check the schema, if there is one, and look up the model; return False if stopped."""
        if not await self._plan_thinking():
            return False
        schema = self._builder.answer_schema
        if schema is not None and await self._unless_stopped(schema.prepare) is None:
            return False
        return await self._unless_stopped(self._builder.look_up_calls) is not None

    async def _plan_thinking(self) -> bool:
        """Plan the thinking, without a wish that does not suit; return False if stopped."""
        try:
            return await self._unless_stopped(self._builder.plan_thinking) is not None
        except AIError as error:
            if not await self._drop_thinking(error):
                raise
        return True

    async def _drop_thinking(self, error: AIError, number: int = 1) -> bool:
        """Whether only a wish for thinking was refused, so that the answer goes on without it."""
        instead = await self._builder.give_up_thinking(error)
        if instead is None:
            return False
        known, note = (
            self._conversation.fields_left_out,
            (self._builder.resolved.ref.model, instead),
        )
        if note not in known:
            known.add(note)
            await self._emit(
                chat_events.Retrying(
                    attempt=1, wait_s=0.0, error=error, turn=number, instead=instead
                )
            )
        return True

    async def _look_at_media(self) -> bool:
        """Leave out, with a note, what the model does not take; return False if stopped."""
        if not (attached := self._attached()):
            return True
        look = partial(self._parts.media.lacking, self._builder.resolved, attached)
        if lacking := await self._unless_stopped(look):
            await self._leave_out(lacking, attached)
        return lacking is not None

    def _attached(self) -> Counter[str]:
        """Count by type what would be sent beside the text."""
        conversation = self._conversation
        if conversation.drops_attachments:
            return Counter()
        return conversation.sent_history.media(conversation.messages, conversation.turns_left_out)

    async def _leave_out(self, kinds: frozenset[str], attached: Counter[str]) -> None:
        model = self._builder.resolved.ref.model
        require_words(self._conversation.messages, model, kinds)
        self._builder.unsent |= kinds
        count, named = sum(attached[kind] for kind in kinds), tuple(sorted(kinds))
        await self._emit(chat_events.PicturesLeftOut(count=count, model=model, kinds=named))

    async def _drop_media(self, failed: Turn, error: AIError) -> bool:
        """Whether the server refused attachments, so that the request is sent without them."""
        attached = self._attached()
        sent = attached.keys() - self._builder.unsent
        if not sent or failed.partial() is not None:
            return False
        if not self._parts.media.learn_from(self._builder.resolved.ref, error, sent):
            return False
        await self._leave_out(frozenset(sent), attached)
        return True

    async def _turn(self, number: int) -> Ending | None:
        """Send one request and run its tool calls; return None if another turn has to follow."""
        blocked = await self._room.check(self._builder, number, self._emit)
        if blocked is not None:
            return blocked
        turn, end = await self._ask(number)
        while isinstance(end, provider_events.ErrorEvent):
            if self._builder.gives_up_native_tools(end.error, turn):
                await self._emit(
                    chat_events.Retrying(
                        attempt=1, wait_s=0.0, error=end.error, turn=number, instead=TOLD_IN_TEXT
                    )
                )
            elif turn.partial() is None and await self._drop_thinking(end.error, number):
                pass
            elif not await self._drop_media(turn, end.error):
                return chat_events.ErrorEvent(error=self._failure(turn, end.error), turn=number)
            turn, end = await self._ask(number)
        if end.reason == "abort":
            return chat_events.Finish(reason="abort", turn=number)
        if turn.calls:
            return await self._answer_calls(turn, end, number)
        if turn.correction is not None and self._corrections < self._parts.limits.corrections:
            self._corrections += 1
            await self._add(Message("user", turn.correction, metadata={"correction": True}))
            return None
        return await self._finish(turn, end, number)

    def _failure(self, turn: Turn, error: AIError) -> AIError:
        """Return the error of a request; one about its schema says so."""
        if self._builder.answer_schema is not None and turn.partial() is None:
            error = as_refusal(error)
        error.provider = error.provider or self._builder.resolved.ref.provider
        return error

    async def _answer_calls(
        self, turn: Turn, end: provider_events.Finish, number: int
    ) -> Ending | None:
        """Run the calls that may run; return None if the model has to read the results."""
        # A further answer would be cut as well, and so is not requested.
        offer = NothingOffered(CUT_CALL) if turn.is_cut(end) else self._builder.offer
        stopped = await self._run_tools(offer, turn, number)
        if stopped is not None or offer.schemas:
            return stopped
        if self._may_be_told(turn, end):
            self._was_told, self._further_asks = True, self._further_asks + 1
            return None
        return await self._finish(turn, end, number)

    def _may_be_told(self, turn: Turn, end: provider_events.Finish) -> bool:
        """Whether the model, which only called tools that it does not have, is asked once more."""
        if self._was_told or turn.is_cut(end) or self._builder.answer_schema is not None:
            return False
        return turn.why_no_answer == "calls"

    async def _finish(self, turn: Turn, end: provider_events.Finish, number: int) -> Ending | None:
        """End the prompt with its last turn, with a note if that gave no answer."""
        if self._builder.answer_schema is not None:
            return await self._finish_by_schema(turn, end, number)
        cause = turn.why_no_answer
        if cause is not None:
            await self._emit(chat_events.NoAnswer(cause=cause, turn=number))
        return await self._end(end, number)

    async def _finish_by_schema(
        self, turn: Turn, end: provider_events.Finish, number: int
    ) -> Ending | None:
        """End the prompt if the answer matches its schema; else ask for another one, or fail."""
        verdict = self._verdict or ONLY_CALLS
        if self._signal.aborted and self._verdict is None:
            return chat_events.Finish(reason="abort", turn=number)
        if verdict.is_valid and turn.text_block is not None:
            block, value = turn.text_block, verdict.value
            await self._emit(chat_events.StructuredAnswer(value=value, turn=number, block=block))
            return await self._end(end, number)
        error = mismatch(verdict, end.reason if turn.is_cut(end) else None)
        if turn.is_cut(end) or (self._is_corrected and not self._builder.offer.schemas):
            await self._emit(chat_events.TurnComplete(turn_number=number))
            return chat_events.ErrorEvent(error=error, turn=number)
        if self._builder.offer.schemas:
            self._builder.offer_nothing()
            wanted, instead = FINAL_REQUEST, "The answer is requested again, as JSON."
        else:
            self._is_corrected = True
            wanted, instead = correction(verdict), "The model was asked to correct it."
        self._further_asks += 1
        await self._emit(
            chat_events.Retrying(attempt=1, wait_s=0.0, error=error, turn=number, instead=instead)
        )
        await self._add(Message("user", wanted, metadata={"correction": CHECKED}))
        return None

    async def _end(self, end: provider_events.Finish, number: int) -> Ending:
        await self._emit(chat_events.TurnComplete(turn_number=number))
        return chat_events.Finish(
            reason=end.reason, usage=end.usage, timings=end.timings, turn=number
        )

    async def _ask(self, number: int) -> tuple[Turn, End]:
        growing = self._saving.begin_growing()
        turn = Turn(
            self._builder.resolved.provider,
            self._builder.request(),
            number=number,
            next_block=self._conversation.next_block,
            reader=self._builder.reader(),
            sleep=self._parts.sleep,
            growing=growing,
            used_ids=self._conversation.call_ids(),
            left_out=self._conversation.fields_left_out,
        )
        ended = "stopped"
        try:
            end = await turn.run(self._emit)
            if isinstance(end, provider_events.Finish):
                ended = "stopped" if end.reason == "abort" else "complete"
                await self._check(turn, end)
            else:
                ended = "failed"
            self._room.learn(end.usage)
        except AIError as failure:
            end, ended = provider_events.ErrorEvent(failure), "failed"
        except Exception:
            ended = "failed"
            raise
        finally:
            message = turn.partial(self._marks(ended))
            if message is not None:
                self._conversation.messages.append(message)
            await growing.finish(message)
            if ended != "complete":
                await self._add(*(no_result(call) for call in turn.calls))
        return turn, end

    async def _check(self, turn: Turn, end: provider_events.Finish) -> None:
        """Check an answer that calls no tool against its schema, if it has one."""
        self._verdict, schema = None, self._builder.answer_schema
        if schema is not None and end.reason != "abort" and not turn.calls:
            message = turn.partial()
            text = message.text if message is not None else ""
            self._verdict = await self._unless_stopped(partial(schema.check, text))

    def _marks(self, ended: str) -> JsonObject:
        """Return the metadata of an answer: how it ended, and whether it matches its schema."""
        marks: JsonObject = {} if ended == "complete" else {"ended": ended}
        if self._verdict is not None:
            marks[CHECKED] = "valid" if self._verdict.is_valid else "invalid"
        return marks

    async def _run_tools(self, offer: ToolOffer, turn: Turn, number: int) -> Ending | None:
        """Run the calls and store their results; return the prompt's end if they were stopped."""
        tool_round = self._round = ToolRound(
            offer,
            turn.calls,
            turn=number,
            limit=self._parts.limits.calls_per_turn,
            next_block=self._conversation.next_block,
        )
        try:
            all_ended = await tool_round.run(self._emit, self._signal)
        finally:
            await self._add(*tool_round.messages(by_user=self._signal.aborted))
        return None if all_ended else chat_events.Finish(reason="abort", turn=number)

    async def _add(self, *messages: Message) -> None:
        """Append messages to the history, then to the journal, which a slow disk may delay."""
        self._conversation.messages += messages
        deadline = anyio.current_time() + FINISH_S
        for message in messages:
            with anyio.CancelScope(deadline=deadline, shield=True):
                await self._saving.write(message)

    async def _unless_stopped(self, work: Callable[[], Awaitable[T]]) -> T | None:
        return await unless_stopped(self._signal, work)
