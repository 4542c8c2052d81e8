"""Answers of a model for MCP servers: of the messages of a server alone, and without tools."""

from typing import TYPE_CHECKING, Final

import anyio

from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.dataclass import dataclass
from ollm_tui.mcp.requests import SamplingAnswer, SamplingRequest
from ollm_tui.protocol.chat_events import ErrorEvent, Finish, TextDelta
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.protocol.signals import AbortSignal

if TYPE_CHECKING:
    from collections.abc import Callable

    from ollm_tui.chat.client import ChatClient

WITHIN_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Sampling:
    """Has a model answer a server; nothing of a chat is sent, and nothing is saved."""

    unsaved: "Callable[[Conversation], ChatClient]"

    async def answer(self, model: str, request: SamplingRequest) -> SamplingAnswer:
        """Return what the model writes.

        Raises:
            AIError: it cannot be asked, writes nothing, or takes too long.
        """
        conversation = Conversation(
            model=model,
            system_prompt=request.system_prompt or None,
            messages=list(request.messages[:-1]),
            options=GenerationOptions(
                max_tokens=request.max_tokens,
                temperature=request.temperature,
                stop=request.stop or None,
            ),
        )
        parts: list[str] = []
        reason, signal = "", AbortSignal()
        with anyio.move_on_after(WITHIN_S):
            client = self.unsaved(conversation)
            options = ChatOptions(tools=())
            async with client.chat(request.messages[-1], options, signal) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        parts.append(event.delta)
                    elif isinstance(event, ErrorEvent):
                        raise event.error
                    elif isinstance(event, Finish):
                        reason = event.reason
        if not reason or not "".join(parts).strip():
            words = "The model gave no answer." if reason else "The model took too long."
            raise AIError(ErrorCode.STREAM_INCOMPLETE, words)
        return SamplingAnswer("".join(parts), model, is_cut=reason == "length")
