"""`RequestMaker`: the next request of a prompt, and how its answer must be read."""

from dataclasses import replace

from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions, merged_options, messages_to_send
from ollm_tui.chat.react import STOP_SEQUENCES, as_react, react_instructions
from ollm_tui.chat.readers import AnswerReader, LeakedCallReader, PlainReader, ReActReader
from ollm_tui.chat.tool_loop import NothingOffered, ToolOffer
from ollm_tui.chat.turn import Turn
from ollm_tui.models.capabilities import capabilities_of
from ollm_tui.models.thinking import ThinkingSupport, resolve_thinking
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.thinking import ShouldThink
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.tools.arguments import find_faults
from ollm_tui.tools.runner import not_offered


def declared_thinking(info: ModelInfo | None) -> ThinkingSupport | None:
    """Give what a model's listing says of its reasoning; None when nothing is known."""
    thinks = capabilities_of(info).thinking if info else None
    if thinks is None or thinks.value is None or thinks.source == "assumed":
        return None
    if not thinks.value:
        return ThinkingSupport()
    return ThinkingSupport(modes=frozenset(("off", "last")), default="last")


def with_tools_as_text(request: Request) -> Request:
    """Render tools, calls and results as text, for a model without native tool use."""
    told = react_instructions(request.offered_tools)
    prompts = [prompt for prompt in (request.system_prompt, told) if prompt]
    stop = request.options.stop or ()
    return replace(
        request,
        messages=as_react(request.conversation, is_told=bool(told)),
        system_prompt="\n\n".join(prompts) or None,
        tools=(),
        options=replace(request.options, stop=(*stop, *STOP_SEQUENCES))
        if told
        else request.options,
    )


class RequestMaker:
    """Knows the model, its tools and the way it is given them."""

    def __init__(
        self,
        parts: ChatParts,
        conversation: Conversation,
        options: ChatOptions,
        signal: AbortSignal,
        resolved: ResolvedModel,
    ) -> None:
        self._parts = parts
        self._conversation = conversation
        self._options = options
        self._signal = signal
        self._resolved = resolved
        self.sends_pictures = True
        """Whether pictures go along; not to a model that is known to read only text."""
        names = conversation.tools if options.tools is None else options.tools
        self.offer: ToolOffer = (
            NothingOffered(not_offered("", ())) if parts.tools is None else parts.tools.offer(names)
        )
        """The tools of this prompt, whatever is switched on or off while it is answered."""

    @property
    def offers_tools(self) -> bool:
        """Whether any call may be run."""
        return bool(self.offer.schemas)

    @property
    def mode(self) -> str:
        """How this model gets its tools now."""
        return self._parts.modes.mode_of(self._resolved.ref, self._resolved.info)

    @property
    def _as_text(self) -> bool:
        return self.offers_tools and self.mode == "react"

    def request(self) -> Request:
        """Make the request for the conversation as it stands.

        Raises:
            AIError: UNSUPPORTED_FEATURE for a wish that the model is known not to fulfil.
        """
        return self.as_sent(self._native_request(self._wish()))

    def next_request(self) -> Request:
        """Make it for counting, with calls as the chat has them; an empty chat gets a message.

        `as_sent` gives it the form in which it is sent.
        """
        try:
            wish = self._wish()
        except AIError:  # told when it is asked; what is counted is nearly the same
            wish = None
        return self._native_request(wish, (Message("user", " "),))

    def as_sent(self, request: Request) -> Request:
        """Describe the tools in text for a model that is given them so."""
        return with_tools_as_text(request) if self.mode == "react" else request

    def _native_request(
        self, wish: ShouldThink | None, stand_in: tuple[Message, ...] = ()
    ) -> Request:
        conversation, options = self._conversation, self._options
        messages = messages_to_send(
            conversation.messages,
            turns_left_out=conversation.turns_left_out,
            attachments=not conversation.drops_attachments,
            pictures=self.sends_pictures,
        )
        return Request(
            model=self._resolved.ref.model,
            messages=messages or stand_in,
            system_prompt=options.system_prompt or conversation.system_prompt,
            tools=self.offer.schemas,
            options=merged_options(conversation.options, options.options),
            should_think=wish,
            signal=self._signal,
        )

    def _wish(self) -> ShouldThink | None:
        """Give how much the model shall reason.

        Raises:
            AIError: UNSUPPORTED_FEATURE for a mode that the model is known not to have.
        """
        wish = self._options.should_think
        if wish is None:
            wish = self._conversation.should_think
        support = declared_thinking(self._resolved.info)
        if wish is not None and support is not None:
            resolve_thinking(wish, support)
        return wish

    def reader(self) -> AnswerReader:
        """Make what reads the answer to that request."""
        if not self.offers_tools:
            return PlainReader()
        if self._as_text:
            return ReActReader()
        return LeakedCallReader(self.offer.schemas, self._fits)

    def _fits(self, name: str, args: JsonObject) -> bool:
        schema = next((one for one in self.offer.schemas if one.name == name), None)
        return schema is not None and not find_faults(schema, args)

    def gives_up_native_tools(self, error: AIError, turn: Turn) -> bool:
        """Whether the server refused native tools, so that the same is asked again as text."""
        if not self.offers_tools or self.mode != "native" or turn.partial() is not None:
            return False
        return self._parts.modes.learn_from(self._resolved.ref, error)
