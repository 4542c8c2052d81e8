"""`RequestBuilder`: the next request of a prompt, and the reader for its answer."""

from dataclasses import replace
from typing import TYPE_CHECKING

from anyio import to_thread

from ollm_tui.chat.answer_schema import AnswerSchema
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import (
    EVERY_MEDIUM,
    ChatOptions,
    has_results,
    merged_options,
)
from ollm_tui.chat.react import STOP_SEQUENCES, as_react, react_instructions
from ollm_tui.chat.readers import AnswerReader, LeakedCallReader, ReActReader
from ollm_tui.chat.templates import system_prompt_of
from ollm_tui.chat.thinking import PlannedThinking, is_refused, no_effect
from ollm_tui.chat.tool_loop import NothingOffered, ToolOffer, TracksUntrustedInput
from ollm_tui.chat.turn import Turn
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, Request, ShouldThink
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.tools.runner import not_offered

if TYPE_CHECKING:
    from ollm_tui.decode.leaked_forms import ToolTag


def with_tools_as_text(request: Request) -> Request:
    """Render tools, calls and results as text, for a model without native tool use."""
    instructions = react_instructions(request.offered_tools)
    prompts = [prompt for prompt in (request.system_prompt, instructions) if prompt]
    stop = request.options.stop or ()
    return replace(
        request,
        messages=as_react(request.conversation, marks_answers=bool(instructions)),
        system_prompt="\n\n".join(prompts) or None,
        tools=(),
        options=replace(request.options, stop=(*stop, *STOP_SEQUENCES))
        if instructions
        else request.options,
    )


def wanted_thinking(conversation: Conversation, options: ChatOptions) -> ShouldThink | None:
    """Return how a prompt is to be thought about: as its options say, else as the chat does."""
    if options.should_think is not None:
        return options.should_think
    return conversation.should_think


def _generation(base: GenerationOptions, options: ChatOptions) -> GenerationOptions:
    """Return the options of one prompt."""
    merged = merged_options(base, options.options)
    return (
        merged if options.schema is None else replace(merged, response_format=dict(options.schema))
    )


class RequestBuilder:
    """Makes requests for one model, with its tools in the form that it takes."""

    def __init__(
        self,
        parts: ChatParts,
        conversation: Conversation,
        options: ChatOptions,
        signal: AbortSignal,
        resolved: ResolvedModel,
        thinking: PlannedThinking | None = None,
    ) -> None:
        self._parts = parts
        self._conversation = conversation
        self._options = options
        self._signal = signal
        self.resolved = resolved
        self._should_think = wanted_thinking(conversation, options)
        self._thinking = thinking or parts.thinking.plan_known(self._should_think, resolved)
        self.unsent: frozenset[str] = frozenset()
        """The types of content that are left out, since the model or its server takes none."""
        names = conversation.tools if options.tools is None else options.tools
        self.offer: ToolOffer = (
            NothingOffered(not_offered("", ())) if parts.tools is None else parts.tools.offer(names)
        )
        """The tools of this prompt; later changes of the settings do not affect it."""
        if isinstance(self.offer, TracksUntrustedInput) and has_results(conversation.messages):
            self.offer.mark_untrusted()
        self._generation = _generation(conversation.options, options)
        schema = self._generation.response_format
        self.answer_schema = AnswerSchema(schema) if isinstance(schema, dict) else None
        """The JSON Schema that the answer must match, if there is one."""
        self._tool_tags: tuple[ToolTag, ...] = ()

    async def plan_thinking(self) -> bool:
        """Look up what the wish for thinking means on this model; return True.

        Raises:
            AIError: the model does not think so, or its instructions cannot be rendered.
        """
        self._thinking = await self._parts.thinking.plan(self._should_think, self.resolved)
        return True

    async def give_up_thinking(self, error: AIError) -> str | None:
        """Go on without a wish of the settings or the chat that a model or its server refused.

        Return a sentence on that; None if it is another error, or the prompt itself has the wish.
        """
        wish = self._should_think
        if wish is None or self._options.should_think is not None or not is_refused(error):
            return None
        self._should_think = None
        await self.plan_thinking()
        return no_effect(wish)

    async def look_up_calls(self) -> bool:
        """Look up how the model writes calls into its text, if that matters; return True."""
        knowledge = self._parts.knowledge
        if knowledge is not None and self.offer.schemas and self.mode == "native":
            name, info = self.resolved.ref.model, self.resolved.info
            known = await to_thread.run_sync(knowledge, name, info, abandon_on_cancel=True)
            self._tool_tags = known.tool_tags
        return True

    @property
    def mode(self) -> str:
        """The tool mode of this model at the moment."""
        return self._parts.modes.mode_of(self.resolved.ref, self.resolved.info)

    def request(self) -> Request:
        """Return the request for the conversation in its present state."""
        return self.as_sent(self._native_request())

    def next_request(self) -> Request:
        """Return the request for counting, with native calls; an empty chat gets one message.

        `as_sent` gives it the form in which it is sent.
        """
        return self._native_request((Message("user", " "),))

    def as_sent(self, request: Request) -> Request:
        """Describe the tools in text if the model takes them so."""
        return with_tools_as_text(request) if self.mode == "react" else request

    def _native_request(self, stand_in: tuple[Message, ...] = ()) -> Request:
        conversation, thinking = self._conversation, self._thinking
        system_prompt = system_prompt_of(conversation, self._options)
        messages = conversation.sent_history.messages(
            conversation.messages,
            turns_left_out=conversation.turns_left_out,
            unsent=EVERY_MEDIUM if conversation.drops_attachments else self.unsent,
        )
        request = Request(
            model=self.resolved.ref.model,
            messages=messages or stand_in,
            system_prompt=thinking.in_system_prompt(system_prompt),
            tools=self.offer.schemas,
            options=self._generation,
            should_think=self._should_think,
            thinking=thinking.plan,
            template_format=self._options.template_format,
            template_values=self._options.template_values,
            state_folder=self._options.state_folder or self._parts.state_folder(),
            signal=self._signal,
        )
        return request if self.answer_schema is None else self.answer_schema.instructed(request)

    def reader(self) -> AnswerReader:
        """Return the reader for the answer to that request."""
        if not self.offer.schemas:
            return AnswerReader()
        if self.mode == "react":
            return ReActReader()
        # Loaded only where tools are offered.
        from ollm_tui.tools.arguments import find_faults

        by_name = {schema.name: schema for schema in self.offer.schemas}

        def fits(name: str, args: JsonObject) -> bool:
            return name in by_name and not find_faults(by_name[name], args)

        return LeakedCallReader(self.offer.schemas, fits, own_tags=self._tool_tags)

    def offer_nothing(self) -> None:
        """Offer no tool from now on, so that the server can hold the answer to its schema."""
        self.offer = NothingOffered(not_offered("", ()))

    def gives_up_native_tools(self, error: AIError, turn: Turn) -> bool:
        """Whether the server refused native tools, so that the request is sent again as text."""
        if not self.offer.schemas or self.mode != "native" or turn.partial() is not None:
            return False
        return self._parts.modes.learn_from(self.resolved.ref, error)
