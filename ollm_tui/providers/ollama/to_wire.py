"""A `Request` as the body of `/api/chat`; pure."""

from typing import Final

from ollm_tui.decode.json_fields import present
from ollm_tui.decode.schema_forms import grammar_form
from ollm_tui.models.thinking_switch import with_words
from ollm_tui.protocol.blocks import AudioContent, ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import (
    GenerationOptions,
    Request,
    ThinkingPlan,
    plan_of,
)
from ollm_tui.protocol.tools import ToolCall, ToolName, ToolSchema
from ollm_tui.providers.body.unsupported import (
    OnLeftOut,
    check_request,
    ignore_left_out,
    report_left_out,
    report_unsent,
)
from ollm_tui.providers.body.wire_messages import WireMessages
from ollm_tui.providers.media.encoding import base64_text, picture_base64, unsendable

MEDIA_TYPES: Final = frozenset({"image", "audio"})
"""The types of content that messages may have beside text."""


def chat_body(
    request: Request,
    on_left_out: OnLeftOut = ignore_left_out,
    wire_all: WireMessages | None = None,
) -> JsonObject:
    """Return the body of a streamed request; `on_left_out` is called for fields that are not sent.

    `wire_all` makes the messages, by `wire_message`.

    Raises:
        AIError: UNSUPPORTED_MODALITY or UNSUPPORTED_FEATURE for what Ollama cannot take.
    """
    check_request(request, ("golang",))
    _check_choice(request)
    report_unsent(request, "ollama", on_left_out)
    plan, request = plan_of(request), as_sent(request)
    system: JsonObject = {"role": "system", "content": request.system_prompt}
    first = [system] if request.system_prompt else []
    messages = (wire_all or WireMessages(wire_message))(request.conversation, first)
    body: JsonObject = {"model": request.model, "messages": messages, "stream": True}
    body["truncate"] = False  # else the server drops the oldest messages silently
    if request.offered_tools:
        body["tools"] = [wire_tool(tool) for tool in request.offered_tools]
        if any(tool.strict for tool in request.offered_tools):
            report_left_out("tools.strict", on_left_out)
    if (think := wire_think(plan)) is not None:
        body["think"] = think
    return body | options_body(request.options)


def as_sent(request: Request) -> Request:
    """Return a request with the words that switch thinking, if Ollama does not switch it itself."""
    plan = plan_of(request)
    return request if plan.is_known_to_engine else with_words(request, plan)


def wire_message(message: Message) -> JsonObject:
    """Return one message: pictures beside the text, tool calls with their arguments as objects."""
    texts: list[str] = []
    pictures: list[JsonValue] = []
    for block in message.content:
        match block:
            case TextContent():
                texts.append(block.text)
            case ImageContent():
                pictures.append(picture_base64(block))
            case AudioContent(data=bytes() | str() as data, mime_type=None | "audio/wav"):
                pictures.append(base64_text(data))  # told apart by its first bytes
            case ThinkingContent():
                pass  # models are trained without their earlier thinking in the history
            case _:
                raise unsendable(block)
    wire: JsonObject = {"role": message.role, "content": "".join(texts)}
    if pictures:
        wire["images"] = pictures
    if message.tool_calls:
        wire["tool_calls"] = [wire_call(call) for call in message.tool_calls]
    if message.role == "tool":
        names = {"tool_name": message.name or None, "tool_call_id": message.tool_call_id or None}
        wire |= present(names)
    return wire


def wire_call(call: ToolCall) -> JsonObject:
    """Return a call of the history; a string as arguments would be refused."""
    function: JsonObject = {"name": call.name, "arguments": call.args or {}}
    return {"id": call.id, **call.extra, "function": function}


def wire_tool(tool: ToolSchema) -> JsonObject:
    """Return a tool that may be called."""
    function: dict[str, JsonValue] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters or {"type": "object", "properties": {}},
    }
    return {"type": "function", "function": present(function)}


def wire_think(plan: ThinkingPlan) -> bool | str | None:
    """Return the `think` field: a level, on, or off.

    None without a choice, and for a model that Ollama does not know to think.
    """
    if plan.is_on is None or not plan.is_known_to_engine:
        return None
    return (plan.effort or True) if plan.is_on else False


def _check_choice(request: Request) -> None:
    """Refuse to force a tool call, which the API cannot express."""
    choice = request.tool_choice
    if choice == "required" or isinstance(choice, ToolName):
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            "Ollama cannot be told that a tool must be called.",
            hint="Leave the choice to the model, or choose another provider.",
        )


def model_parameters(options: GenerationOptions) -> JsonObject:
    """Return the options that a model itself can have, as its parameters."""
    inner = options_body(options).get("options")
    return inner if isinstance(inner, dict) else {}


def options_body(options: GenerationOptions) -> JsonObject:
    """Return the options as the fields of a body, and the keys of `extra_body`."""
    inner: dict[str, JsonValue] = {
        "temperature": options.temperature,
        "num_predict": options.max_tokens,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "min_p": options.min_p,
        "repeat_penalty": options.repeat_penalty,
        "presence_penalty": options.presence_penalty,
        "frequency_penalty": options.frequency_penalty,
        "seed": options.seed,
        "stop": list(options.stop) if options.stop is not None else None,
        "num_ctx": options.num_ctx,
    }
    inner = present(inner)
    extra = dict(options.extra_body or {})
    more = extra.pop("options", None)
    if isinstance(more, dict):
        inner |= more
    elif more is not None:
        extra["options"] = more  # the server reports what is wrong with it
    outer: dict[str, JsonValue] = {
        "options": inner or None,
        "format": _format(options),
        "keep_alive": options.keep_alive,
    }
    return present(outer) | extra


def _format(options: GenerationOptions) -> JsonValue:
    """Return the `format` field; Ollama holds answers to a schema by llama.cpp's grammars."""
    wanted = options.response_format
    return grammar_form(wanted) if isinstance(wanted, dict) else wanted
