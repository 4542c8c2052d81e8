"""Servers older, newer or stricter than the app: what they lack is off, with at most one line.

Each shape is what one of them says; behind it stands a server that would answer.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import ToolMode, ToolModes
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.providers import create_provider
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.providers.spec import ProviderSpec
from tests.chat.test_tools_as_text import Weather
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import FakeOpenAI
from tests.support.fake_vllm import FakeVllm
from tests.support.http_server import Handler, Received, Reply, serve

IN_TEXT = "The tools are described to the model in text instead."
PARSER = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
JINJA = "tools param requires --jinja flag"
OPTIONS = GenerationOptions(temperature=0.5, top_k=40, max_tokens=100)


def error(message: str, **more: object) -> object:
    return {"error": {"message": message, **more}}


@dataclass(frozen=True)
class Shape:
    """What is refused, how, and the one line that is shown about it."""

    piece: str
    status: int
    body: object
    line: str | None = IN_TEXT
    kind: str = "openai-compatible"


SHAPES: Mapping[str, Shape] = {
    "vllm without a tool parser": Shape(
        '"tools"', 400, error(PARSER, type="BadRequestError", param=None, code=400)
    ),
    "an older vllm without a tool parser": Shape(
        '"tools"',
        400,
        {"object": "error", "message": PARSER, "type": "BadRequestError", "code": 400},
    ),
    "llama.cpp without templates": Shape(
        '"tools"', 500, error(JINJA, code=500, type="server_error")
    ),
    "ollama with a model without tools": Shape(
        '"tools"',
        400,
        {"error": "registry.ollama.ai/library/gemma:latest does not support tools"},
        kind="ollama",
    ),
    "openai with a model without tools": Shape(
        '"tools"',
        400,
        error(
            "Unsupported parameter: 'tools' is not supported with this model.",
            param="tools",
            code="unsupported_parameter",
        ),
    ),
    "a router without an endpoint for tools": Shape(
        '"tools"', 404, error("No endpoints found that support tool use.", code=404)
    ),
    "a reasoning model without tools": Shape(
        '"tools"', 400, error("r1 does not support Function Calling", code="invalid_request_error")
    ),
    "a validator that knows no tools": Shape(
        '"tools"', 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "tools"]}]}
    ),
    "an older service without tools": Shape(
        '"tools"', 400, error("Unrecognized request argument supplied: tools", param=None)
    ),
    "mistral without counts": Shape(
        '"stream_options"',
        422,
        {"message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]}},
        None,
    ),
    "a reasoning model with another limit": Shape(
        '"max_tokens"',
        400,
        error(
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        None,
    ),
    "a reasoning model without sampling": Shape(
        '"temperature"',
        400,
        error("'temperature' does not support 0.5", param="temperature", code="unsupported_value"),
        "The answer was requested without `temperature`.",
    ),
    "groq without top_k": Shape(
        '"top_k"',
        400,
        error("property 'top_k' is unsupported", type="invalid_request_error"),
        "The answer was requested without `top_k`.",
    ),
    "an older service without top_k": Shape(
        '"top_k"',
        400,
        error("Unrecognized request argument supplied: top_k", param=None, code=None),
        "The answer was requested without `top_k`.",
    ),
}


def behind(shape: Shape) -> Handler:
    answers = fake_ollama if shape.kind == "ollama" else FakeOpenAI()

    async def handler(request: Received, reply: Reply) -> None:
        asks = request.method == "POST" and request.path in ("/api/chat", "/v1/chat/completions")
        if asks and shape.piece in json.dumps(request.json()):
            await reply.json(shape.body, shape.status)
        else:
            await answers(request, reply)

    return handler


async def asked(
    shape: Shape, prompts: int = 1
) -> tuple[list[list[chat_events.ChatEvent]], list[tuple[str, ToolMode]], int]:
    """Give the events of each prompt, what was remembered, and how often the server was asked."""
    kept: list[tuple[str, ToolMode]] = []
    model = "thinker" if shape.kind == "ollama" else "tiny"
    async with serve(behind(shape)) as server:
        provider = create_provider(ProviderSpec(name="p", kind=shape.kind, base_url=server.url))
        registry = ProviderRegistry()
        registry.register(provider)
        parts = ChatParts(
            router=Router(registry, ModelCatalog(registry)),
            tools=Weather(),
            modes=ToolModes(remember=lambda address, mode: kept.append((address, mode))),
        )
        conversation = Conversation(model=f"p://{model}", tools=("weather",), options=OPTIONS)
        client = ChatClient(parts, conversation)
        events = []
        for _ in range(prompts):
            async with client.chat("hello") as stream:
                events.append([event async for event in stream])
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
        chats = [r for r in server.received if r.method == "POST" and "chat" in r.path]
    return events, kept, len(chats)


@pytest.mark.parametrize("name", SHAPES)
async def test_the_answer_comes_with_at_most_one_line_and_the_next_without(name: str) -> None:
    shape = SHAPES[name]
    (first, second), kept, requests = await asked(shape, prompts=2)
    lines = [event.instead for event in first if isinstance(event, chat_events.Retrying)]
    assert lines == ([] if shape.line is None else [shape.line])
    for events in (first, second):
        assert isinstance(events[-1], chat_events.Finish)
        text = "".join(e.delta for e in events if isinstance(e, chat_events.TextDelta))
        assert text == "Hello, world!"
    assert not any(isinstance(event, chat_events.Retrying) for event in second)
    assert requests == 3, "what was refused once is not sent again"
    assert bool(kept) == (shape.line == IN_TEXT)


async def test_vllm_without_a_tool_parser_runs_tools_that_were_described_in_text() -> None:
    step = 'echo Thought: Look.\nAction: weather\nAction Input: {"city": "Wien"}'
    tools = Weather()
    async with serve(FakeVllm(tool_parser=False)) as server:
        spec = ProviderSpec(name="v", kind="openai-compatible", backend="vllm", base_url=server.url)
        provider = create_provider(spec)
        registry = ProviderRegistry()
        registry.register(provider)
        parts = ChatParts(router=Router(registry, ModelCatalog(registry)), tools=tools)
        conversation = Conversation(model="v://tiny-sql", tools=("weather",))
        async with ChatClient(parts, conversation).chat(step, ChatOptions(max_turns=1)) as stream:
            events = [event async for event in stream]
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
    assert [call.args for call in tools.calls] == [{"city": "Wien"}]
    notes = [event for event in events if isinstance(event, chat_events.Retrying)]
    assert [(note.why, note.instead) for note in notes] == [(f"{PARSER}.", IN_TEXT)]


OTHERS: Mapping[str, object] = {
    "a bad schema": error("Invalid schema for function 'weather': type must be 'object'."),
    "a tool that is missing": error("Tool 'x' in tool_choice was not found in tools."),
    "too many tools": error("Invalid 'tools': array too long. Expected at most 128."),
    "another feature": error('"tool-model" does not support thinking'),
    "pictures": error("tool-model does not support images with tools"),
    "a strict mode": {
        "detail": [{"type": "extra_forbidden", "loc": ["body", "tools", 0, "function", "x"]}]
    },
}


@pytest.mark.parametrize("name", OTHERS)
async def test_no_other_complaint_takes_native_tools_away(name: str) -> None:
    (events,), kept, requests = await asked(Shape('"tools"', 400, OTHERS[name]))
    (end,) = events
    assert isinstance(end, chat_events.ErrorEvent)
    assert kept == []
    assert requests == 1


def test_the_line_closes_the_servers_words_as_a_sentence() -> None:
    for reason, closed in ((PARSER, f"{PARSER}."), ("No.", "No.")):
        note = chat_events.Retrying(attempt=1, wait_s=0, error=AIError(400, reason), turn=1)
        assert note.why == closed
