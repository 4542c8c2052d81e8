"""A `Request` as the body of `/chat/completions`; pure."""

from collections.abc import Collection, Mapping
from functools import partial

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_fields import present
from ollm_tui.decode.json_guard import dump_json
from ollm_tui.decode.schema_forms import grammar_form, strict_form
from ollm_tui.models.thinking_switch import TEMPLATE_ARGUMENTS
from ollm_tui.protocol.blocks import (
    AudioContent,
    Block,
    DocumentContent,
    ImageContent,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.message import JINJA, Message
from ollm_tui.protocol.request import (
    GenerationOptions,
    Request,
    plan_of,
)
from ollm_tui.protocol.tools import ToolCall, ToolChoice, ToolName, ToolSchema
from ollm_tui.providers.body.unsupported import (
    UNSENT_OPTIONS,
    OnLeftOut,
    check_request,
    ignore_left_out,
    report_left_out,
    report_unsent,
)
from ollm_tui.providers.body.wire_messages import WireMessages
from ollm_tui.providers.media.encoding import (
    file_base64,
    file_url,
    picture_url,
    sound_part,
    unsendable,
)
from ollm_tui.providers.openai_compatible.thinking import Switched, official_fields, switched

OFFICIAL = "openai"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a backend takes a request; by default as most servers do."""

    repeat_penalty: str = "repeat_penalty"
    """The name of this option."""
    has_template_arguments: bool = False
    """Whether it passes `chat_template_kwargs` to the model's template."""
    continuing: JsonMapping | None = None
    """The fields with which it continues an answer that the request begins."""
    ignores_tool_names: bool = False
    """Whether it reads `tool_choice` as a word only, and ignores one that names a tool."""
    has_grammar: bool = False
    """Whether it is llama.cpp, which turns a JSON Schema into a grammar."""
    template_formats: Collection[str] = ()
    """The languages of templates that it renders, if it renders the model's own."""
    has_result_names: bool = False
    """Whether its templates get the name of the tool with a result."""
    is_strict: bool = False
    """Whether it is OpenAI itself, which refuses what others ignore."""
    media: Collection[str] = ("image", "audio", "video", "document")
    """The types of content that its messages may have beside text."""
    has_own_video: bool = False
    """Whether it takes a video as `input_video`, and none as a URL."""


_LLAMACPP = Dialect(
    has_template_arguments=True,
    # It begins no answer of a model whose template is told to think.
    continuing={TEMPLATE_ARGUMENTS: {"enable_thinking": False}},
    ignores_tool_names=True,
    has_grammar=True,
    has_result_names=True,
    template_formats=JINJA,
    media=("image", "audio", "video"),
    has_own_video=True,
)
DIALECTS: Mapping[str | None, Dialect] = {
    "embedded": _LLAMACPP,
    "kobold": Dialect(
        repeat_penalty="rep_pen",
        continuing={"continue_assistant_turn": True},
        media=("image", "audio"),
    ),
    "llamacpp": _LLAMACPP,
    "llamacpp-router": Dialect(
        ignores_tool_names=True,
        has_grammar=True,
        has_result_names=True,
        template_formats=JINJA,
        media=_LLAMACPP.media,
        has_own_video=True,
    ),
    "lmstudio": Dialect(media=("image",)),
    "localai": Dialect(media=("image", "audio", "video")),
    "vllm": Dialect(
        repeat_penalty="repetition_penalty",
        has_template_arguments=True,
        continuing={"continue_final_message": True, "add_generation_prompt": False},
        has_result_names=True,
        template_formats=JINJA,
        media=("image", "audio", "video"),
    ),
    OFFICIAL: Dialect(is_strict=True, media=("image", "audio", "document")),
}
"""By backend, how it differs from other servers."""
_USUAL = Dialect()


def chat_body(
    request: Request,
    backend: str | None = None,
    on_left_out: OnLeftOut = ignore_left_out,
    wire_all: WireMessages | None = None,
) -> JsonObject:
    """Return the body of a streamed request; `on_left_out` is called for fields that are not sent.

    `wire_all` makes the messages, as `wire_messages` returns it for the backend.

    Raises:
        AIError: UNSUPPORTED_MODALITY or UNSUPPORTED_FEATURE for what the format cannot hold.
    """
    dialect = DIALECTS.get(backend, _USUAL)
    kind = "openai" if dialect.is_strict else "openai-compatible"
    check_request(request, dialect.template_formats)
    report_unsent(request, kind, on_left_out)
    way = _switched(request, dialect)
    request = way.request
    system: JsonObject = {"role": "system", "content": request.system_prompt}
    first = [system] if request.system_prompt else []
    messages = (wire_all or wire_messages(backend))(request.conversation, first)
    body: JsonObject = {
        "model": request.model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    body |= _tools(request, dialect)
    if way.is_lost:
        report_left_out("think", on_left_out)
    options = _options(request.options, dialect)
    own, switch = options.get(TEMPLATE_ARGUMENTS), way.fields.get(TEMPLATE_ARGUMENTS)
    if isinstance(own, dict) and isinstance(switch, dict):
        options[TEMPLATE_ARGUMENTS] = switch | own
    return body | way.fields | options


def as_sent(request: Request, backend: str | None) -> Request:
    """Return a request with what switches thinking in its messages.

    Raises:
        AIError: UNSUPPORTED_FEATURE if nothing switches it.
    """
    return _switched(request, DIALECTS.get(backend, _USUAL)).request


def wire_messages(backend: str | None) -> WireMessages:
    """Return what makes the messages to a backend, each once."""
    return WireMessages(partial(wire_message, dialect=DIALECTS.get(backend, _USUAL)))


def media_of(backend: str | None) -> Collection[str]:
    """Return the types of content that messages to a backend may have beside text."""
    return DIALECTS.get(backend, _USUAL).media


def wire_message(message: Message, dialect: Dialect = _USUAL) -> JsonObject:
    """Return one message; plain text stays a string, because not every server accepts parts."""
    blocks = [block for block in message.content if not isinstance(block, ThinkingContent)]
    content: JsonValue
    if all(isinstance(block, TextContent) for block in blocks):
        content = "".join(block.text for block in blocks if isinstance(block, TextContent))
    else:
        content = [_part(block, dialect) for block in blocks]
    wire: JsonObject = {"role": message.role, "content": content}
    if message.tool_calls:
        wire["tool_calls"] = [wire_call(call) for call in message.tool_calls]
    if message.role == "tool":
        wire["tool_call_id"] = message.tool_call_id or ""
    if message.name and (dialect.has_result_names or message.role != "tool"):
        wire["name"] = message.name
    return wire


def wire_call(call: ToolCall) -> JsonObject:
    """Return a call of the history; malformed arguments are sent as an empty object."""
    function: JsonObject = {"name": call.name, "arguments": dump_json(call.args or {})}
    return {**call.extra, "id": call.id, "type": "function", "function": function}


def wire_tool(tool: ToolSchema) -> JsonObject:
    """Return a tool that may be called."""
    function: dict[str, JsonValue] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters or {"type": "object", "properties": {}},
        "strict": tool.strict,
    }
    return {"type": "function", "function": present(function)}


def wire_choice(choice: ToolChoice) -> JsonValue:
    """Return the `tool_choice` field."""
    if isinstance(choice, ToolName):
        return {"type": "function", "function": {"name": choice.name}}
    return choice


def _tools(request: Request, dialect: Dialect) -> JsonObject:
    """Return tools and choice; a chosen tool is the only one if the choice cannot name it."""
    tools, choice = request.offered_tools, request.tool_choice
    if not tools:
        return {}
    if isinstance(choice, ToolName) and dialect.ignores_tool_names:
        tools = tuple(tool for tool in tools if tool.name == choice.name)
        choice = "required"
    fields: JsonObject = {"tools": [wire_tool(tool) for tool in tools]}
    return fields | ({} if choice is None else {"tool_choice": wire_choice(choice)})


def _switched(request: Request, dialect: Dialect) -> Switched:
    """Switch thinking in the request, and in the fields beside it."""
    if not dialect.is_strict:
        return switched(
            request,
            takes_variables=dialect.has_template_arguments,
            continuing=dialect.continuing,
        )
    plan = plan_of(request)
    fields = official_fields(plan)
    return Switched(request, fields, is_lost=plan.is_on is not None and not fields)


def _part(block: Block, dialect: Dialect) -> JsonObject:
    if not isinstance(block, TextContent) and block.type not in dialect.media:
        raise unsendable(block)
    match block:
        case TextContent():
            return {"type": "text", "text": block.text}
        case ImageContent():
            return {"type": "image_url", "image_url": {"url": picture_url(block)}}
        case AudioContent():
            data, kind = sound_part(block)
            return {"type": "input_audio", "input_audio": {"data": data, "format": kind}}
        case VideoContent() if dialect.has_own_video:
            return {"type": "input_video", "input_video": {"data": file_base64(block)}}
        case VideoContent():
            return {"type": "video_url", "video_url": {"url": file_url(block, "video/mp4")}}
        case DocumentContent():
            data = f"data:application/pdf;base64,{file_base64(block)}"
            name = block.name or "document.pdf"
            return {"type": "file", "file": {"filename": name, "file_data": data}}
        case _:
            raise unsendable(block)


def _options(options: GenerationOptions, dialect: Dialect) -> JsonObject:
    named: dict[str, JsonValue] = {
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "min_p": options.min_p,
        dialect.repeat_penalty: options.repeat_penalty,
        "presence_penalty": options.presence_penalty,
        "frequency_penalty": options.frequency_penalty,
        "seed": options.seed,
        "stop": list(options.stop) if options.stop is not None else None,
        "response_format": _response_format(options, dialect),
    }
    known = present(named)
    if dialect.is_strict:
        known = _official(known)
    return known | dict(options.extra_body or {})


def _official(options: JsonObject) -> JsonObject:
    accepted = {key: value for key, value in options.items() if key not in UNSENT_OPTIONS["openai"]}
    if "max_tokens" in accepted:
        accepted["max_completion_tokens"] = accepted.pop("max_tokens")
    return accepted


def _response_format(options: GenerationOptions, dialect: Dialect) -> JsonObject | None:
    match options.response_format:
        case None:
            return None
        case "json":
            return {"type": "json_object"}
        case schema:
            strict = strict_form(schema) if dialect.is_strict else None
            own = grammar_form(schema) if dialect.has_grammar else schema
            form: JsonObject = {"name": "answer", "schema": strict or own}
            if strict is not None:
                form["strict"] = True
            return {"type": "json_schema", "json_schema": form}
