"""The most tokens that a request may have: never fewer than it has, and few enough to be of use."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.blocks import ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.message import Message, Usage
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolCall, ToolSchema
from ollm_tui.tokens.bounds import MAX_FRAME_TOKENS, PromptBound

WORDS = st.text(alphabet=string.ascii_letters + "äß🎌 ", max_size=40)
FRAME = 8
"""Tokens around a message in the chat template of these tests, in which each byte is a token."""


def tokens_of(request: Request) -> int:
    texts = [request.system_prompt or "", *(message.text for message in request.conversation)]
    return sum(len(text.encode()) for text in texts) + FRAME * len(texts)


def asked(*messages: Message, system_prompt: str | None = None, model: str = "m") -> Request:
    return Request(model=model, messages=messages, system_prompt=system_prompt)


@settings(max_examples=100)
@given(turns=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6), cut=st.integers(0, 5))
def test_a_chat_never_has_more(turns: list[tuple[str, str]], cut: int) -> None:
    bound = PromptBound()
    messages: list[Message] = []
    for number, (question, answer) in enumerate(turns):
        if number == cut:
            del messages[-2:]
        messages.append(Message("user", question or "?"))
        request = asked(*messages, system_prompt="Be brief.")
        most = bound.most(request)
        assert (most is None) == (number == 0)
        assert most is None or most >= tokens_of(request)
        reply = Message("assistant", answer or "!")
        written = len(reply.text.encode())
        bound.learn(request, Usage(prompt_tokens=tokens_of(request), completion_tokens=written))
        messages.append(reply)


def test_only_what_is_new_is_bounded_by_its_bytes() -> None:
    bound = PromptBound()
    question = Message("user", "q" * 5000)
    request = asked(question)
    bound.learn(request, Usage(prompt_tokens=1200, completion_tokens=300))
    answer, more = Message("assistant", "a" * 1500), Message("user", "more")
    assert bound.most(asked(question, answer, more)) == 1200 + 300 + 2 * MAX_FRAME_TOKENS + 4
    # a message that was edited is new, and what went does not make room
    assert bound.most(asked(Message("user", "r" * 10))) == 1200 + MAX_FRAME_TOKENS + 10


@pytest.mark.parametrize("again", ["retry", "edit", "another model"])
def test_the_length_of_an_answer_says_nothing_of_one_in_its_place(again: str) -> None:
    bound, question = PromptBound(), Message("user", "?")
    bound.learn(asked(question), Usage(prompt_tokens=10, completion_tokens=5))
    newest = Message("user", "!") if again == "edit" else question
    bound.most(asked(newest, model="other" if again == "another model" else "m"))
    stopped, more = Message("assistant", "a" * 5000), Message("user", "more")
    most = bound.most(asked(newest, stopped, more))
    assert most is not None
    assert most >= 5000


def test_another_model_system_prompt_or_tool_is_to_be_counted() -> None:
    bound = PromptBound()
    question = Message("user", "hello")
    assert bound.most(asked(question)) is None
    bound.learn(asked(question), Usage(prompt_tokens=10))
    assert bound.most(asked(question)) == 10
    assert bound.most(asked(question, model="other")) is None
    assert bound.most(asked(question, system_prompt="Be brief.")) is None
    tools = [ToolSchema(name="clock", description="The time.")]
    assert bound.most(Request(model="m", messages=[question], tools=tools)) is None


def test_thinking_and_calls_count_as_a_template_may_keep_them() -> None:
    bound, question = PromptBound(), Message("user", "?")
    bound.learn(asked(question), Usage(prompt_tokens=10))
    thought = Message("assistant", [ThinkingContent("t" * 500), TextContent("yes")])
    broken = ToolCall(id="a", name="clock", args=None, raw_args="{" * 300)
    call = Message("assistant", "", tool_calls=[broken])
    most = bound.most(asked(question, thought, call))
    assert most is not None
    assert most >= 10 + 500 + 300


def test_pictures_are_not_bounded_by_their_bytes() -> None:
    picture = ImageContent(data=b"x", mime_type="image/png")
    bound, question = PromptBound(), Message("user", "?")
    bound.learn(asked(question), Usage(prompt_tokens=10))
    assert bound.most(asked(question, Message("user", [picture]))) is None


def test_a_server_that_reports_nothing_teaches_nothing() -> None:
    bound = PromptBound()
    bound.learn(asked(Message("user", "hello")), Usage())
    assert bound.most(asked(Message("user", "hello"))) is None
