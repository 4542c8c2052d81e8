"""Numbered properties of what is sent: messages, tools, options, for every kind of server."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.protocol.blocks import Block, ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import RESERVED_BODY_KEYS, GenerationOptions, Request
from ollm_tui.protocol.tools import ToolCall, ToolSchema
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
CALLS = st.builds(ToolCall, id=NAMES, name=NAMES, args=JSON_OBJECTS)
MESSAGES = st.one_of(
    st.builds(Message, st.sampled_from(["user", "system"]), st.lists(BLOCKS, min_size=1)),
    st.builds(
        Message, st.just("assistant"), st.lists(BLOCKS, min_size=1), tool_calls=st.lists(CALLS)
    ),
    st.builds(Message, st.just("assistant"), tool_calls=st.lists(CALLS, min_size=1)),
    st.builds(Message, st.just("tool"), st.text(), name=NAMES, tool_call_id=NAMES),
)
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
@given(message=MESSAGES)
def test_a_message_comes_back_from_either_wire_as_it_was(message: Message) -> None:
    sayable = any(not isinstance(block, ThinkingContent) for block in message.content)
    if not (sayable or message.tool_calls or message.role == "tool"):
        return
    told = ollama.wire_message(message)
    assert carried(from_ollama(json.loads(json.dumps(told)))) == carried(message)
    if message.role == "tool":
        assert from_ollama(told).name == message.name
    assert carried(from_openai(json.loads(json.dumps(openai.wire_message(message))))) == carried(
        message
    )


# Feature: stage-02-core-provider, Property 13: Tool Schema Conversion
@given(schemas=st.lists(SCHEMAS, max_size=6), backend=BACKENDS)
def test_tools_keep_their_names_descriptions_and_parameters(
    schemas: Sequence[ToolSchema], backend: str | None
) -> None:
    asked = Request(model="m", messages=[Message("user", "hi")], tools=schemas)
    for body in (ollama.chat_body(asked), openai.chat_body(asked, backend)):
        told = [one["function"] for one in objects(body.get("tools"))]
        assert [(f["name"], f.get("description"), f["parameters"]) for f in told] == [
            (s.name, s.description, s.parameters or {"type": "object", "properties": {}})
            for s in schemas
        ]
        assert all(one["type"] == "function" for one in objects(body.get("tools")))
        assert ("tools" in body) == bool(schemas)


# Feature: stage-02-core-provider, Property 14: Local Provider Request Formatting
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
    assert set(body) <= {"model", "messages", "stream", "options"}


# Feature: stage-11-vllm-openai, Property 7: Provider-Specific Options Passthrough
@given(
    extra=st.dictionaries(
        OWN | NAMES.filter(lambda n: n not in RESERVED_BODY_KEYS), JSON_OBJECTS, max_size=5
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
    told = ollama.chat_body(asked)
    own = {key: value for key, value in extra.items() if key != "options"}
    assert {key: told.get(key) for key in own} == own
