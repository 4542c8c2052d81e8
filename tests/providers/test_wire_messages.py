"""A chat as JSON: the same bytes as ever, while each message is made and encoded once."""

import json
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from ollm_tui.providers.body import wire_messages
from ollm_tui.providers.body.content import body_slices
from ollm_tui.providers.body.wire_messages import (
    MAX_CHARACTERS,
    UnchangedObject,
    WireMessages,
)
from ollm_tui.providers.ollama.to_wire import wire_message
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.stream import RequestPlan
from tests.support.strategies import JSON_OBJECTS

TEXTS = st.text(st.characters(exclude_categories=()), min_size=1)
PICTURE = ImageContent(data=b"png", mime_type="image/png")
HISTORIES = st.lists(
    st.one_of(
        st.builds(Message, st.sampled_from(["user", "assistant"]), TEXTS),
        st.builds(Message, st.just("user"), TEXTS.map(lambda text: [TextContent(text), PICTURE])),
    ),
    max_size=8,
)


def joined(body: JsonObject) -> bytes:
    """Return the whole of a request."""
    return b"".join(chain.from_iterable(body_slices(body)))


def dumped(value: object) -> bytes:
    """Encode in one piece, with half surrogate pairs replaced."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


@settings(max_examples=100)
@given(
    HISTORIES,
    JSON_OBJECTS.filter(lambda one: "Infinity" not in json.dumps(one)),
    st.lists(st.integers(0, 8), max_size=6),
    st.integers(1, 4),
)
def test_a_body_is_the_json_of_its_request(
    history: list[Message], more: JsonObject, ends: list[int], run: int
) -> None:
    wire_all = WireMessages(wire_message)
    first: list[JsonValue] = [{"role": "system", "content": "Be brief."}]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire_messages, "RUN", run)
        for end in [*range(len(history) + 1), *ends]:
            # Another ending makes other messages of a chat that went on in another way.
            sent = [*history[:end], *([Message("user", f"{end}?")] if end in ends else [])]
            for system in ([], first):
                body: JsonObject = {**more, "messages": wire_all(sent, system)}
                plain = [*system, *map(wire_message, sent)]
                assert body["messages"] == plain
                for messages in (body["messages"], body["messages"], type(body["messages"])(plain)):
                    assert joined({**body, "messages": messages}) == dumped(
                        {**more, "messages": plain}
                    )


def test_what_is_not_json_is_refused() -> None:
    nested: JsonValue = []
    for _ in range(100_000):
        nested = [nested]
    for value in (float("nan"), nested):
        for one in (value, UnchangedObject({"value": value})):
            with pytest.raises((ValueError, RecursionError)):
                joined({"messages": [one]})


def test_a_long_chat_comes_in_slices_which_other_tasks_run_between() -> None:
    history = [Message("user", "x" * 1000) for _ in range(2000)]
    wire_all = WireMessages(wire_message)
    (_, *made, _, _) = body_slices({"messages": wire_all(history)})
    assert len(made) == 2000
    (_, known, *rest) = body_slices({"messages": wire_all(history)})
    assert sum(map(len, known)) > 1_980_000, "what is encoded already comes at once"
    assert len(rest) < wire_messages.RUN + 3
    (_, again, *_) = body_slices({"messages": wire_all([*history, Message("user", "So?")])})
    assert all(one is other for one, other in zip(known, again, strict=True)), "and is not copied"


def test_a_long_message_and_a_picture_are_not_kept() -> None:
    history = [Message("user", "x" * (MAX_CHARACTERS + 1)), Message("user", [PICTURE])]
    wire_all = WireMessages(wire_message)
    assert [type(one) for one in wire_all(history)] == [dict, dict]
    assert type(wire_all([Message("user", "short")])[0]) is UnchangedObject


def body_of(plan: RequestPlan) -> Any:
    return plan.body(lambda _: None)


@pytest.mark.parametrize("kind", ["ollama", "openai-compatible", "anthropic"])
def test_a_second_question_makes_and_encodes_only_what_is_new(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[RequestPlan] = []
    for module in ("ollama", "openai_compatible", "anthropic"):
        target = f"ollm_tui.providers.{module}.provider.answer_stream"
        monkeypatch.setattr(target, lambda _transport, plan, _signal: plans.append(plan))
    encoded: list[object] = []

    class Encoder(json.JSONEncoder):
        def encode(self, o: object) -> str:
            encoded.append(o)
            return super().encode(o)

    encoder = Encoder(ensure_ascii=False, allow_nan=False)
    monkeypatch.setattr(wire_messages, "ENCODER", encoder)
    provider = create_provider(ProviderSpec(name="one", kind=kind, base_url="http://127.0.0.1:1"))
    history = [Message("assistant" if at % 2 else "user", f"text {at}") for at in range(2000)]
    made: list[list[object]] = []
    further = [Message("assistant", "So."), Message("user", "Or?")]
    for added in ([], [Message("user", "And?")], further):
        history += added
        encoded.clear()
        provider.chat_stream(Request(model="tiny", messages=tuple(history)))
        body = body_of(plans[-1])
        assert joined(body) == dumped(body)
        made.append([one for one in encoded if isinstance(one, dict) and "role" in one])
    assert len(made[0]) == 2000
    assert [[one["content"] for one in new] for new in made[1:]] == [["And?"], ["So.", "Or?"]]  # type: ignore[index]
