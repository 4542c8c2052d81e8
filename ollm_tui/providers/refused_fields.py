"""Which fields of a request a server says it does not take; pure.

Validators name the path of a field, services put it into a sentence of their own. Only words that
say "not known here" or "not supported" count: a complaint about a value is a person's to hear.
"""

import re
from collections.abc import Iterator
from typing import TypeAlias

from ollm_tui.decode.json_fields import string, strings
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.providers.statuses import INVALID

Path: TypeAlias = tuple[str, ...]
"""A field, and the one inside it that is meant: `("stream_options", "include_usage")`."""

_UNKNOWN_CODES = frozenset({"unsupported_parameter", "unknown_parameter", "unrecognized_parameter"})
_VALUE_CODES = frozenset({"unsupported_value"})
_SAMPLING = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "repeat_penalty",
        "logprobs",
        "top_logprobs",
    }
)
"""Fields that some models take with one value only, and then do better without."""
_KIND = r"(?:request )?(?:parameter|param|propert(?:y|ie)|field|(?:keyword )?argument|key|option)"
_NAMES = r"""[:\s]*(?P<names>['"`]?[\w.\[\]]+['"`]?(?:(?:,| and) ?['"`]?[\w.\[\]]+['"`]?)*)"""
_ONE = r"""['"`](?P<names>[\w.\[\]]+)['"`]"""
_PHRASES = tuple(
    re.compile(phrase, re.IGNORECASE)
    for phrase in (
        rf"(?:unknown|unsupported|unrecognized|unexpected) {_KIND}s?(?:\(s\))?"
        rf"(?: supplied| provided)?{_NAMES}",
        rf"unknown name {_ONE}",  # Gemini
        rf"not supported on this model{_NAMES}",  # xAI
        r"(?P<names>[\w.]{1,100})['\"`]?[:\s]+extra inputs are not permitted",
        rf"extra inputs are not permitted, field{_NAMES}",
        r"properties are not allowed \((?P<names>[^)]*?) (?:was|were) unexpected",
        rf"{_KIND} {_ONE} is (?:unsupported|not supported|not allowed|not permitted|unknown)",
        rf"{_ONE} is (?:not supported|unsupported) (?:with|by|for|in) (?:this|the) model",
        rf"{_ONE} is not (?:a known|a supported|an allowed|allowed)",
        r"unexpected fields in the request[:\s]*[\[{(](?P<names>[^\]})]*)",  # transformers serve
    )
)
_WORD = re.compile(r"[\w.\[\]]+")
_STEP = re.compile(r"[^.\[\]]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def refused_fields(body: JsonMapping, error: AIError) -> list[Path]:
    """Give the fields of `body` that an error refuses, as far as they are in it."""
    if error.status not in INVALID:
        return []
    found: dict[Path, None] = {}
    for name in _named(error):
        path = _path_in(body, name)
        if path:
            found[path] = None
    return list(found)


def _named(error: AIError) -> Iterator[str]:
    details = error.details
    yield from strings(details.get("refused"))
    code, param = details.get("server_code"), string(details, "param")
    if param and (code in _UNKNOWN_CODES or (code in _VALUE_CODES and param in _SAMPLING)):
        yield param
    yield from names_in(error.message)


def names_in(message: str) -> Iterator[str]:
    """Give what a server's words refuse, field or not."""
    for phrase in _PHRASES:
        for found in phrase.finditer(message):
            yield from (name for name in _WORD.findall(found["names"]) if name != "and")


def _path_in(body: JsonMapping, name: str) -> Path | None:
    """Find a field as the body spells it; some servers name it in camel case, or below `body`."""
    steps = _STEP.findall(name)
    if steps[:1] in (["body"], ["$"]):
        steps = steps[1:]
    if not steps:
        return None
    if steps[0] not in body:
        steps[0] = _HUMP.sub("_", steps[0]).lower()
    if steps[0] == "messages" and len(steps) > 1:
        return ("messages", steps[-1])
    at: JsonValue = dict(body)
    for step in steps:
        if not isinstance(at, dict) or step not in at:
            return None
        at = at[step]
    return tuple(steps)


def without(body: JsonObject, path: Path) -> JsonObject:
    """Give a body without one field; an object that is then empty goes with it."""
    name, *rest = path
    value = body.get(name)
    if name == "messages" and rest and isinstance(value, list):
        return body | {"messages": [_without_key(message, rest[0]) for message in value]}
    if rest and isinstance(value, dict):
        inner = without(value, tuple(rest))
        if inner:
            return body | {name: inner}
    return {key: kept for key, kept in body.items() if key != name}


def _without_key(message: JsonValue, key: str) -> JsonValue:
    if not isinstance(message, dict):
        return message
    return {name: value for name, value in message.items() if name != key}
