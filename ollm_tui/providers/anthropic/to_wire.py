"""A `Request` as the body of `/messages`; pure."""

from collections.abc import Mapping
from types import MappingProxyType

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.thinking import ShouldThink, ThinkingConfig, thinking_mode
from ollm_tui.protocol.tools import ToolChoice, ToolName, ToolSchema
from ollm_tui.providers.anthropic.history import used_tools, wire_messages, wire_system
from ollm_tui.providers.left_out import Say, say_nameless, say_unsent, unsaid
from ollm_tui.providers.unsupported import check_request

USUAL_TOKENS = 8192
"""Longest answer where neither the request nor the listing says one: the API wants a number."""
MOST_TOKENS_UNASKED = 32_000
"""Longest answer that is asked for where the model could write more."""
_NO_PARAMETERS: Mapping[str, JsonValue] = MappingProxyType({"type": "object", "properties": {}})


def chat_body(
    request: Request, signer: str, most_tokens: int | None = None, say: Say = unsaid
) -> JsonObject:
    """Give the body of a streamed request.

    Signatures of `signer` go back to it, those of others do not. `most_tokens` is the longest
    answer that the model can write, where it is known. `say` is given what it goes without.

    Raises:
        AIError: UNSUPPORTED_MODALITY or UNSUPPORTED_FEATURE for what has no place in the format.
    """
    check_request(request)
    say_unsent(request, "anthropic", say)
    say_nameless(request, say)
    usual = min(most_tokens, MOST_TOKENS_UNASKED) if most_tokens else USUAL_TOKENS
    body: JsonObject = {
        "model": request.model,
        "max_tokens": request.options.max_tokens or usual,
        "messages": wire_messages(request.conversation, signer),
        "stream": True,
    }
    if system := wire_system(request):
        body["system"] = system
    body |= _tools(request)
    body |= wire_think(request.should_think)
    if schema := _schema(request.options):
        config = body.get("output_config")
        body["output_config"] = (config if isinstance(config, dict) else {}) | schema
    return body | _options(request.options)


def wire_tool(tool: ToolSchema) -> JsonObject:
    """Give a tool on offer."""
    wire: JsonObject = {"name": tool.name}
    if tool.description is not None:
        wire["description"] = tool.description
    wire["input_schema"] = {"type": "object", **(tool.parameters or _NO_PARAMETERS)}
    if tool.strict is not None:
        wire["strict"] = tool.strict
    return wire


def wire_choice(choice: ToolChoice) -> JsonObject:
    """Give the `tool_choice` field."""
    if isinstance(choice, ToolName):
        return {"type": "tool", "name": choice.name}
    return {"type": "any" if choice == "required" else choice}


def wire_think(wish: ShouldThink | None) -> JsonObject:
    """Give what switches and grades reasoning; models of another generation get it adapted.

    Raises:
        AIError: UNSUPPORTED_FEATURE for a mode that the API does not tell apart.
    """
    mode = thinking_mode(wish)
    match mode:
        case None:
            return {}
        case "off":
            return {"thinking": {"type": "disabled"}}
        case "last":
            fields: JsonObject = {"thinking": {"type": "adaptive", "display": "summarized"}}
            if isinstance(wish, ThinkingConfig) and wish.effort:
                fields["output_config"] = {"effort": wish.effort}
            return fields
        case _:
            raise AIError(
                ErrorCode.UNSUPPORTED_FEATURE,
                f"Anthropic does not know the thinking mode {mode!r}.",
                hint="Choose on, off, or an effort.",
            )


def _tools(request: Request) -> JsonObject:
    """Give the tools; calls of the history need theirs told even when none may be called now."""
    if request.offered_tools:
        fields: JsonObject = {"tools": [wire_tool(tool) for tool in request.offered_tools]}
        if request.tool_choice is not None:
            fields["tool_choice"] = wire_choice(request.tool_choice)
        return fields
    names = used_tools(request.conversation)
    known = {tool.name: tool for tool in request.tools}
    told = [wire_tool(known.get(name) or ToolSchema(name=name)) for name in names]
    return {"tools": [*told], "tool_choice": {"type": "none"}} if told else {}


def _options(options: GenerationOptions) -> JsonObject:
    named: dict[str, JsonValue] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "stop_sequences": [*options.stop] if options.stop else None,
    }
    present = {key: value for key, value in named.items() if value is not None}
    return present | dict(options.extra_body or {})


def _schema(options: GenerationOptions) -> JsonObject | None:
    match options.response_format:
        case None:
            return None
        case "json":
            raise AIError(
                ErrorCode.UNSUPPORTED_FEATURE,
                "Anthropic writes JSON by a schema only.",
                hint="Give a JSON Schema as the response format.",
            )
        case schema:
            return {"format": {"type": "json_schema", "schema": schema}}
