"""Requests become the bodies that the servers' documentation asks for."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from ollm_tui.protocol.blocks import (
    AudioContent,
    ImageContent,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, Request, ThinkingConfig
from ollm_tui.protocol.tools import ToolCall, ToolName, ToolSchema
from ollm_tui.providers.body.unsupported import ignore_left_out, report_unsent
from ollm_tui.providers.ollama import to_wire as ollama
from ollm_tui.providers.openai_compatible import to_wire as openai

PNG = b"\x89PNG\r\n"
WEATHER = ToolSchema(name="weather", description="Tells it.", parameters={"type": "object"})
CLOCK = ToolSchema(name="clock")
CALL = ToolCall(
    id="c1", name="weather", args={"city": "Oslo"}, raw_args='{"city":"Oslo"}', extra={"sig": "x"}
)
HISTORY = (
    Message("user", "hi", metadata={"secret": "app"}),
    Message("assistant", [ThinkingContent("hm"), TextContent("Looking.")], tool_calls=(CALL,)),
    Message("tool", "4 degrees", name="weather", tool_call_id="c1"),
)
ASK = Request(model="m", messages=HISTORY, system_prompt="Be brief.")
OPTIONS = GenerationOptions(
    temperature=0.5,
    max_tokens=10,
    top_p=0.9,
    top_k=40,
    min_p=0.1,
    repeat_penalty=1.1,
    seed=1,
    stop=("END",),
    num_ctx=8192,
    keep_alive="5m",
    response_format="json",
)


def test_an_ollama_request_holds_the_whole_history_in_ollamas_shape() -> None:
    assert ollama.chat_body(ASK) == {
        "model": "m",
        "stream": True,
        "truncate": False,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": "Looking.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "sig": "x",
                        "function": {"name": "weather", "arguments": {"city": "Oslo"}},
                    }
                ],
            },
            {"role": "tool", "content": "4 degrees", "tool_name": "weather", "tool_call_id": "c1"},
        ],
    }


def test_an_openai_request_holds_the_whole_history_in_openais_shape() -> None:
    assert openai.chat_body(ASK) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": "Looking.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "sig": "x",
                        "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
                    }
                ],
            },
            {"role": "tool", "content": "4 degrees", "tool_call_id": "c1"},
        ],
    }


def test_ollama_options_go_where_ollama_reads_them() -> None:
    body = ollama.chat_body(replace(ASK, options=OPTIONS))
    assert body["options"] == {
        "temperature": 0.5,
        "num_predict": 10,
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.1,
        "repeat_penalty": 1.1,
        "seed": 1,
        "stop": ["END"],
        "num_ctx": 8192,
    }
    assert (body["keep_alive"], body["format"]) == ("5m", "json")


def test_openai_options_stay_at_the_top_and_unknown_ones_are_left_out() -> None:
    body = openai.chat_body(replace(ASK, options=OPTIONS))
    assert body["max_tokens"] == 10
    assert body["response_format"] == {"type": "json_object"}
    assert (body["top_k"], body["repeat_penalty"], body["stop"]) == (40, 1.1, ["END"])
    assert not {"num_ctx", "keep_alive", "options"} & set(body)
    assert openai.chat_body(replace(ASK, options=OPTIONS), "vllm")["repetition_penalty"] == 1.1


def test_nothing_is_sent_that_was_not_set() -> None:
    assert set(ollama.chat_body(ASK)) == {"model", "messages", "stream", "truncate"}
    assert set(openai.chat_body(ASK)) == {"model", "messages", "stream", "stream_options"}


def test_a_schema_for_the_answer_is_passed_on() -> None:
    schema: JsonObject = {"type": "object", "properties": {}}
    asked = replace(ASK, options=GenerationOptions(response_format=schema))
    assert ollama.chat_body(asked)["format"] == schema
    wire = openai.chat_body(asked)["response_format"]
    assert wire == {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def test_extra_body_reaches_the_server_untouched() -> None:
    extra: JsonObject = {"options": {"num_gpu": 1}, "truncate": False}
    asked = replace(ASK, options=GenerationOptions(seed=3, extra_body=extra))
    body = ollama.chat_body(asked)
    assert body["options"] == {"seed": 3, "num_gpu": 1}
    assert body["truncate"] is False
    assert extra == {"options": {"num_gpu": 1}, "truncate": False}
    asked = replace(ASK, options=GenerationOptions(extra_body={"stream_options": None}))
    assert openai.chat_body(asked)["stream_options"] is None


def test_every_option_of_ollama_can_be_passed_on() -> None:
    inner: JsonObject = {
        "num_predict": -1,
        "num_keep": 4,
        "num_batch": 512,
        "num_gpu": 1,
        "num_thread": 4,
        "repeat_last_n": 64,
        "presence_penalty": 0.5,
        "frequency_penalty": 0.25,
    }
    extra: JsonObject = {"options": inner, "logprobs": True, "top_logprobs": 5, "think": "max"}
    asked = replace(ASK, options=replace(OPTIONS, extra_body=extra), should_think=True)
    body = ollama.chat_body(asked)
    own = ollama.chat_body(replace(ASK, options=OPTIONS))["options"]
    assert isinstance(own, dict)
    assert body["options"] == own | inner
    assert (body["logprobs"], body["top_logprobs"], body["think"]) == (True, 5, "max")
    wrong = replace(ASK, options=GenerationOptions(seed=3, extra_body={"options": 5}))
    assert ollama.chat_body(wrong)["options"] == 5, "the server says that it is wrong"


def test_tools_are_offered_and_a_forced_one_is_forced_or_refused() -> None:
    asked = replace(ASK, tools=(WEATHER, CLOCK), tool_choice=ToolName("clock"))
    no_parameters = {"type": "object", "properties": {}}
    clock = {"type": "function", "function": {"name": "clock", "parameters": no_parameters}}
    with pytest.raises(AIError, match="must be called") as caught:
        ollama.chat_body(asked)
    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
    body = openai.chat_body(asked)
    assert isinstance(body["tools"], list)
    assert body["tools"][1] == clock
    assert body["tool_choice"] == {"type": "function", "function": {"name": "clock"}}
    nothing = replace(asked, tool_choice="none")
    assert not {"tools", "tool_choice"} & set(openai.chat_body(nothing) | ollama.chat_body(nothing))


def test_a_refused_request_reports_nothing_as_left_out() -> None:
    reported: list[object] = []
    named = [Message("user", "hello", name="ann")]
    asked = Request(model="m", messages=named, tools=(CLOCK,), tool_choice="required")
    with pytest.raises(AIError, match="must be called"):
        ollama.chat_body(asked, reported.append)
    assert reported == []


def test_a_kind_without_a_row_of_unsent_options_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        report_unsent(ASK, "new", ignore_left_out)


def test_pictures_travel_as_pictures() -> None:
    raw = Message("user", [TextContent("What?"), ImageContent(data=PNG)])
    encoded = Message("user", [ImageContent(data="data:image/png;base64,iVBORw0K")])
    linked = Message("user", [ImageContent(url="https://x/y.png")])
    assert ollama.wire_message(raw) == {"role": "user", "content": "What?", "images": ["iVBORw0K"]}
    assert ollama.wire_message(encoded)["images"] == ["iVBORw0K"]
    url = "data:image/png;base64,iVBORw0K"
    picture = {"type": "image_url", "image_url": {"url": url}}
    assert openai.wire_message(raw)["content"] == [{"type": "text", "text": "What?"}, picture]
    assert openai.wire_message(encoded)["content"] == [picture]
    shown = [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
    assert openai.wire_message(linked)["content"] == shown
    with pytest.raises(AIError, match="not as links") as caught:
        ollama.wire_message(linked)
    assert caught.value.code == ErrorCode.UNSUPPORTED_MODALITY


def test_what_has_no_place_on_the_wire_is_refused_and_never_dropped() -> None:
    film = Message("user", [VideoContent(data=b"x")])
    with pytest.raises(AIError, match="The video cannot be sent to this server"):
        ollama.wire_message(film)
    with pytest.raises(AIError, match="The video cannot be sent to this server"):
        openai.wire_message(film, openai.DIALECTS["openai"])
    sound = Message("user", [AudioContent(data=b"abc", mime_type="audio/mpeg")])
    part = {"type": "input_audio", "input_audio": {"data": "YWJj", "format": "mp3"}}
    assert openai.wire_message(sound)["content"] == [part]


def test_the_name_of_a_tool_goes_with_its_result_where_templates_get_it() -> None:
    result = Message("tool", "4 degrees", name="weather", tool_call_id="c1")
    asked = Request(model="m", messages=[result])
    named = {"role": "tool", "content": "4 degrees", "tool_call_id": "c1", "name": "weather"}
    for backend in ("embedded", "llamacpp", "llamacpp-router", "vllm"):
        assert openai.chat_body(asked, backend)["messages"] == [named]
    unnamed = {key: value for key, value in named.items() if key != "name"}
    for other in (None, "openai", "lmstudio", "kobold"):
        assert openai.chat_body(asked, other)["messages"] == [unnamed]


def test_a_damaged_call_of_the_history_goes_back_as_one_that_servers_accept() -> None:
    broken = ToolCall(id="c", name="f", args=None, raw_args='{"a"')
    assert ollama.wire_call(broken) == {"id": "c", "function": {"name": "f", "arguments": {}}}
    function = openai.wire_call(broken)["function"]
    assert function == {"name": "f", "arguments": "{}"}


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        (True, True),
        (False, False),
        ("off", False),
        (ThinkingConfig(mode="last", effort="high"), "high"),
        (ThinkingConfig(mode="off", effort="high"), False),
    ],
)
def test_a_wish_to_think_goes_to_ollama_at_the_top_level(wish: object, field: object) -> None:
    body = ollama.chat_body(replace(ASK, should_think=wish))  # type: ignore[arg-type]
    assert body["think"] == field


def test_thinking_is_switched_only_where_the_switch_is_known() -> None:
    off = replace(ASK, should_think=False)
    assert openai.chat_body(off, "vllm")["chat_template_kwargs"] == {"enable_thinking": False}
    with pytest.raises(AIError) as caught:
        openai.chat_body(off)
    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
    assert openai.chat_body(replace(ASK, should_think=True)) == openai.chat_body(ASK)
    hard = replace(ASK, should_think=ThinkingConfig(mode="last", effort="high"))
    assert openai.chat_body(hard)["reasoning_effort"] == "high"
    assert ollama.chat_body(replace(ASK, should_think="deep"))["think"] is True
    for make in (ollama.chat_body, openai.chat_body):
        with pytest.raises(AIError, match="after its answer is not known"):
            make(replace(ASK, should_think="last"))


@pytest.mark.parametrize("make", [ollama.chat_body, openai.chat_body])
def test_a_single_input_never_goes_to_a_chat_endpoint(
    make: Callable[[Request], JsonObject],
) -> None:
    with pytest.raises(AIError) as caught:
        make(Request(model="m", input="hi", tools=(WEATHER,)))
    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
    with pytest.raises(AIError) as caught:
        make(Request(model="m", input=[AudioContent(data=b"RIFF")]))
    assert caught.value.code == ErrorCode.UNSUPPORTED_MODALITY
