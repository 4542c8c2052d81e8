"""The text of a saved message that can be searched: what was written, thought, called and read."""

import json
from collections.abc import Iterator
from typing import Final

from ollm_tui.decode.json_fields import string
from ollm_tui.decode.json_guard import repaired

MAX_LENGTH: Final = 1_000_000
"""Characters of a message that are searched; the rest is left out."""


def text_of(body: str) -> str:
    """Return the text of a message as it is stored; empty if it cannot be read."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(message, dict):
        return ""
    text = "\n".join(part for part in _parts(message) if part)[:MAX_LENGTH]
    return repaired(text).replace("\0", " ")


def _parts(message: dict[str, object]) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield string(block, "text") or string(block, "name") or ""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            yield string(call, "name") or ""
            yield from _strings(call.get("args"))


def _strings(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the strings of the arguments of a call."""
    match value:
        case str():
            yield value
        case dict() if depth < 8:
            for inner in value.values():
                yield from _strings(inner, depth + 1)
        case list() if depth < 8:
            for inner in value:
                yield from _strings(inner, depth + 1)
        case _:
            pass
