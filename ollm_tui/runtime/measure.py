"""How much of its context window a conversation uses, for what, and how to free some."""

from collections.abc import Sequence
from dataclasses import replace

from ollm_tui.chat.context import ContextGuard
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import count_media
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import EVERY_MEDIUM, ChatOptions
from ollm_tui.chat.request import RequestBuilder
from ollm_tui.chat.templates import options_for_counting, rendered_texts
from ollm_tui.chat.thinking import PlannedThinking
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.ports import SupportsWindow
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.tokens.count import Sizes, TokenCounter
from ollm_tui.tokens.limits import (
    ContextRemedy,
    DropAttachments,
    LeaveOutTurns,
    RaiseWindow,
    SendEverything,
    WindowSource,
    remedies_for,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFigures:
    """The figures of one moment."""

    used: int
    limit: int
    estimated: bool
    source: WindowSource
    parts: tuple[tuple[str, int], ...]
    """What takes the room, in words, with its tokens."""
    ways: tuple[ContextRemedy, ...]
    """Remedies, the best first; empty while everything fits and nothing is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRoom:
    """The context in use, as a status line shows it."""

    used: int
    limit: int
    is_assumed: bool


async def measure(conversation: Conversation, parts: ChatParts) -> ContextFigures:
    """Count the next request as it stands.

    Raises:
        AIError: there is no model, or it cannot be found.
    """
    maker = await request_maker(conversation, parts)
    resolved, request = maker.resolved, maker.next_request()
    messages = request.conversation if conversation.messages else ()
    counter = _counter(parts)
    guard = ContextGuard(counter, parts.windows)
    await guard.check(maker.as_sent(request), resolved)
    assert guard.state is not None
    counted, window = guard.state.counted, guard.state.window
    conversation.counted = guard.state.base
    # an empty chat is counted with a message that it does not have
    sizes = await counter.sizes(request, counted) if messages else Sizes(counted.tokens, ())
    trained = resolved.info.details.get("context_trained") if resolved.info else None
    # A window that the settings give counts more than what a request asks for.
    can_raise = isinstance(resolved.provider, SupportsWindow) and window.source != "settings"
    largest = trained if isinstance(trained, int) and can_raise else None
    is_shortened = conversation.turns_left_out or conversation.drops_attachments
    return ContextFigures(
        used=counted.tokens,
        limit=window.tokens,
        estimated=counted.estimated,
        source=window.source,
        parts=_parts(messages, sizes.messages, sizes.fixed),
        ways=(
            *remedies_for(messages, sizes, window.tokens, max_window=largest),
            *((SendEverything(),) if is_shortened else ()),
        ),
    )


async def request_maker(conversation: Conversation, parts: ChatParts) -> RequestBuilder:
    """Return what makes the requests of a chat, after asking for its model.

    Raises:
        AIError: there is no model, or it cannot be found; the system prompt cannot be rendered.
    """
    model, router = conversation.model, parts.router
    if model is None:
        raise AIError(
            ErrorCode.MODEL_NOT_FOUND, "No model is selected.", hint="Choose one to chat with."
        )
    ref = ModelRef.parse(model)
    named = await (router.at(ref) if ref else router.resolve(model))
    resolved = await router.informed(named)
    try:
        thinking = await parts.thinking.plan(conversation.should_think, resolved)
    except AIError:  # raised when a prompt is sent; the count is nearly the same
        thinking = None
    _, options = await rendered_texts(conversation, ChatOptions(), parts, resolved)
    maker = _request_maker(conversation, parts, resolved, thinking, options)
    attached = count_media(conversation.messages, conversation.turns_left_out)
    if attached and not conversation.drops_attachments:
        maker.unsent = await parts.media.lacking(resolved, attached)
    return maker


def room_of(conversation: Conversation, parts: ChatParts) -> ContextRoom | None:
    """Return the same without sending a request, from the newest count and cached facts."""
    ref = ModelRef.parse(conversation.model or "")
    resolved = parts.router.known(ref) if ref else None
    if resolved is None:
        return None
    guard = ContextGuard(_counter(parts), parts.windows)
    options = options_for_counting(conversation)
    maker = _request_maker(conversation, parts, resolved, options=options)
    maker.unsent = parts.media.known(resolved, EVERY_MEDIUM)
    request = maker.as_sent(maker.next_request())
    is_empty = not (
        conversation.messages
        or conversation.system_prompt
        or maker.offer.schemas
        or conversation.counted
    )
    window = guard.window_of(request, resolved)
    return ContextRoom(
        used=0 if is_empty else guard.used_by(request, str(resolved.ref), conversation.counted),
        limit=window.tokens,
        is_assumed=window.assumed,
    )


def _request_maker(
    conversation: Conversation,
    parts: ChatParts,
    resolved: ResolvedModel,
    thinking: PlannedThinking | None = None,
    options: ChatOptions | None = None,
) -> RequestBuilder:
    """Return what makes the requests of a chat, so that what is counted is what is sent."""
    return RequestBuilder(
        parts, conversation, options or ChatOptions(), AbortSignal(), resolved, thinking
    )


def _counter(parts: ChatParts) -> TokenCounter:
    return parts.counter or TokenCounter(parts.encodings)


def apply_remedy(conversation: Conversation, way: ContextRemedy) -> None:
    """Apply a remedy; what is left out stays in the history."""
    match way:
        case LeaveOutTurns(turns=turns):
            conversation.turns_left_out += turns
        case RaiseWindow(num_ctx=tokens):
            conversation.options = replace(conversation.options, num_ctx=tokens)
        case DropAttachments():
            conversation.drops_attachments = True
        case SendEverything():
            conversation.turns_left_out = 0
            conversation.drops_attachments = False


def _parts(
    messages: Sequence[Message], sizes: Sequence[int], fixed: int
) -> tuple[tuple[str, int], ...]:
    names = {"user": "questions", "assistant": "answers", "tool": "tool results"}
    sums: dict[str, int] = {"system prompt and tools": fixed}
    for message, size in zip(messages, sizes, strict=True):
        name = names.get(message.role, "other messages")
        sums[name] = sums.get(name, 0) + size
    return tuple((name, tokens) for name, tokens in sums.items() if tokens)
