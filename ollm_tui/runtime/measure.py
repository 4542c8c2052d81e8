"""How full a conversation's context is, what takes the room, and what can be done about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ollm_tui.chat.context import ContextGuard
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.prompt import messages_to_send
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.ports import SupportsWindow
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolSchema
from ollm_tui.providers.router import Router
from ollm_tui.tokens.budget import (
    DropAttachments,
    LeaveOutTurns,
    RaiseWindow,
    SendEverything,
    WayOut,
    ways_out,
)
from ollm_tui.tokens.count import Sizes, TokenCounter
from ollm_tui.tokens.limits import WindowSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFigures:
    """The figures of one moment."""

    used: int
    limit: int
    estimated: bool
    source: WindowSource
    parts: tuple[tuple[str, int], ...]
    """What takes the room, in words, with its tokens."""
    ways: tuple[WayOut, ...]
    """What can be done, the best first; empty while all fits and nothing is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRoom:
    """What a status line says of the context."""

    used: int
    limit: int
    is_assumed: bool


async def measure(
    talk: Conversation,
    tools: Sequence[ToolSchema],
    router: Router,
    counter: TokenCounter,
    windows: Mapping[str, int],
) -> ContextFigures:
    """Count the next request as it stands.

    Raises:
        AIError: there is no model, or it cannot be found.
    """
    ref = ModelRef.parse(talk.model or "")
    named = await (router.at(ref) if ref else router.resolve(talk.model or ""))
    found = await router.informed(named)
    request = _next_request(talk, tools, found.ref.model)
    messages = request.conversation if talk.messages else ()
    guard = ContextGuard(counter, windows)
    await guard.check(request, found)
    assert guard.state is not None
    counted, window = guard.state.counted, guard.state.window
    talk.counted = guard.state.base
    # an empty chat is counted with a message that it does not have
    sizes = await counter.sizes(request, counted) if messages else Sizes(counted.tokens, ())
    trained = found.info.details.get("context_trained") if found.info else None
    # A window that the settings give counts more than what a request asks for.
    can_raise = isinstance(found.provider, SupportsWindow) and window.source != "settings"
    return ContextFigures(
        used=counted.tokens,
        limit=window.tokens,
        estimated=counted.estimated,
        source=window.source,
        parts=_parts(messages, sizes.messages, sizes.fixed),
        ways=(
            *ways_out(
                messages,
                sizes,
                window.tokens,
                largest_window=trained if isinstance(trained, int) and can_raise else None,
            ),
            *((SendEverything(),) if talk.turns_left_out or talk.drops_attachments else ()),
        ),
    )


def room_of(
    talk: Conversation,
    tools: Sequence[ToolSchema],
    router: Router,
    counter: TokenCounter,
    windows: Mapping[str, int],
) -> ContextRoom | None:
    """Tell the same without asking anybody: from the newest count and what is known by now."""
    ref = ModelRef.parse(talk.model or "")
    found = router.known(ref) if ref else None
    if found is None:
        return None
    guard = ContextGuard(counter, windows)
    request = _next_request(talk, tools, found.ref.model)
    is_empty = not (talk.messages or talk.system_prompt or tools or talk.counted)
    window = guard.window_of(request, found)
    return ContextRoom(
        used=0 if is_empty else guard.used_by(request, str(found.ref), talk.counted),
        limit=window.tokens,
        is_assumed=window.assumed,
    )


def _next_request(talk: Conversation, tools: Sequence[ToolSchema], model: str) -> Request:
    messages = messages_to_send(
        talk.messages,
        turns_left_out=talk.turns_left_out,
        attachments=not talk.drops_attachments,
    )
    return Request(
        model=model,
        # an empty chat is counted with a message that it does not have
        messages=messages or (Message("user", " "),),
        system_prompt=talk.system_prompt,
        tools=tools,
        options=talk.options,
    )


def take_way_out(conversation: Conversation, way: WayOut) -> None:
    """Do what was chosen; what is left out stays in the history."""
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
