"""What a server refuses, by the status and the words of its error: fields, tools, a full window."""

import re
from collections.abc import Collection, Iterator
from http import HTTPStatus
from typing import TypeAlias

from ollm_tui.decode.json_fields import integer, string, strings
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.request import SAMPLING_OPTIONS

NO_SUCH_PATH = frozenset(
    {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}
)
"""The server does not know the path: it is an older version, or another program."""
INVALID = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
"""The server refuses something in the request."""
TRANSIENT = frozenset(
    {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)
"""The server, or a gateway before it, cannot answer at the moment."""
FieldPath: TypeAlias = tuple[str, ...]
"""A field and the keys inside it, as in `("stream_options", "include_usage")`."""

_UNKNOWN_CODES = frozenset({"unsupported_parameter", "unknown_parameter", "unrecognized_parameter"})
_VALUE_CODES = frozenset({"unsupported_value"})
_SAMPLING = frozenset({*SAMPLING_OPTIONS, "repetition_penalty", "logprobs", "top_logprobs"})
"""Fields of which some models accept one value only, so that they are better left out."""
_KIND = r"(?:request )?(?:parameter|param|propert(?:y|ie)|field|(?:keyword )?argument|key|option)"
_NAMES = r"""[:\s]*(?P<names>['"`]?[\w.\[\]]+['"`]?(?:(?:,| and) ?['"`]?[\w.\[\]]+['"`]?)*)"""
_ONE = r"""['"`](?P<names>[\w.\[\]]+)['"`]"""
_PHRASES = tuple(
    lazy_re(phrase, re.IGNORECASE)
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
_WORD = lazy_re(r"[\w.\[\]]+")
_STEP = lazy_re(r"[^.\[\]]+")
_HUMP = lazy_re(r"(?<=[a-z])(?=[A-Z])")
_NO_TOOLS = lazy_re(
    r"(?:(?:does not|doesn't|do not|not) support|no support for) (?:native )?"
    r"(?:tools?\b|tool[ _-](?:use|call|choice)|function[ _-]?call)"
    r"|endpoints found that support tool use"  # OpenRouter
    r"|\btool(?:s|_choice) param requires --jinja"  # llama.cpp
    r"|tool choice requires --|requires --(?:enable-auto-tool-choice|tool-call-parser)"  # vLLM
    r"|\b(?:tools?|tool[ _-](?:use|choice|calls?|calling)|function[ _-]calling)['\"`]?"
    r" (?:is|are) (?:not supported|unsupported)",
    re.IGNORECASE,
)
_UNKNOWN_FIELD = frozenset({"unsupported_parameter", "unknown_parameter"})
_TOOL_FIELDS = frozenset({"tools", "body.tools"})
_OVERFLOW = lazy_re(
    # codes
    r"context_length_exceeded|exceed_context_size|too_many_prompt_tokens|too_many_tokens"
    r"|context_window_exceeded|contextwindowexceeded|context_overflow|string_above_max_length"
    r"|prompt_too_long|input_too_long"
    # "the prompt is too long", whatever the prompt is called
    r"|(?:prompt|input|conversation|context|message)s? (?:is|are|was)? ?too (?:long|large)\b"
    r"|\btoo many (?:input |prompt )?tokens|too long to fit into the model"
    r"|too large for model with|too large to process|request exceeds the maximum size"
    # the window by one of its names
    r"|(?:maximum|max|model'?s?) (?:allowed )?(?:context|input|prompt|sequence|model) "
    r"(?:length|size)"
    r"|maximum (?:input|prompt) tokens?\b|max_model_len|max_seq_len|max_input_tokens"
    r"|context (?:length|window|size|limit|overflow)|kv cache (?:is )?full"
    r"|(?:exceed|greater)[^.]{0,40}\bn_ctx\b"
    # "N tokens are more than M"
    r"|(?:input|prompt|requested) tokens? (?:count)?[^.]{0,60}(?:exceed|more than)"
    r"|(?:input|prompt|sequence|inputs?) length[^.]{0,60}(?:exceed|more than|should be)"
    r"|tokens in request more than max|exceed(?:s|ed)?[^.]{0,20} token limit"
    r"|token limit (?:is )?exceeded|exceeds? the maximum number of tokens"
    r"|`?inputs`? (?:tokens \+ `?max_new_tokens`? must be|must have less than)"
    r"|prompt exceeds (?:the )?max|(?:reduce|shorten) (?:the length of )?(?:the|your) "
    r"(?:messages|prompt|input)|reached its limit of tokens"
    r"|超长|超过最大长度|超出最大长度|上下文长度",
    re.IGNORECASE,
)
"""A full context window, by the words of some thirty servers."""
_RATE_LIMIT = lazy_re(
    r"rate.?limit|\bper[ _-]?(?:second|min|hour|day)|daily|monthly|\bTP[MD]\b|throttl"
    r"|please wait|too many requests",
    re.IGNORECASE,
)
"""A limit of tokens per time, which is not a full context window."""
_OVERFLOW_SIZES = (
    lazy_re(r"\((?P<used>\d+) tokens\).*?\((?P<limit>\d+) tokens\)"),
    lazy_re(r"context length (?:is|of) (?P<limit>\d+) tokens.*?(?P<used>\d+) tokens", re.DOTALL),
    lazy_re(r"(?P<used>\d+) tokens > (?P<limit>\d+)"),
    lazy_re(r"context length (?:is|of) (?P<limit>\d+).*?(?P<used>\d+) input tokens", re.DOTALL),
    lazy_re(r"context length (?:is|of) (?P<limit>\d+)"),
    lazy_re(r"length (?P<used>\d+)\).*?model length of (?P<limit>\d+)"),
    lazy_re(r"length (?P<used>\d+)\).*?context length (?P<limit>\d+)"),
    lazy_re(r"count (?:of )?\(?(?P<used>\d+)\)? exceeds.{0,50}?\(?(?P<limit>\d+)"),
    lazy_re(r"prompt length is (?P<limit>\d+).{0,50}?contains (?P<used>\d+) tokens"),
    lazy_re(r"contains (?P<used>\d+) tokens.{0,50}?(?P<limit>\d+) maximum context"),
    lazy_re(r"[Ll]ength \(?(?P<used>\d+)\)? exceeds.{0,50}?length (?:of )?\(?(?P<limit>\d+)"),
    lazy_re(r"token limit: (?P<limit>\d+) \(requested: (?P<used>\d+)"),
    lazy_re(r"has (?P<used>\d+) tokens, but the configured context size is (?P<limit>\d+)"),
    lazy_re(r"less than (?P<limit>\d+) tokens\. Given: (?P<used>\d+)"),
    lazy_re(r"input length should be \[\d+, (?P<limit>\d+)\]"),
)


def refused_fields(body: JsonMapping, error: AIError) -> list[FieldPath]:
    """Return the fields of `body` that an error says are unknown or not supported.

    A complaint about a value is left to the user.
    """
    if error.status not in INVALID:
        return []
    paths = (_path_in(body, name) for name in _named(error))
    return list(dict.fromkeys(path for path in paths if path))


def _named(error: AIError) -> Iterator[str]:
    details = error.details
    yield from strings(details.get("refused"))
    code, param = details.get("server_code"), string(details, "param")
    if param and (code in _UNKNOWN_CODES or (code in _VALUE_CODES and param in _SAMPLING)):
        yield param
    yield from refused_names(error.message)


def refused_names(message: str) -> Iterator[str]:
    """Yield what a server's message refuses, whether or not it is a field."""
    for phrase in _PHRASES:
        for match in phrase.finditer(message):
            yield from (name for name in _WORD.findall(match["names"]) if name != "and")


def _path_in(body: JsonMapping, name: str) -> FieldPath | None:
    """Find a field in the body; some servers name it in camel case, or below `body`."""
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


def without_field(body: JsonObject, path: FieldPath) -> JsonObject:
    """Return the body without one field, nor an object that is empty without it."""
    name, *rest = path
    value = body.get(name)
    if name == "messages" and rest and isinstance(value, list):
        return body | {"messages": [_without_key(message, rest[0]) for message in value]}
    if rest and isinstance(value, dict):
        inner = without_field(value, tuple(rest))
        if inner:
            return body | {name: inner}
    return {key: kept for key, kept in body.items() if key != name}


def _without_key(message: JsonValue, key: str) -> JsonValue:
    if not isinstance(message, dict):
        return message
    return {name: value for name, value in message.items() if name != key}


def refuses_tools(
    message: str, *, code: object = None, param: object = None, refused: Collection[object] = ()
) -> bool:
    """Whether a server refuses tools as such, so that they can still be described in text.

    A complaint about one tool, one call or one choice does not count.
    """
    if _NO_TOOLS.search(message):
        return True
    if code in _UNKNOWN_FIELD and param in _TOOL_FIELDS:
        return True
    return not _TOOL_FIELDS.isdisjoint((*refused, *refused_names(message)))


def is_overflow(words: str) -> bool:
    """Whether a message means that the prompt does not fit into the context window."""
    return _OVERFLOW.search(words) is not None and _RATE_LIMIT.search(words) is None


def overflow_sizes(message: str, fields: JsonMapping) -> JsonObject:
    """Read the prompt's and the window's size in tokens; None for what the server does not say."""
    used = integer(fields, "n_prompt_tokens")
    limit = integer(fields, "n_ctx")
    for pattern in _OVERFLOW_SIZES:
        match = pattern.search(message)
        if match:
            named = match.groupdict()
            used = used or (int(named["used"]) if named.get("used") else None)
            limit = limit or int(named["limit"])
    return {"prompt_tokens": used, "context_tokens": limit}
