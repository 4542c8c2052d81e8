"""`ChatClient`: a conversation that can be asked.

One prompt at a time. Each ends with exactly one `Finish` or `ErrorEvent`, and by whatever road
the caller leaves the block, the request has ended, what arrived of the answer is in the history,
and the client can be asked again. The question is in the history before it is sent.

An answer that did not end well is kept with `metadata["ended"]`: `stopped` when a person stopped
it, `failed` when an error did.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
from anyio.abc import ObjectSendStream

from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.prompt import ChatOptions, merged_options, messages_to_send
from ollm_tui.chat.turn import Sleep, Turn
from ollm_tui.protocol import chat_events, provider_events
from ollm_tui.protocol.blocks import Content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.router import ResolvedModel, Router
from ollm_tui.providers.single_error import single_error

logger = logging.getLogger(__name__)

ChatStream = AbstractAsyncContextManager[AsyncIterator[chat_events.ChatEvent]]
NOT_RUN = "This tool was not run: no tools are on offer."
BUFFERED_EVENTS = 32
"""How far the answer may run ahead of a slow reader before the socket is left to wait."""


class ChatClient:
    """Asks the model of a conversation and keeps the history."""

    def __init__(
        self,
        router: Router,
        conversation: Conversation | None = None,
        *,
        sleep: Sleep = anyio.sleep,
    ) -> None:
        self._router = router
        self._sleep = sleep
        self.conversation = conversation or Conversation()
        self._busy = False

    def chat(
        self,
        prompt: Content,
        options: ChatOptions | None = None,
        signal: AbortSignal | None = None,
    ) -> ChatStream:
        """Ask `prompt` and stream what comes.

        Raises:
            AIError: on entering, CONFLICT while another prompt is being answered, BAD_REQUEST
                for an empty prompt. Everything later is the closing `ErrorEvent`.
        """
        return self._asking(Message("user", prompt), options or ChatOptions(), signal)

    def retry(
        self, options: ChatOptions | None = None, signal: AbortSignal | None = None
    ) -> ChatStream:
        """Ask the newest question again, in place of the answer it got.

        Raises:
            AIError: on entering, as `chat`; BAD_REQUEST when nothing was asked yet.
        """
        return self._asking(None, options or ChatOptions(), signal)

    @asynccontextmanager
    async def _asking(
        self, question: Message | None, options: ChatOptions, signal: AbortSignal | None
    ) -> AsyncIterator[AsyncIterator[chat_events.ChatEvent]]:
        self._begin(question)
        try:
            send, receive = anyio.create_memory_object_stream[chat_events.ChatEvent](
                BUFFERED_EVENTS
            )
            with single_error():
                async with anyio.create_task_group() as group, receive:
                    group.start_soon(self._answer, send, options, signal or AbortSignal())
                    yield receive
                    group.cancel_scope.cancel()
        finally:
            self._busy = False

    def _begin(self, question: Message | None) -> None:
        if self._busy:
            raise AIError(ErrorCode.CONFLICT, "The last prompt is still being answered.")
        if question is not None:
            self.conversation.messages.append(question)
        elif not self.conversation.rewind_to_prompt():
            raise AIError(ErrorCode.BAD_REQUEST, "Nothing was asked yet.")
        self._busy = True

    async def _answer(
        self,
        send: ObjectSendStream[chat_events.ChatEvent],
        options: ChatOptions,
        signal: AbortSignal,
    ) -> None:
        async with send:
            try:
                end = await self._one_turn(send, options, signal)
            except AIError as error:
                end = chat_events.ErrorEvent(error=error)
            except Exception as error:  # the face of the runtime: a fault here must stay one event
                logger.exception("A prompt failed unexpectedly")
                end = chat_events.ErrorEvent(
                    error=AIError(
                        ErrorCode.INTERNAL_ERROR,
                        f"Something went wrong inside the program ({type(error).__name__}).",
                        hint="Try again; `ollm.log` in the state folder has the details.",
                    )
                )
            await send.send(end)

    async def _one_turn(
        self,
        send: ObjectSendStream[chat_events.ChatEvent],
        options: ChatOptions,
        signal: AbortSignal,
    ) -> chat_events.Finish | chat_events.ErrorEvent:
        found = await self._resolve(options, signal)
        if found is None:
            return chat_events.Finish(reason="abort")
        turn = Turn(
            found.provider,
            self._request(found, options, signal),
            number=1,
            next_block=self.conversation.next_block,
            sleep=self._sleep,
        )
        ended = "stopped"
        try:
            end = await turn.run(send.send)
            ended = _how_it_ended(end)
        except AIError as failure:
            end, ended = provider_events.ErrorEvent(failure), "failed"
        except Exception:
            ended = "failed"
            raise
        finally:
            self._remember(turn, ended)
        match end:
            case provider_events.ErrorEvent(error=error):
                error.provider = error.provider or found.ref.provider
                return chat_events.ErrorEvent(error=error)
            case provider_events.Finish():
                await send.send(chat_events.TurnComplete(turn_number=1))
                return chat_events.Finish(reason=end.reason, usage=end.usage, timings=end.timings)

    async def _resolve(self, options: ChatOptions, signal: AbortSignal) -> ResolvedModel | None:
        """Find the model; None when the search was stopped."""
        model = options.model or self.conversation.model
        if model is None:
            raise AIError(
                ErrorCode.MODEL_NOT_FOUND, "No model is chosen.", hint="Choose one to chat with."
            )
        with anyio.CancelScope() as scope:
            unsubscribe = signal.subscribe(scope.cancel)
            try:
                return await self._router.resolve(model)
            finally:
                unsubscribe()
        return None

    def _request(self, found: ResolvedModel, options: ChatOptions, signal: AbortSignal) -> Request:
        talk = self.conversation
        return Request(
            model=found.ref.model,
            messages=messages_to_send(talk.messages),
            system_prompt=options.system_prompt or talk.system_prompt,
            options=merged_options(talk.options, options.options),
            should_think=talk.should_think,
            signal=signal,
        )

    def _remember(self, turn: Turn, ended: str) -> None:
        message = turn.partial({"ended": ended} if ended != "complete" else None)
        if message is None:
            return
        history = self.conversation.messages
        history.append(message)
        # No tools are on offer, yet some models call: without a result servers refuse what follows.
        history += [
            Message("tool", NOT_RUN, name=call.name, tool_call_id=call.id)
            for call in message.tool_calls
        ]


def _how_it_ended(end: provider_events.End) -> str:
    match end:
        case provider_events.ErrorEvent():
            return "failed"
        case provider_events.Finish(reason="abort"):
            return "stopped"
        case provider_events.Finish():
            return "complete"
