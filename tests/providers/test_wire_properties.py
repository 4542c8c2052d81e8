"""Numbered properties of what is sent: messages, tools, options, for every kind of server."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.blocks import Block, ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import RESERVED_BODY_KEYS, GenerationOptions, Request
from ollm_tui.protocol.tools import ToolCall, ToolSchema
from ollm_tui.providers.anthropic import to_wire as anthropic
from ollm_tui.providers.anthropic.to_wire import chat_body as anthropic_body
from ollm_tui.providers.body.unsupported import REFUSED_KEYS
from ollm_tui.providers.ollama import to_wire as ollama
from ollm_tui.providers.openai_compatible import to_wire as openai
from tests.support.strategies import JSON_OBJECTS as ANY_JSON_OBJECTS
from tests.support.strategies import NAMES

JSON_OBJECTS = ANY_JSON_OBJECTS.filter(lambda value: "Infinity" not in json.dumps(value))
OWN = st.sampled_from(["temperature", "top_p", "seed", "stop", "max_tokens", "top_k"])

BACKENDS = st.sampled_from([None, "vllm", "llamacpp", "lmstudio", "localai", "kobold", "embedded"])
PICTURES = st.binary(min_size=1, max_size=20).map(
    lambda data: ImageContent(data=data, mime_type="image/png")
)
BLOCKS = st.one_of(
    st.text(min_size=1).map(TextContent), PICTURES, st.text(min_size=1).map(ThinkingContent)
)


def messages_with(ids: st.SearchStrategy[str]) -> st.SearchStrategy[Message]:
    """Make messages of every role; calls and results bear these ids."""
    calls = st.builds(ToolCall, id=ids, name=NAMES, args=JSON_OBJECTS)
    message_content = st.lists(BLOCKS, min_size=1)
    return st.one_of(
        st.builds(Message, st.sampled_from(["user", "system"]), message_content),
        st.builds(Message, st.just("assistant"), message_content, tool_calls=st.lists(calls)),
        st.builds(Message, st.just("assistant"), tool_calls=st.lists(calls, min_size=1)),
        st.builds(Message, st.just("tool"), st.text(), name=NAMES, tool_call_id=ids),
    )


MESSAGES = messages_with(NAMES)
LEGAL_IDS = st.from_regex(r"[A-Za-z0-9_-]{1,20}", fullmatch=True)
SCHEMAS = st.builds(
    ToolSchema,
    name=NAMES,
    description=st.none() | st.text(),
    parameters=st.none() | JSON_OBJECTS.filter(bool),
)
OPTIONS = st.builds(
    GenerationOptions,
    temperature=st.none() | st.floats(0, 2),
    max_tokens=st.none() | st.integers(1, 10**6),
    top_p=st.none() | st.floats(0, 1),
    top_k=st.none() | st.integers(0, 1000),
    seed=st.none() | st.integers(0, 2**31),
    stop=st.none() | st.lists(st.text(min_size=1), max_size=4).map(tuple),
    num_ctx=st.none() | st.integers(1, 10**6),
)
Carried = tuple[str, str, list[bytes], list[tuple[str, str, JsonObject]], str | None]
"""What the wire has room for: role, text, pictures, calls, the id that a result answers."""


def carried(message: Message) -> Carried:
    texts = [block.text for block in message.content if isinstance(block, TextContent)]
    pictures = [block.data for block in message.content if isinstance(block, ImageContent)]
    calls = [(call.id, call.name, call.args or {}) for call in message.tool_calls]
    data = [picture for picture in pictures if isinstance(picture, bytes)]
    return message.role, "".join(texts), data, calls, message.tool_call_id


def from_ollama(wire: JsonObject) -> Message:
    """Read a message of Ollama's format back, by its documentation."""
    calls = [
        ToolCall(id=one["id"], name=one["function"]["name"], args=one["function"]["arguments"])
        for one in objects(wire.get("tool_calls"))
    ]
    images = wire.get("images") or []
    assert isinstance(images, list)
    pictures = [ImageContent(data=base64.b64decode(str(image))) for image in images]
    content: list[Block] = [TextContent(str(wire["content"]))] if wire["content"] else []
    return Message(
        str(wire["role"]),
        [*content, *pictures],
        name=text(wire.get("tool_name")),
        tool_calls=calls,
        tool_call_id=text(wire.get("tool_call_id")),
    )


def from_openai(wire: JsonObject) -> Message:
    """Read a message of OpenAI's format back, by its documentation."""
    calls = [
        ToolCall(
            id=one["id"],
            name=one["function"]["name"],
            args=json.loads(one["function"]["arguments"]),
        )
        for one in objects(wire.get("tool_calls"))
    ]
    content = wire["content"]
    parts: list[Block] = [TextContent(content)] if isinstance(content, str) and content else []
    for part in objects(content):
        if part["type"] == "text":
            parts.append(TextContent(part["text"]))
        else:
            head, _, data = part["image_url"]["url"].partition(",")
            assert head == "data:image/png;base64"
            parts.append(ImageContent(data=base64.b64decode(data)))
    return Message(
        str(wire["role"]), parts, tool_calls=calls, tool_call_id=text(wire.get("tool_call_id"))
    )


def objects(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: object) -> str | None:
    return value if isinstance(value, str) else None


# Feature: stage-02-core-provider, Property 12: Message Format Mapping
@settings(max_examples=100)
@given(message=MESSAGES)
def test_a_message_comes_back_from_either_wire_as_it_was(message: Message) -> None:
    sayable = any(not isinstance(block, ThinkingContent) for block in message.content)
    if not (sayable or message.tool_calls or message.role == "tool"):
        return
    wire_form = ollama.wire_message(message)
    assert carried(from_ollama(json.loads(json.dumps(wire_form)))) == carried(message)
    if message.role == "tool":
        assert from_ollama(wire_form).name == message.name
    assert carried(from_openai(json.loads(json.dumps(openai.wire_message(message))))) == carried(
        message
    )


def from_anthropic(wire: JsonObject) -> list[tuple[str, str, list[bytes], list[object], object]]:
    """Read a message of Anthropic's format back, by its documentation."""
    blocks = wire["content"]
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    results = [one for one in objects(blocks) if one["type"] == "tool_result"]
    role = "tool" if results else str(wire["role"])
    wire_form = objects(results[0].get("content")) if results else objects(blocks)
    message_content = "".join(one["text"] for one in wire_form if one["type"] == "text")
    if results and isinstance(results[0].get("content"), str):
        message_content = results[0]["content"]
    pictures = [
        base64.b64decode(one["source"]["data"]) for one in wire_form if one["type"] == "image"
    ]
    calls: list[object] = [
        (one["id"], one["name"], one["input"]) for one in wire_form if one["type"] == "tool_use"
    ]
    return [
        (role, message_content, pictures, calls, results[0]["tool_use_id"] if results else None)
    ]


# Feature: stage-02-core-provider, Property 12: Message Format Mapping
@settings(max_examples=100)
@given(message=messages_with(LEGAL_IDS).filter(lambda message: message.role != "system"))
def test_a_message_comes_back_from_anthropics_wire_as_it_was(message: Message) -> None:
    wire_form = anthropic.wire_messages([message], "p://m")
    message_content = (
        Message(message.role, spoken(message), **rest_of(message)) if sayable(message) else None
    )
    assert [
        one for wire in wire_form if isinstance(wire, dict) for one in from_anthropic(wire)
    ] == ([carried(message_content)] if message_content else [])


@given(ids=st.lists(NAMES, min_size=2, max_size=4, unique=True))
def test_calls_and_results_stay_together_whatever_their_ids(ids: list[str]) -> None:
    calls = [ToolCall(id=id_, name="f", args={}) for id_ in ids]
    results = [Message("tool", id_, name="f", tool_call_id=id_) for id_ in ids]
    asked, answered = anthropic.wire_messages(
        [Message("assistant", tool_calls=calls), *results], "p://m"
    )
    assert isinstance(asked, dict)
    assert isinstance(answered, dict)
    wire_form = [block["id"] for block in objects(asked["content"])]
    assert [block["tool_use_id"] for block in objects(answered["content"])] == wire_form
    assert len(set(wire_form)) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", str(id_)) for id_ in wire_form)


def spoken(message: Message) -> list[Block]:
    """Give what has a place there: thoughts without a signature and blank texts have none."""
    return [
        block
        for block in message.content
        if not isinstance(block, ThinkingContent)
        and not (isinstance(block, TextContent) and not block.text.strip())
    ]


def sayable(message: Message) -> bool:
    return bool(spoken(message) or message.tool_calls or message.role == "tool")


def rest_of(message: Message) -> dict[str, Any]:
    return {"tool_calls": message.tool_calls, "tool_call_id": message.tool_call_id}


# Feature: stage-02-core-provider, Property 13: Tool Schema Conversion
@settings(max_examples=100)
@given(schemas=st.lists(SCHEMAS, max_size=6), backend=BACKENDS)
def test_tools_keep_their_names_descriptions_and_parameters(
    schemas: Sequence[ToolSchema], backend: str | None
) -> None:
    asked = Request(model="m", messages=[Message("user", "hi")], tools=schemas)
    for body in (ollama.chat_body(asked), openai.chat_body(asked, backend)):
        wire_form = [one["function"] for one in objects(body.get("tools"))]
        assert [(f["name"], f.get("description"), f["parameters"]) for f in wire_form] == [
            (s.name, s.description, s.parameters or {"type": "object", "properties": {}})
            for s in schemas
        ]
        assert all(one["type"] == "function" for one in objects(body.get("tools")))
        assert ("tools" in body) == bool(schemas)
    wire_form = objects(anthropic_body(asked, "p://m").get("tools"))
    assert [(t["name"], t.get("description"), t["input_schema"]) for t in wire_form] == [
        (s.name, s.description, {"type": "object", **(s.parameters or {"properties": {}})})
        for s in schemas
    ]


# Feature: stage-02-core-provider, Property 14: Local Provider Request Formatting
@settings(max_examples=100)
@given(
    messages=st.lists(MESSAGES, min_size=1, max_size=6),
    model=NAMES,
    system=st.none() | st.text(min_size=1),
    options=OPTIONS,
)
def test_a_request_to_ollama_has_model_messages_and_options_in_their_places(
    messages: Sequence[Message], model: str, system: str | None, options: GenerationOptions
) -> None:
    asked = Request(model=model, messages=messages, system_prompt=system, options=options)
    body = json.loads(json.dumps(ollama.chat_body(asked)))
    assert (body["model"], body["stream"]) == (model, True)
    first = [{"role": "system", "content": system}] if system else []
    assert body["messages"][: len(first)] == first
    roles = [message["role"] for message in body["messages"][len(first) :]]
    assert roles == [message.role for message in messages]
    named = {
        "temperature": options.temperature,
        "num_predict": options.max_tokens,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "seed": options.seed,
        "stop": None if options.stop is None else list(options.stop),
        "num_ctx": options.num_ctx,
    }
    assert body.get("options", {}) == {k: v for k, v in named.items() if v is not None}
    assert set(body) <= {"model", "messages", "stream", "truncate", "options"}


# Feature: stage-11-vllm-openai, Property 7: Provider-Specific Options Passthrough
@settings(max_examples=100)
@given(
    extra=st.dictionaries(
        OWN | NAMES.filter(lambda n: n not in RESERVED_BODY_KEYS | REFUSED_KEYS),
        JSON_OBJECTS,
        max_size=5,
    ),
    options=OPTIONS,
    backend=BACKENDS,
)
def test_everything_in_extra_body_is_in_the_request(
    extra: Mapping[str, JsonObject], options: GenerationOptions, backend: str | None
) -> None:
    more = replace(options, extra_body=dict(extra))
    asked = Request(model="m", messages=[Message("user", "hi")], options=more)
    body = openai.chat_body(asked, backend)
    assert {key: body.get(key) for key in extra} == dict(extra)
    plain = openai.chat_body(replace(asked, options=options), backend)
    assert {key: value for key, value in body.items() if key not in extra} == {
        key: value for key, value in plain.items() if key not in extra
    }
    assert {key: anthropic_body(asked, "p://m").get(key) for key in extra} == dict(extra)
    wire_form = ollama.chat_body(asked)
    own = {key: value for key, value in extra.items() if key != "options"}
    assert {key: wire_form.get(key) for key in own} == own
