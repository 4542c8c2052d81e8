"""Answers held to a JSON Schema: checked on arrival, corrected once, and never passed on wrong."""

import json
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from ollm_tui.chat.answer_schema import load_schema, read_schema
from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.chat_events import ChatEvent, ErrorEvent, Retrying, StructuredAnswer
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.provider_events import ErrorEvent as ProviderError
from ollm_tui.protocol.provider_events import Finish, ProviderEvent, TextDelta, ThinkingDelta
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.protocol.signals import AbortSignal
from tests.chat.test_offer import Table, native, react

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
ADA: JsonObject = {"name": "Ada", "age": 36}
WRONG = '{"name": "Ada", "age": "old"}'


def says(text: str, reason: str = "stop") -> list[ProviderEvent]:
    return [ThinkingDelta("hm"), TextDelta(text), Finish(reason)]


RIGHT = says(json.dumps(ADA))


def table(*scripts: Sequence[ProviderEvent], tools: Sequence[str] = (), **more: object) -> Table:
    made = Table(*scripts, tools=tools, **more)  # type: ignore[arg-type]
    made.client.conversation.schema = SCHEMA
    return made


def values(events: Sequence[ChatEvent]) -> list[JsonValue]:
    return [event.value for event in events if isinstance(event, StructuredAnswer)]


def ends(events: Sequence[ChatEvent]) -> list[str]:
    return [type(event).__name__ for event in events[-3:]]


def failure(events: Sequence[ChatEvent]) -> AIError:
    assert isinstance(events[-1], ErrorEvent)
    return events[-1].error


def marks(client: ChatClient) -> list[object]:
    return [m.metadata.get("schema") for m in client.conversation.messages if m.role != "user"]


async def test_an_answer_that_matches_is_given_as_json() -> None:
    chat = table(RIGHT)
    events = await chat.ask()
    assert ends(events) == ["StructuredAnswer", "TurnComplete", "Finish"]
    assert values(events) == [ADA]
    text = next(event for event in events if isinstance(event, chat_events.TextDelta))
    assert [e.block for e in events if isinstance(e, StructuredAnswer)] == [text.block]
    assert marks(chat.client) == ["valid"]


async def test_the_server_gets_the_schema_and_the_model_is_told_of_it() -> None:
    chat = table(RIGHT)
    chat.client.conversation.system_prompt = "Be brief."
    await chat.ask()
    [request] = chat.provider.requests
    assert request.options.response_format == SCHEMA
    assert request.system_prompt is not None
    assert request.system_prompt.startswith("Be brief.\n\nAnswer as one JSON value only")
    assert json.dumps(SCHEMA) in request.system_prompt


async def test_a_prompt_may_bring_a_schema_of_its_own() -> None:
    chat = Table(RIGHT)
    wanted = GenerationOptions(response_format="json")
    events = await chat.ask(ChatOptions(schema=SCHEMA, options=wanted, tools=()))
    assert values(events) == [ADA]
    assert chat.provider.requests[0].options.response_format == SCHEMA
    assert chat.client.conversation.schema is None


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "\n```\n{}\n```\n", "  {}\n"])
async def test_a_code_fence_around_the_answer_is_ignored(fence: str) -> None:
    assert values(await table(says(fence.replace("{}", json.dumps(ADA)))).ask()) == [ADA]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (WRONG, 'age must be integer, not "old".'),
        ("Ada is 36.", "The answer is not JSON"),
        ('{"name": "Ada"}', 'The answer lacks "age".'),
        ("[]", "The answer must be object, not []."),
        ('{"name": NaN}', "The answer is not JSON: NaN is not JSON."),
    ],
)
async def test_one_correction_is_asked_and_the_model_is_told_the_fault(
    answer: str, fault: str
) -> None:
    chat = table(says(answer), RIGHT)
    events = await chat.ask()
    assert values(events) == [ADA]
    [again] = [event for event in events if isinstance(event, Retrying)]
    assert fault in again.error.message
    assert again.error.code == ErrorCode.SCHEMA_MISMATCH
    assert again.instead == "The model was asked to correct it."
    correction = chat.provider.requests[1].conversation[-1]
    assert correction.role == "user"
    assert fault in correction.text
    assert marks(chat.client) == ["invalid", "valid"]
    assert chat.client.conversation.messages[2].metadata == {"correction": "schema"}


async def test_a_second_answer_that_does_not_match_fails_the_prompt() -> None:
    chat = table(says(WRONG), says("Sorry."))
    events = await chat.ask()
    error = failure(events)
    assert error.code == ErrorCode.SCHEMA_MISMATCH
    assert error.message.startswith("The answer does not match the JSON Schema. The answer is not")
    assert values(events) == []
    assert len(chat.provider.requests) == 2


async def test_the_correction_comes_beyond_the_limit_of_turns() -> None:
    chat = table(says(WRONG), RIGHT)
    assert values(await chat.ask(ChatOptions(max_turns=1))) == [ADA]


async def test_an_empty_answer_does_not_match() -> None:
    chat = table([Finish("stop")])
    assert "The answer is empty." in failure(await chat.ask()).message


@pytest.mark.parametrize(
    ("reason", "words"),
    [("length", "cut at the token limit"), ("content_filter", "ended the answer (content_filter)")],
)
async def test_a_cut_answer_is_not_corrected(reason: str, words: str) -> None:
    chat = table(says('{"name": "A', reason))
    error = failure(await chat.ask())
    assert words in error.message
    assert len(chat.provider.requests) == 1


async def test_an_answer_of_a_chat_without_schema_is_not_checked() -> None:
    events = await Table(says("Hi.")).ask()
    assert ends(events) == ["TextDelta", "TurnComplete", "Finish"]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "strange"}, "cannot be used"),
        ({"$ref": "https://example.org/s.json"}, "is not followed"),
    ],
)
async def test_a_schema_that_cannot_be_used_is_never_sent(schema: JsonObject, words: str) -> None:
    chat = Table(RIGHT)
    error = failure(await chat.ask(ChatOptions(schema=schema)))
    assert error.code == ErrorCode.BAD_REQUEST
    assert words in error.message
    assert chat.provider.requests == []


async def test_a_check_that_takes_too_long_fails_without_a_correction() -> None:
    chat = Table(says(json.dumps("x" * 5000)))
    error = failure(await chat.ask(ChatOptions(schema={"pattern": "(x+x+)+y"})))
    assert "cannot be checked" in error.message
    assert len(chat.provider.requests) == 1


async def test_a_stop_ends_the_check() -> None:
    signal = AbortSignal()
    chat = Table(says(json.dumps(["x" * 3000] * 50)))
    options = ChatOptions(schema={"items": {"pattern": "(x+x+)+y"}})
    with anyio.fail_after(5):
        async with chat.client.chat("hi", options, signal) as events:
            seen = []
            async for event in events:
                seen.append(event)
                if isinstance(event, chat_events.TextDelta):
                    signal.abort()
    assert seen[-1] == chat_events.Finish(reason="abort")


@pytest.mark.parametrize(
    ("status", "message", "is_told"),
    [
        (400, "json schema conversion failed: unsupported pattern", True),
        (501, "response_format is not implemented", True),
        (400, "'messages' is too long", False),
        (401, "the key for the schema is wrong", False),
    ],
)
async def test_a_server_that_refuses_the_schema_is_told_as_such(
    status: int, message: str, is_told: bool
) -> None:
    error = AIError(ErrorCode.BAD_REQUEST, message, status=status)
    refused: list[ProviderEvent] = [ProviderError(error)]
    chat = table(refused)
    shown = failure(await chat.ask())
    assert message in shown.message
    assert (shown.code == ErrorCode.UNSUPPORTED_FEATURE) is is_told
    assert ("cannot hold the answer to this JSON Schema" in shown.message) is is_told


async def test_beside_tools_the_schema_is_for_the_final_answer_alone() -> None:
    chat = table(native("clock"), RIGHT, tools=("clock",))
    events = await chat.ask()
    assert chat.asked == ["clock"]
    assert values(events) == [ADA]
    for request in chat.provider.requests:
        assert [tool.name for tool in request.tools] == ["clock"]
        assert request.options.response_format is None  # else the server would allow no call
        assert "Write your final answer as one JSON value" in (request.system_prompt or "")


async def test_a_final_answer_that_does_not_match_is_requested_by_the_schema_alone() -> None:
    chat = table(native("clock"), says("It is noon."), RIGHT, tools=("clock",))
    events = await chat.ask()
    assert values(events) == [ADA]
    last = chat.provider.requests[-1]
    assert last.tools == ()
    assert last.options.response_format == SCHEMA
    assert last.conversation[-1].text.startswith("Now write your final answer as JSON")


async def test_after_that_one_correction_is_asked_and_no_more() -> None:
    chat = table(native("clock"), says("Noon."), says(WRONG), says(WRONG), tools=("clock",))
    assert failure(await chat.ask()).code == ErrorCode.SCHEMA_MISMATCH
    assert len(chat.provider.requests) == 4


async def test_a_call_in_place_of_the_final_answer_does_not_match() -> None:
    chat = table(says("Noon."), native("clock"), RIGHT, tools=("clock",))
    events = await chat.ask()
    assert values(events) == [ADA]
    assert chat.asked == []


async def test_tools_that_are_described_in_text_go_with_a_schema_too() -> None:
    words = f"Thought: done.\nFinal Answer: {json.dumps(ADA)}"
    final: list[ProviderEvent] = [TextDelta(words), Finish("stop")]
    chat = table(react("clock"), final, tools=("clock",), mode="react")
    assert values(await chat.ask()) == [ADA]
    assert chat.asked == ["clock"]


async def test_a_schema_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "person.json"
    file.write_text(json.dumps(SCHEMA), "utf-8-sig")
    assert await read_schema(str(file)) == SCHEMA


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "it does not exist"),
        ("", "is not JSON"),
        ("[]", "holds no JSON object"),
        ('{"type": 1}', "cannot be used: type is not as JSON Schema has it: 1"),
        ("\x00" * 1_000_001, "longer than"),
    ],
)
async def test_a_file_that_cannot_be_used_is_named_in_one_sentence(
    content: str | None, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "person.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(AIError) as refused:
        await read_schema(str(file))
    assert words in refused.value.message
    assert "person.json" in refused.value.message
    assert refused.value.code == ErrorCode.BAD_REQUEST


async def test_a_huge_schema_goes_to_the_server_but_not_into_the_prompt() -> None:
    chat = table(RIGHT)
    huge: JsonObject = SCHEMA | {"description": "A person. " * 10_000}
    chat.client.conversation.schema = huge
    await chat.ask()
    [request] = chat.provider.requests
    assert request.options.response_format == huge
    assert request.system_prompt == "Answer as one JSON value only, without any other text."


def test_a_name_that_no_path_can_have_is_refused() -> None:
    with pytest.raises(AIError, match="not the path of a JSON Schema"):
        load_schema("\0")
