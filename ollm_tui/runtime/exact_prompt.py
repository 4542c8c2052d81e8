"""The prompt that a model really gets: as its engine tells, or rendered from its template."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from anyio import to_thread

from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_fields import string
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.ports import ProviderAdapter, SupportsPromptText, SupportsShow, WritesPrompt
from ollm_tui.protocol.request import PromptText, PromptToken, Request
from ollm_tui.providers.operations import show_model, translated
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.runtime.describing import MODEL_FILE
from ollm_tui.runtime.measure import request_maker
from ollm_tui.templates.abilities import template_format
from ollm_tui.templates.conversation import context_of

if TYPE_CHECKING:
    from ollm_tui.runtime.templates import Templates

Origin: TypeAlias = Literal["engine", "template", "messages"]
"""Where the text is from: the engine, the model's template rendered here, or only what is sent."""
FRAME: Final = "template"
"""The role of what the template adds around messages."""
_BLANK: Final = "The chat has no question yet; a blank stands for it."
_TWO_LETTERS: Final = lazy_re(r"\w\w")
_MAX_TRIES: Final = 200
"""Places of a text inside longer words that are passed over."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that could not be found out, and a sentence about why."""

    reason: str


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A piece of a prompt and the role whose text it is."""

    role: str
    text: str
    tokens: int | None = None
    """How many tokens begin in it; None if that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactPrompt:
    """One prompt, whole."""

    ref: ModelRef
    origin: Origin
    parts: tuple[PromptPart, ...]
    """One after another they are the text; without an exact text, one for each message."""
    tokens: tuple[PromptToken, ...] | None
    notes: tuple[str, ...] = ()
    """Sentences about where the text is from, and what could not be found out."""

    @property
    def text(self) -> str:
        """The whole text."""
        gap = "\n\n" if self.origin == "messages" else ""
        return gap.join(part.text for part in self.parts)


async def exact_prompt(
    conversation: Conversation, parts: ChatParts, templates: "Templates", text: str = ""
) -> ExactPrompt:
    """Return the prompt of the newest answer, or with `text` that of the next one.

    Raises:
        AIError: there is no model, or it cannot be found.
    """
    maker = await request_maker(conversation, parts)
    adapter, ref = maker.resolved.provider, maker.resolved.ref
    request = maker.as_sent(_asking(maker.next_request(), conversation, text))
    blank = () if conversation.messages or text else (_BLANK,)
    engine_prompt = await _engine_prompt(adapter, request, parts)
    variables = engine_prompt.variables if isinstance(engine_prompt, PromptText) else {}
    if isinstance(engine_prompt, PromptText) and engine_prompt.system_prompt is not None:
        request = replace(request, system_prompt=engine_prompt.system_prompt)
    described = await _described(maker.resolved, parts)
    request = _with_own_system(request, described)
    begun: Message | None = None
    if not isinstance(engine_prompt, PromptText):
        request, begun = _written(adapter, request)
    rendered = await _rendered(adapter.label, described, context_of(request, variables), templates)
    if begun is not None:
        request = replace(request, messages=[*request.conversation, begun])
        rendered = f"{rendered}{begun.text}" if isinstance(rendered, str) else rendered
    if isinstance(engine_prompt, PromptText):
        note = f"This is the text that {adapter.label} makes of the chat."
        # The text may be long.
        made = await to_thread.run_sync(_from_engine, ref, request, engine_prompt, rendered)
        return replace(made, notes=(note, *made.notes, *_other_template(described), *blank))
    if isinstance(rendered, str):
        note = "This text is rendered here from the model's template."
        pieces = await to_thread.run_sync(parts_of, rendered, request)
        return ExactPrompt(
            ref=ref,
            origin="template",
            parts=pieces,
            tokens=None,
            notes=(engine_prompt.reason, note, *blank),
        )
    sent = "These are the messages that are sent, without what the template adds."
    return ExactPrompt(
        ref=ref,
        origin="messages",
        parts=tuple(_messages(request)),
        tokens=None,
        notes=(engine_prompt.reason, rendered.reason, sent, *blank),
    )


def _from_engine(
    ref: ModelRef, request: Request, engine_prompt: PromptText, rendered: "str | Unknown"
) -> ExactPrompt:
    notes: tuple[str, ...] = ()
    if isinstance(rendered, str):
        notes = (
            _comparison(engine_prompt.text, rendered, engine_prompt.variables.get("bos_token", "")),
        )
    pieces = with_tokens(parts_of(engine_prompt.text, request), engine_prompt.tokens or ())
    return ExactPrompt(
        ref=ref, origin="engine", parts=pieces, tokens=engine_prompt.tokens, notes=notes
    )


def _other_template(described: Mapping[str, JsonValue] | Unknown) -> Iterator[str]:
    origin = None if isinstance(described, Unknown) else string(described, "template_from")
    if origin not in (None, MODEL_FILE):
        yield f"The chat template is not that of the model file: {origin}."


def _asking(request: Request, conversation: Conversation, text: str) -> Request:
    """Return the request with a further question, or without the answer that it has already."""
    messages = [*request.conversation] if conversation.messages else []
    if text:
        return replace(request, messages=[*messages, Message("user", text)])
    while messages and messages[-1].role == "assistant":
        messages.pop()
    return replace(request, messages=messages) if messages else request


async def _engine_prompt(
    adapter: ProviderAdapter, request: Request, parts: ChatParts
) -> PromptText | Unknown:
    """Return the engine's own word."""
    if not isinstance(adapter, SupportsPromptText):
        return Unknown(f"{adapter.label} does not tell what it makes of a prompt.")
    try:
        with translated(adapter, "tell its prompt", parts.redact):
            return await adapter.prompt_text(request)
    except AIError as error:
        if error.code in (ErrorCode.MODEL_NOT_FOUND, ErrorCode.ABORTED):
            raise
        return Unknown(error.message)


def _written(adapter: ProviderAdapter, request: Request) -> tuple[Request, Message | None]:
    """Return a request with what its adapter writes into it, and the beginning of its answer."""
    try:
        written = adapter.as_sent(request) if isinstance(adapter, WritesPrompt) else request
    except AIError:  # raised when it is sent
        return request, None
    messages = written.conversation
    if len(messages) > len(request.conversation) and messages[-1].role == "assistant":
        return replace(written, messages=messages[:-1]), messages[-1]
    return written, None


async def _described(model: ResolvedModel, parts: ChatParts) -> Mapping[str, JsonValue] | Unknown:
    """Return what the engine tells of a model, with its template and its own system prompt."""
    listed = model.info.details if model.info else {}
    if "template" in listed or not isinstance(model.provider, SupportsShow):
        return listed
    try:
        return (await show_model(model.provider, model.ref.model, parts.redact)).details
    except AIError as error:
        return Unknown(error.message)


def _with_own_system(request: Request, described: Mapping[str, JsonValue] | Unknown) -> Request:
    """Add the system prompt of the model, which Ollama uses if the request has none."""
    if isinstance(described, Unknown) or request.system_prompt:
        return request
    return replace(request, system_prompt=string(described, "system"))


async def _rendered(
    label: str,
    described: Mapping[str, JsonValue] | Unknown,
    context: JsonObject,
    templates: "Templates",
) -> str | Unknown:
    """Return the text rendered from the model's template."""
    if isinstance(described, Unknown):
        return described
    template = string(described, "template")
    if template is None:
        return Unknown(f"{label} does not tell the model's template.")
    if await to_thread.run_sync(template_format, template) == "golang":
        return Unknown("The model's template is in Ollama's language, which only Ollama renders.")
    try:
        text = await templates.renderer.render_chat(template, context)
    except AIError as error:
        return Unknown(error.message)
    return text if isinstance(text, str) else Unknown(text.error().message)


def _comparison(engine_text: str, rendered: str, bos: str) -> str:
    # Engines add the token for the beginning themselves.
    rendered = rendered if engine_text.startswith(bos) else rendered.removeprefix(bos)
    if engine_text == rendered:
        return "The model's template, rendered here, gives the same."
    same = next(
        (
            at
            for at, (one, other) in enumerate(zip(engine_text, rendered, strict=False))
            if one != other
        ),
        min(len(engine_text), len(rendered)),
    )
    line = engine_text.count("\n", 0, same) + 1
    column = same - (engine_text.rfind("\n", 0, same) + 1) + 1
    return f"The model's template, rendered here, differs from line {line}, character {column} on."


def parts_of(text: str, request: Request) -> tuple[PromptPart, ...]:
    """Divide a prompt: the texts of the messages, and what the template adds around them.

    The last message is looked for first: most of what a template adds is in front.
    """
    parts, at = [], len(text)
    for message in reversed([*_messages(request)]):
        wanted = message.text.strip()
        start = _last_place(wanted, text, at) if wanted else -1
        if start < 0:
            continue
        end = start + len(wanted)
        if end < at:
            parts.append(PromptPart(FRAME, text[end:at]))
        parts.append(PromptPart(message.role, text[start:end]))
        at = start
    if at:
        parts.append(PromptPart(FRAME, text[:at]))
    return tuple(reversed(parts))


def _last_place(wanted: str, text: str, end: int) -> int:
    """Return where a text begins last; inside a longer word only if it is nowhere else."""
    first = place = text.rfind(wanted, 0, end)
    for _ in range(_MAX_TRIES):
        if place < 0 or not _is_inside_a_word(text, place, place + len(wanted)):
            break
        place = text.rfind(wanted, 0, place + len(wanted) - 1)
    else:
        place = -1
    return first if place < 0 else place


def _is_inside_a_word(text: str, start: int, end: int) -> bool:
    edges = (text[max(start - 1, 0) : start + 1], text[end - 1 : end + 1])
    return any(_TWO_LETTERS.fullmatch(edge) for edge in edges)


def with_tokens(
    parts: tuple[PromptPart, ...], tokens: Sequence[PromptToken]
) -> tuple[PromptPart, ...]:
    """Return the parts with the number of tokens that begin in each.

    A token that the text does not have, such as one for its beginning, belongs to no part. Where
    the tokens are not written as the text is, the parts have no numbers.
    """
    text = "".join(part.text for part in parts)
    starts, at = [], 0
    for token in tokens:
        if token.text and text.startswith(token.text, at):
            starts.append(at)
            at += len(token.text)
    if not tokens or at < len(text):
        return parts
    counted, end = [], 0
    for part in parts:
        begin, end = end, end + len(part.text)
        counted.append(replace(part, tokens=bisect_left(starts, end) - bisect_left(starts, begin)))
    return tuple(counted)


def _messages(request: Request) -> Iterator[PromptPart]:
    if request.system_prompt:
        yield PromptPart("system", request.system_prompt)
    for message in request.conversation:
        yield PromptPart(message.role, message.text)
