"""`Compactor`: proposes how to make room in a conversation, and applies what is accepted.

At the limit a prompt makes room by itself, if that is switched on.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace

import anyio

from ollm_tui.chat.compaction import (
    KEPT_SHARE,
    SENT_SHARE,
    Compaction,
    CompactionKind,
    History,
    check_unchanged,
    left_out_text,
    nothing_to_compact,
)
from ollm_tui.chat.context import ContextGuard
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions, messages_to_send
from ollm_tui.chat.request import RequestBuilder
from ollm_tui.chat.resolving import named_model, unless_stopped
from ollm_tui.chat.saving import FINISH_S, ChatSaver
from ollm_tui.chat.summary import SummaryProgress, SummaryRun
from ollm_tui.chat.templates import rendered_texts
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.chat_events import Emit
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message, Usage
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.tokens.limits import Verdict, exceeded

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Division:
    """A history in two parts: what would no longer be sent, and what stays as it is."""

    history: History
    position: int
    """Where the second part begins."""
    window: int
    """The size of the window, in tokens."""

    @property
    def older(self) -> Sequence[Message]:
        """The messages of the first part that are sent now."""
        return self.history.messages[self.history.begin : self.position]

    @property
    def count(self) -> int:
        """Number of these messages."""
        return self.position - self.history.begin


class Compactor:
    """Makes room in one conversation, as one of its models counts and answers."""

    def __init__(
        self,
        parts: ChatParts,
        conversation: Conversation,
        guard: ContextGuard,
        builder: RequestBuilder,
        signal: AbortSignal,
    ) -> None:
        self._parts = parts
        self._conversation = conversation
        self._guard = guard
        self._builder = builder
        self._signal = signal

    async def divide(self, share: float) -> "Division":
        """Return what would go and what would stay, if the turns may take a share of the window.

        Raises:
            AIError: BAD_REQUEST if there is nothing older than the newest question.
        """
        request = self._builder.next_request()
        await self._guard.check(self._builder.as_sent(request), self._builder.resolved)
        state = self._guard.state
        assert state is not None
        used, window = state.counted.tokens, state.window.tokens
        self._ratio = used / max(1, state.base.estimate)
        history = History.of(self._conversation.messages)
        sizes = [
            self._tokens(history.messages[begin:end])
            for begin, end in zip(history.starts, history.ends, strict=True)
        ]
        fixed = max(0, used - sum(sizes))
        # Of a short chat at least half goes: the user asks for it before the limit.
        room = min(max(0, window - fixed) * share, sum(sizes) / 2)
        position = history.position(sizes, room)
        if position is None:
            raise nothing_to_compact()
        return Division(history, position, window)

    async def leave_out(self) -> Compaction:
        """Propose to leave out the oldest turns, so that about half of the window is used.

        Raises:
            AIError: as `divide`.
        """
        division = await self.divide(SENT_SHARE)
        return self._proposal("left_out", left_out_text(division.count), division)

    async def summarise(
        self,
        division: "Division | None" = None,
        focus: str = "",
        progress: SummaryProgress | None = None,
    ) -> Compaction:
        """Have the model summarise all but the newest turns; propose that in their place.

        Raises:
            AIError: as `divide`; ABORTED by the signal; the model or its server failed.
        """
        division = division or await self.divide(KEPT_SHARE)
        run = SummaryRun(
            self._parts,
            self._conversation,
            self._guard,
            self._builder.resolved,
            self._signal,
            progress,
        )
        text = await run.run(division.older, division.window, focus)
        return self._proposal("summary", text, division)

    def _proposal(self, kind: CompactionKind, text: str, division: "Division") -> Compaction:
        proposal = Compaction(
            kind=kind,
            text=text,
            position=division.position,
            messages=division.count,
            tokens_before=self._tokens(division.older),
            tokens_after=0,
            length=len(division.history.messages),
        )
        return replace(proposal, tokens_after=self._tokens([proposal.message()]))

    def _tokens(self, messages: Sequence[Message]) -> int:
        sent = messages_to_send(messages)
        if not sent:
            return 0
        request = Request(model=self._builder.resolved.ref.model, messages=sent)
        return round(self._guard.estimate(request) * self._ratio)

    _ratio = 1.0
    """What the engine counts for each token of the estimate."""


async def compactor_for(
    parts: ChatParts, conversation: Conversation, guard: ContextGuard, signal: AbortSignal
) -> Compactor:
    """Return what makes room in a conversation, between two of its prompts.

    Raises:
        AIError: there is no model, or it cannot be found; ABORTED by the signal.
    """

    async def build() -> RequestBuilder:
        named = await named_model(parts, conversation, ChatOptions())
        resolved = await parts.router.informed(named)
        _, options = await rendered_texts(conversation, ChatOptions(), parts, resolved)
        return RequestBuilder(parts, conversation, options, signal, resolved)

    builder = await unless_stopped(signal, build)
    if builder is None:
        raise AIError(ErrorCode.ABORTED, "It was stopped.")
    return Compactor(parts, conversation, guard, builder, signal)


async def apply_compaction(
    compaction: Compaction, conversation: Conversation, saving: ChatSaver
) -> None:
    """Continue with what was proposed; a saved chat keeps the messages as another branch.

    Raises:
        AIError: CONFLICT if the conversation has changed since it was proposed.
    """
    check_unchanged(compaction, conversation.messages)
    position = compaction.position
    messages = [compaction.message(), *conversation.messages[position:]]
    conversation.messages[position:] = messages
    conversation.turns_left_out = 0
    conversation.counted = None
    with anyio.move_on_after(FINISH_S, shield=True):
        await saving.branch(position, messages)


class RoomKeeper:
    """Compares each request of one prompt with the window, and makes room if that is wanted."""

    def __init__(
        self,
        parts: ChatParts,
        conversation: Conversation,
        saving: ChatSaver,
        guard: ContextGuard,
        signal: AbortSignal,
    ) -> None:
        self._parts = parts
        self._conversation = conversation
        self._saving = saving
        self._guard = guard
        self._signal = signal

    async def check(
        self, builder: RequestBuilder, number: int, emit: Emit
    ) -> chat_events.Finish | chat_events.ErrorEvent | None:
        """Warn if the request nears the window; return the end of the prompt if it is not sent."""
        verdict = await self._verdict(builder)
        if verdict is not None and await self._makes_room(verdict, builder, number, emit):
            verdict = await self._verdict(builder)
        if verdict is None or self._signal.aborted:
            return chat_events.Finish(reason="abort", turn=number)
        if verdict.kind == "blocked":
            return chat_events.ErrorEvent(error=exceeded(verdict), turn=number)
        if verdict.kind == "warning":
            used, limit, estimated = verdict.used, verdict.limit, verdict.estimated
            await emit(
                chat_events.ContextWarning(used=used, limit=limit, estimated=estimated, turn=number)
            )
        return None

    async def _verdict(self, builder: RequestBuilder) -> Verdict | None:
        """Return the verdict on the next request; None if it was stopped."""

        async def check() -> Verdict:
            earlier = self._conversation.counted
            return await self._guard.check_fast(builder.request(), builder.resolved, earlier)

        verdict = await unless_stopped(self._signal, check)
        if verdict is not None:
            self._keep_count()
        return verdict

    def learn(self, usage: Usage | None) -> None:
        """Take what the server reported of the newest request."""
        self._guard.learn(usage)
        self._keep_count()

    def _keep_count(self) -> None:
        self._conversation.counted = self._guard.state.base if self._guard.state else None

    async def _makes_room(
        self, verdict: Verdict, builder: RequestBuilder, number: int, emit: Emit
    ) -> bool:
        """Make room if it is wanted and the window is known; return whether there is more now."""
        wanted = self._parts.compacts
        if wanted is None or verdict.kind == "ok" or verdict.assumed:
            return False
        compactor = Compactor(self._parts, self._conversation, self._guard, builder, self._signal)
        try:
            compaction, why = await self._compaction(compactor, wanted, number, emit)
        except AIError as error:
            if error.known_code is not ErrorCode.ABORTED:
                logger.info("No room was made: %s", error.message)
            return False
        if self._signal.aborted:
            return False
        await apply_compaction(compaction, self._conversation, self._saving)
        await emit(
            chat_events.Compacted(
                kind=compaction.kind,
                messages=compaction.messages,
                freed=compaction.freed,
                position=compaction.position,
                why=why,
                turn=number,
            )
        )
        return True

    async def _compaction(
        self, compactor: Compactor, wanted: CompactionKind, number: int, emit: Emit
    ) -> tuple[Compaction, str | None]:
        """Return what makes room, and why it is no summary if one is wanted."""
        if wanted == "left_out":
            return await compactor.leave_out(), None
        division = await compactor.divide(KEPT_SHARE)
        await emit(chat_events.PromptProgress(phase="compacting", turn=number))
        try:
            summary = await compactor.summarise(division)
        except AIError as error:
            if error.known_code is ErrorCode.ABORTED:
                raise
            why = error.message
        else:
            if summary.freed > 0:
                return summary, None
            why = "The summary is longer than the messages."
        return await compactor.leave_out(), why
