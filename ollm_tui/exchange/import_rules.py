"""What an import keeps of a chat: what was written, and no setting that acts if it is continued.

A file may be from anyone. So nothing in it is a template that is rendered, switches a tool on, adds
to the body of a request, has a picture drawn or picks up a job of a server. The model and the
system prompt are kept, as plain text; so are sampling options within their limits.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Final, get_args

from ollm_tui.decode.json_fields import as_object, string
from ollm_tui.exchange.foreign import SOURCE
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import CHECKED, COMPACTION, LEFT_OUT, SUMMARY, Message
from ollm_tui.protocol.request import (
    SAMPLING_OPTIONS,
    GenerationOptions,
    OptionForm,
    thinking_level,
)
from ollm_tui.protocol.tools import ToolOutcome
from ollm_tui.store.marks import MARKED
from ollm_tui.store.records import ChatRecord, MessageRecord
from ollm_tui.store.rows import ENDED, ConversationSettings

_OPTIONS: Final = frozenset({*SAMPLING_OPTIONS, "max_tokens"})
_MAX_SOURCE_LENGTH: Final = 1_000


def without_effects(record: ChatRecord) -> ChatRecord:
    """Return a chat of a file as it may enter the store."""
    return replace(
        record,
        settings=_settings(record.settings),
        messages=tuple(map(_message_record, record.messages)),
    )


def _message_record(one: MessageRecord) -> MessageRecord:
    return replace(
        one,
        message=_message(one.message),
        settings=None if one.settings is None else _settings(one.settings),
    )


def _message(message: Message) -> Message:
    return replace(message, template_format=None, metadata=_marks(message.metadata))


def _marks(metadata: Mapping[str, JsonValue]) -> JsonObject:
    """Return the marks that only say what the message is; each has one of a few values."""
    marks: JsonObject = {
        key: metadata[key] for key, is_mark in _MARKS.items() if is_mark(metadata.get(key))
    }
    source = as_object(metadata.get(SOURCE))
    names = {key: (string(source, key) or "")[:_MAX_SOURCE_LENGTH] for key in ("app", "id")}
    return marks | ({SOURCE: dict(names)} if all(names.values()) else {})


def _one_of(*values: JsonValue) -> Callable[[JsonValue], bool]:
    return lambda value: any(value == one and type(value) is type(one) for one in values)


_MARKS: Final[Mapping[str, Callable[[JsonValue], bool]]] = {
    ENDED: _one_of("interrupted", "stopped", "failed"),
    "correction": _one_of(True, CHECKED),
    COMPACTION: _one_of(SUMMARY, LEFT_OUT),
    CHECKED: _one_of("valid", "invalid"),
    MARKED: _one_of(True),
    "is_error": _one_of(True, False),
    "outcome": _one_of(*get_args(ToolOutcome)),
}


def _settings(settings: ConversationSettings) -> ConversationSettings:
    is_level = thinking_level(settings.should_think) is not None
    return ConversationSettings(
        model=settings.model,
        system_prompt=settings.system_prompt,
        options=_options(settings.options),
        should_think=settings.should_think if is_level else None,
    )


def _options(options: GenerationOptions) -> GenerationOptions:
    forms: dict[str, OptionForm] = {
        one.name: one.metadata["form"] for one in fields(options) if one.name in _OPTIONS
    }
    values = {name: getattr(options, name) for name in forms}
    return GenerationOptions(
        **{
            name: value
            for name, value in values.items()
            if value is not None and forms[name].low <= value <= forms[name].high
        }
    )
