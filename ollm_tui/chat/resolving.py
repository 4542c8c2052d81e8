"""The model of a prompt, and work that ends at once when the prompt is stopped."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.tasks import cancelled_by

T = TypeVar("T")


async def named_model(
    parts: ChatParts, conversation: Conversation, options: ChatOptions
) -> ResolvedModel:
    """Return the model that a prompt names, else that of the conversation.

    Raises:
        AIError: MODEL_NOT_FOUND if neither names one, or no provider has it.
    """
    model = options.model or conversation.model
    if model is None:
        raise AIError(
            ErrorCode.MODEL_NOT_FOUND, "No model is selected.", hint="Choose one to chat with."
        )
    ref, router = ModelRef.parse(model), parts.router
    # An address was chosen and shown, so `local://` is not replaced by another provider.
    return await (router.resolve(model) if ref is None else router.at(ref))


async def resolve_model(
    parts: ChatParts, conversation: Conversation, options: ChatOptions, signal: AbortSignal
) -> ResolvedModel | None:
    """Return the model of a prompt with its facts, and remember its address; None if stopped.

    Raises:
        AIError: as `named_model`.
    """

    async def named() -> ResolvedModel:
        return await named_model(parts, conversation, options)

    resolved = await unless_stopped(signal, named)
    if resolved is None:
        return None
    if options.model is None:
        conversation.model = str(resolved.ref)
    chosen = resolved
    return await unless_stopped(signal, lambda: parts.router.informed(chosen))


async def unless_stopped(signal: AbortSignal, work: Callable[[], Awaitable[T]]) -> T | None:
    """Await `work`, or return None if the signal ends it first."""
    with cancelled_by(signal):
        return await work()
    return None
