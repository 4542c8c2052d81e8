"""Hypothesis strategies for whole chats."""

import uuid

from hypothesis import strategies as st

from ollm_tui.protocol.request import GenerationOptions, ThinkingConfig
from ollm_tui.store.records import ChatRecord, MessageRecord
from ollm_tui.store.rows import ConversationSettings
from tests.support.strategies import JSON_OBJECTS, messages

TIMES = st.integers(0, 2**50)
LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def chat_settings() -> st.SearchStrategy[ConversationSettings]:
    options = st.builds(
        GenerationOptions,
        temperature=st.none() | st.floats(0, 2),
        max_tokens=st.none() | st.integers(1, 10**6),
        seed=st.none() | st.integers(),
        stop=st.none() | st.lists(LINES, max_size=2).map(tuple),
        response_format=st.none() | st.just("json") | JSON_OBJECTS,
        keep_alive=st.sampled_from([None, "5m", 30.0]),
    )
    thinking = st.sampled_from(
        [None, True, False, "first", "deep", ThinkingConfig(effort="low", visible=False, depth=2)]
    )
    return st.builds(
        ConversationSettings,
        profile=st.none() | LINES.filter(bool),
        model=st.none() | LINES,
        system_prompt=st.none() | LINES,
        options=options,
        should_think=thinking,
        tools=st.lists(LINES, max_size=2).map(tuple),
    )


@st.composite
def chats(draw: st.DrawFn, most: int = 8) -> ChatRecord:
    """A tree of any shape with messages of any kind, some of them with settings of their own."""
    count = draw(st.integers(1, most))
    name = uuid.uuid4().hex  # no two chats have one id, whatever is drawn
    records = []
    for number in range(count):
        parent = draw(st.none() | st.integers(0, number - 1)) if number else None
        one = MessageRecord(
            id=f"{name}-{number}",
            parent_id=None if parent is None else f"{name}-{parent}",
            message=draw(messages()),
            state=draw(st.sampled_from(["complete", "stopped", "failed"])),
            created_ms=draw(TIMES),
            updated_ms=draw(TIMES),
            model=draw(st.none() | LINES),
            settings=draw(st.none() | chat_settings()),
        )
        records.append(one)
    return ChatRecord(
        id=name,
        title=draw(LINES),
        title_by=draw(st.sampled_from(["question", "model", "person"])),
        created_ms=draw(TIMES),
        updated_ms=draw(TIMES),
        settings=draw(chat_settings()),
        leaf_id=draw(st.sampled_from([one.id for one in records])),
        messages=tuple(records),
    )
