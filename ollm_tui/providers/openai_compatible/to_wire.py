"""A `Request` as the body of `/chat/completions`; pure."""

from collections.abc import Mapping
from types import MappingProxyType

from ollm_tui.decode.json_guard import dump_json
from ollm_tui.protocol.blocks import (
    AudioContent,
    Block,
    ImageContent,
    TextContent,
    ThinkingContent,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.thinking import ShouldThink, ThinkingConfig, thinking_mode
from ollm_tui.protocol.tools import ToolCall, ToolChoice, ToolName, ToolSchema
from ollm_tui.providers.pictures import picture_url, sound_part, unsendable
from ollm_tui.providers.unsupported import (
    UNSENT_OPTIONS,
    OnLeftOut,
    check_request,
    ignore_left_out,
    report_left_out,
    report_unsent_options,
)

_REPEAT_PENALTY: Mapping[str, str] = MappingProxyType(
    {"vllm": "repetition_penalty", "kobold": "rep_pen"}
)
OFFICIAL = "openai"
"""OpenAI itself: it refuses what others pass over."""
_TEMPLATE_SWITCH = frozenset({"vllm", "llamacpp", "embedded"})
"""Backends that pass `chat_template_kwargs` to the model's template."""
_ONE_WORD = frozenset({"llamacpp", "llamacpp-router", "embedded"})
"""Backends that read `tool_choice` as a word, and pass over one that names a tool."""


def chat_body(
    request: Request, backend: str | None = None, on_left_out: OnLeftOut = ignore_left_out
) -> JsonObject:
    """Give the body of a streamed chat request; `on_left_out` is given what it goes without.

    Raises:
        AIError: UNSUPPORTED_MODALITY or UNSUPPORTED_FEATURE for what has no place in the format.
    """
    check_request(request)
    report_unsent_options(
        request, "openai" if backend == OFFICIAL else "openai-compatible", on_left_out
    )
    messages: list[JsonValue] = []
    if request.system_prompt:
        messages.append({"role": "system", "content": request.system_prompt})
    messages += [wire_message(message) for message in request.conversation]
    body: JsonObject = {
        "model": request.model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    body |= _tools(request, backend)
    if request.should_think is not None:
        switch = wire_think(request.should_think, backend)
        if not switch:
            report_left_out("think", on_left_out)
        body |= switch
    return body | _options(request.options, backend)


def wire_message(message: Message) -> JsonObject:
    """Give one message; plain text stays a string, because not every server takes parts."""
    blocks = [block for block in message.content if not isinstance(block, ThinkingContent)]
    content: JsonValue
    if all(isinstance(block, TextContent) for block in blocks):
        content = "".join(block.text for block in blocks if isinstance(block, TextContent))
    else:
        content = [_part(block) for block in blocks]
    wire: JsonObject = {"role": message.role, "content": content}
    if message.tool_calls:
        wire["tool_calls"] = [wire_call(call) for call in message.tool_calls]
    if message.role == "tool":
        wire["tool_call_id"] = message.tool_call_id or ""
    elif message.name:
        wire["name"] = message.name
    return wire


def wire_call(call: ToolCall) -> JsonObject:
    """Give a call of the history; arguments that were no object go back as an empty one."""
    function: JsonObject = {"name": call.name, "arguments": dump_json(call.args or {})}
    return {**call.extra, "id": call.id, "type": "function", "function": function}


def wire_tool(tool: ToolSchema) -> JsonObject:
    """Give a tool on offer."""
    function: JsonObject = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    function["parameters"] = tool.parameters or {"type": "object", "properties": {}}
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def wire_choice(choice: ToolChoice) -> JsonValue:
    """Give the `tool_choice` field."""
    if isinstance(choice, ToolName):
        return {"type": "function", "function": {"name": choice.name}}
    return choice


def _tools(request: Request, backend: str | None) -> JsonObject:
    """Give the tools and the choice; where no field can name a tool, it is the only one there."""
    tools, choice = request.offered_tools, request.tool_choice
    if not tools:
        return {}
    if isinstance(choice, ToolName) and backend in _ONE_WORD:
        tools = tuple(tool for tool in tools if tool.name == choice.name)
        choice = "required"
    fields: JsonObject = {"tools": [wire_tool(tool) for tool in tools]}
    return fields | ({} if choice is None else {"tool_choice": wire_choice(choice)})


def wire_think(wish: ShouldThink, backend: str | None) -> JsonObject:
    """Give what switches or grades reasoning; the default mode needs no field.

    Raises:
        AIError: UNSUPPORTED_FEATURE where the way to switch is not known.
    """
    mode = thinking_mode(wish)
    fields: JsonObject = {}
    if isinstance(wish, ThinkingConfig) and wish.effort:
        fields["reasoning_effort"] = wish.effort
    if backend == OFFICIAL and mode == "off":
        fields["reasoning_effort"] = "none"
    elif backend in _TEMPLATE_SWITCH and mode in ("off", "last"):
        fields["chat_template_kwargs"] = {"enable_thinking": mode != "off"}
    elif mode != "last":
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"How this server switches thinking to {mode!r} is not known.",
            hint="Leave thinking as it is, or set the server's own field through extra_body.",
        )
    return fields


def _part(block: Block) -> JsonObject:
    match block:
        case TextContent():
            return {"type": "text", "text": block.text}
        case ImageContent():
            return {"type": "image_url", "image_url": {"url": picture_url(block)}}
        case AudioContent():
            data, kind = sound_part(block)
            return {"type": "input_audio", "input_audio": {"data": data, "format": kind}}
        case _:
            raise unsendable(block)


def _options(options: GenerationOptions, backend: str | None) -> JsonObject:
    named: dict[str, JsonValue] = {
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "min_p": options.min_p,
        _REPEAT_PENALTY.get(backend or "", "repeat_penalty"): options.repeat_penalty,
        "seed": options.seed,
        "stop": list(options.stop) if options.stop is not None else None,
        "response_format": _response_format(options),
    }
    present: JsonObject = {key: value for key, value in named.items() if value is not None}
    if backend == OFFICIAL:
        present = _official(present)
    return present | dict(options.extra_body or {})


def _official(options: JsonObject) -> JsonObject:
    """Give the options as OpenAI's own models take them."""
    taken = {key: value for key, value in options.items() if key not in UNSENT_OPTIONS["openai"]}
    if "max_tokens" in taken:
        taken["max_completion_tokens"] = taken.pop("max_tokens")
    return taken


def _response_format(options: GenerationOptions) -> JsonObject | None:
    match options.response_format:
        case None:
            return None
        case "json":
            return {"type": "json_object"}
        case schema:
            return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
