"""Hypothesis strategies for the vocabulary."""

from dataclasses import fields

from hypothesis import strategies as st

from ollm_tui.protocol.blocks import (
    AudioContent,
    Block,
    DocumentContent,
    EmbeddingContent,
    ImageContent,
    TextContent,
    ThinkingContent,
    UnknownContent,
    VideoContent,
)
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message, Timings, Usage
from ollm_tui.protocol.model import ModelCapability
from ollm_tui.protocol.tools import ToolCall

NAMES = st.text(min_size=1, max_size=20)
COUNTS = st.none() | st.integers(min_value=0, max_value=10**9)
SECONDS = st.none() | st.floats(min_value=0, max_value=1e6)
JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
JSON_OBJECTS: st.SearchStrategy[JsonObject] = st.dictionaries(st.text(), JSON, max_size=4)
MEDIA = st.none() | st.binary(max_size=40) | st.text(max_size=20)

MODALITIES = ("text", "image", "audio", "video", "embedding")
FEATURES = ("stream", "multi_turn", "tool_use", "infill", "system_prompt", "thinking", "json_mode")
KNOWN_TYPES = {"text", "thinking", "image", "audio", "video", "embedding"}


def blocks() -> st.SearchStrategy[Block]:
    optional = st.none() | st.text()
    timed = {"data": MEDIA, "url": optional, "mime_type": optional, "duration_s": SECONDS}
    return st.one_of(
        st.builds(TextContent, st.text()),
        st.builds(ThinkingContent, st.text(), optional, optional, sealed=st.booleans()),
        st.builds(
            ImageContent,
            data=MEDIA,
            url=optional,
            mime_type=optional,
            width=COUNTS,
            height=COUNTS,
            name=optional,
        ),
        st.builds(AudioContent, **timed, name=optional),
        st.builds(VideoContent, **timed, name=optional),
        st.builds(DocumentContent, data=MEDIA, url=optional, mime_type=optional, name=optional),
        st.builds(EmbeddingContent, st.lists(st.floats(allow_nan=False)).map(tuple)),
        st.builds(
            UnknownContent,
            NAMES.filter(lambda kind: kind not in KNOWN_TYPES),
            JSON_OBJECTS.map(lambda data: {k: v for k, v in data.items() if k != "type"}),
        ),
    )


def tool_calls() -> st.SearchStrategy[ToolCall]:
    return st.builds(
        ToolCall,
        id=NAMES,
        name=NAMES,
        args=st.none() | JSON_OBJECTS,
        raw_args=st.text(),
        extra=JSON_OBJECTS,
    )


def messages() -> st.SearchStrategy[Message]:
    return st.builds(
        Message,
        NAMES,
        st.lists(blocks(), min_size=1, max_size=4),
        name=st.none() | NAMES,
        tool_calls=st.lists(tool_calls(), max_size=3),
        tool_call_id=st.none() | NAMES,
        template_format=st.none() | NAMES,
        metadata=JSON_OBJECTS,
    )


def usages() -> st.SearchStrategy[Usage]:
    counts = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), COUNTS)
    return st.builds(Usage, **counts, extra=JSON_OBJECTS)


def timings() -> st.SearchStrategy[Timings]:
    return st.builds(Timings, **{field.name: SECONDS for field in fields(Timings)})


def capabilities() -> st.SearchStrategy[ModelCapability]:
    def some(values: tuple[str, ...]) -> st.SearchStrategy[frozenset[str]]:
        return st.frozensets(st.sampled_from(values))

    return st.builds(ModelCapability, some(MODALITIES), some(MODALITIES), some(FEATURES))
