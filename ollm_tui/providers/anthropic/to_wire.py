"""A `Request` as the body of `/messages`, where user and assistant take turns; pure."""

import hashlib
from collections.abc import Iterable, Sequence
from functools import partial

from ollm_tui.decode.json_fields import as_object, present
from ollm_tui.decode.schema_forms import anthropic_form
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.blocks import (
    Block,
    DocumentContent,
    ImageContent,
    TextContent,
    ThinkingContent,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import (
    GenerationOptions,
    Request,
    ThinkingPlan,
    plan_of,
)
from ollm_tui.protocol.tools import ToolCall, ToolChoice, ToolName, ToolSchema
from ollm_tui.providers.body.unsupported import (
    OnLeftOut,
    check_request,
    ignore_left_out,
    report_unsent,
)
from ollm_tui.providers.body.wire_messages import WireMessages
from ollm_tui.providers.media.encoding import file_base64, picture_base64, picture_type, unsendable

DEFAULT_TOKENS = 8192
"""`max_tokens` where neither the request nor the list of models has one: the API requires it."""
MAX_DEFAULT_TOKENS = 32_000
"""The largest `max_tokens` without a request for more."""
_SYSTEM = frozenset({"system", "developer"})
_ROLES = {"user": "user", "tool": "user", "assistant": "assistant"}
_ID = lazy_re(r"[A-Za-z0-9_-]+")
_NAMELESS = "unnamed"
_OWN_CALL_KEYS = frozenset({"caller"})
MEDIA_TYPES = frozenset({"image", "document"})
"""The types of content that messages may have beside text."""


def chat_body(
    request: Request,
    signer: str,
    max_tokens: int | None = None,
    on_left_out: OnLeftOut = ignore_left_out,
    wire_all: WireMessages | None = None,
) -> JsonObject:
    """Return the body of a streamed request.

    Thinking is sent if it is signed by `signer`. `max_tokens` is the length of the longest answer
    that the model can generate, if known. `on_left_out` is called for fields that are not sent.
    `wire_all` makes a turn of each message, as `wire_turns` does.

    Raises:
        AIError: UNSUPPORTED_MODALITY or UNSUPPORTED_FEATURE for what the format cannot hold.
    """
    check_request(request)
    report_unsent(request, "anthropic", on_left_out)
    default = min(max_tokens, MAX_DEFAULT_TOKENS) if max_tokens else DEFAULT_TOKENS
    body: JsonObject = {
        "model": request.model,
        "max_tokens": request.options.max_tokens or default,
        "messages": wire_messages(request.conversation, signer, wire_all),
        "stream": True,
    }
    if system := wire_system(request):
        body["system"] = system
    body |= _tools(request)
    body |= wire_think(plan_of(request))
    if schema := _schema(request.options):
        config = body.get("output_config")
        body["output_config"] = (config if isinstance(config, dict) else {}) | schema
    return body | _options(request.options)


def wire_tool(tool: ToolSchema) -> JsonObject:
    """Return a tool that may be called."""
    wire: dict[str, JsonValue] = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": {"type": "object", **(tool.parameters or {"properties": {}})},
        "strict": tool.strict,
    }
    return present(wire)


def wire_choice(choice: ToolChoice) -> JsonObject:
    """Return the `tool_choice` field."""
    if isinstance(choice, ToolName):
        return {"type": "tool", "name": choice.name}
    return {"type": "any" if choice == "required" else choice}


def wire_think(plan: ThinkingPlan) -> JsonObject:
    """Return the fields that switch thinking, and its effort, as the newest models take them."""
    if plan.is_on is None:
        return {}
    if not plan.is_on:
        return {"thinking": {"type": "disabled"}}
    fields: JsonObject = {"thinking": {"type": "adaptive", "display": "summarized"}}
    if plan.effort:
        fields["output_config"] = {"effort": plan.effort}
    return fields


def _tools(request: Request) -> JsonObject:
    """Return the tools; calls in the history need theirs even if none may be called now."""
    if request.offered_tools:
        fields: JsonObject = {"tools": [wire_tool(tool) for tool in request.offered_tools]}
        if request.tool_choice is not None:
            fields["tool_choice"] = wire_choice(request.tool_choice)
        return fields
    names = used_tools(request.conversation)
    known = {tool.name: tool for tool in request.tools}
    used = [wire_tool(known.get(name) or ToolSchema(name=name)) for name in names]
    return {"tools": [*used], "tool_choice": {"type": "none"}} if used else {}


def _options(options: GenerationOptions) -> JsonObject:
    named: dict[str, JsonValue] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "stop_sequences": [*options.stop] if options.stop else None,
    }
    return present(named) | dict(options.extra_body or {})


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


def with_accepted_schema(body: JsonObject) -> JsonObject:
    """Return the body with its schema in the form that Anthropic's own servers accept."""
    config = as_object(body.get("output_config"))
    wanted = as_object(config.get("format"))
    if "schema" not in wanted:
        return body
    form = {**wanted, "schema": anthropic_form(as_object(wanted["schema"]))}
    return body | {"output_config": {**config, "format": form}}


def wire_system(request: Request) -> str:
    """Return the system prompt: the request's, and system messages of the conversation."""
    messages = [_words(m) for m in request.conversation if m.role in _SYSTEM]
    return "\n\n".join(text for text in (request.system_prompt, *messages) if text and text.strip())


def wire_turns(signer: str) -> WireMessages:
    """Return what makes a turn of each message, each once."""
    return WireMessages(partial(_turn, signer=signer))


def wire_messages(
    messages: Sequence[Message], signer: str, wire_all: WireMessages | None = None
) -> list[JsonValue]:
    """Return the messages, with user and assistant in turns.

    Raises:
        AIError: UNSUPPORTED_FEATURE for another role, UNSUPPORTED_MODALITY for content that the
            format cannot hold.
    """
    spoken = [message for message in messages if message.role not in _SYSTEM]
    groups: list[tuple[JsonObject, list[Message]]] = []
    for message, one in zip(spoken, (wire_all or wire_turns(signer))(spoken), strict=True):
        turn = as_object(one)
        if groups and groups[-1][0]["role"] == turn["role"]:
            groups[-1][1].append(message)
        elif turn["content"]:
            groups.append((turn, [message]))
    return [turn if len(parts) == 1 else _together(parts, signer) for turn, parts in groups]


def _together(messages: Sequence[Message], signer: str) -> JsonObject:
    """Return several messages as one turn."""
    blocks = [block for message in messages for block in _blocks(message, signer)]
    return {"role": _role(messages[0]), "content": _content(blocks)}


def _turn(message: Message, signer: str) -> JsonObject:
    """Return one message as a turn of its own."""
    return {"role": _role(message), "content": _content(_blocks(message, signer))}


def used_tools(messages: Iterable[Message]) -> list[str]:
    """Return the names of the tools that were called, each once."""
    names = [_name(call) for message in messages for call in message.tool_calls]
    return [*dict.fromkeys(names)]


def _words(message: Message) -> str:
    """Return the text of a system message, which can hold nothing else."""
    for block in message.content:
        if not isinstance(block, TextContent | ThinkingContent):
            raise unsendable(block)
    return message.text


def _role(message: Message) -> str:
    role = _ROLES.get(message.role)
    if role is None:
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"Anthropic does not know the role {message.role!r}.",
            hint="Use system, user, assistant or tool.",
        )
    return role


def _content(blocks: list[JsonObject]) -> JsonValue:
    """Put tool results first, as the API requires; plain text stays a string."""
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return [*sorted(blocks, key=lambda block: block["type"] != "tool_result")]


def _blocks(message: Message, signer: str) -> list[JsonObject]:
    blocks = [wire for block in message.content if (wire := _block(block, signer)) is not None]
    if message.role == "tool":
        return [_result(message, blocks)]
    return [*blocks, *(wire_call(call) for call in message.tool_calls)]


def _block(block: Block, signer: str) -> JsonObject | None:
    """Return one block, or None for one that the API refuses or should not see."""
    match block:
        case TextContent():
            return {"type": "text", "text": block.text} if block.text.strip() else None
        case ImageContent():
            return {"type": "image", "source": _source(block)}
        case DocumentContent():
            return _document(block)
        case ThinkingContent():
            return _thinking(block) if block.signer == signer else None
        case _:
            raise unsendable(block)


def _thinking(block: ThinkingContent) -> JsonObject | None:
    if block.signature is None:
        return None  # cut short, and therefore without a proof
    if block.sealed:
        return {"type": "redacted_thinking", "data": block.signature}
    return {"type": "thinking", "thinking": block.text, "signature": block.signature}


def _source(picture: ImageContent) -> JsonObject:
    if picture.data is None and picture.url and not picture.url.startswith("data:"):
        return {"type": "url", "url": picture.url}
    data = picture_base64(picture)
    return {"type": "base64", "media_type": picture_type(picture), "data": data}


def _document(document: DocumentContent) -> JsonObject:
    source: JsonObject = {"type": "url", "url": document.url}
    if document.data is not None or not document.url:
        data = file_base64(document)
        source = {"type": "base64", "media_type": "application/pdf", "data": data}
    wire: dict[str, JsonValue] = {"type": "document", "source": source, "title": document.name}
    return present(wire)


def _result(message: Message, content: list[JsonObject]) -> JsonObject:
    wire: JsonObject = {"type": "tool_result", "tool_use_id": _id(message.tool_call_id or "")}
    if content:
        wire["content"] = _content(content)
    if message.metadata.get("is_error") is True:
        wire["is_error"] = True
    return wire


def wire_call(call: ToolCall) -> JsonObject:
    """Return a call of the history; malformed arguments are sent as an empty object."""
    own = {key: value for key, value in call.extra.items() if key in _OWN_CALL_KEYS}
    return {
        **own,
        "type": "tool_use",
        "id": _id(call.id),
        "name": _name(call),
        "input": call.args or {},
    }


def _name(call: ToolCall) -> str:
    return call.name or _NAMELESS


def _id(id_: str) -> str:
    """Return an id of allowed characters; other servers' ids may have any."""
    if _ID.fullmatch(id_):
        return id_
    mark = hashlib.sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"call_{mark}"
