"""A server's message about a failure, wherever it is in the body, which may have any format."""

from itertools import dropwhile

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.json_fields import as_object, objects, string
from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.decode.sse import SSEDecoder
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue

MAX_MESSAGE_CHARS = 2000
MAX_DEPTH = 8
"""How many nested objects, lists and texts are searched for the message."""
MAX_FIELDS = 50
"""How many errors of a validator are read."""
_MESSAGES = (
    "error", "message", "detail", "errors", "error_message", "error_msg", "errorMessage",
    "status_msg", "msg",
)  # fmt: skip
_CODES = ("code", "error_code", "errorCode")
_TYPES = ("type", "status", "error_type", "errorType")
_FAILED = frozenset({"error", "failed", "failure", "fail", "exception"})
"""Values of `type`, `object`, `status` and event names that mean a failure."""
_MARKS = frozenset(
    {"error_code", "error_msg", "error_message", "error_type", "errorCode", "errorMessage",
     "errors", "detail", "status", "code", "message", "success"}
)  # fmt: skip
_FINE = frozenset({"", "0", "200", "ok", "success"})
"""Codes of success that some servers send with every piece of an answer."""
_NOT_KNOWN = frozenset({"extra_forbidden", "value_error.extra"})
"""What versions 1 and 2 of pydantic call an unknown field."""
_TITLE = lazy_re(r"(?i)<title[^>]*>([^<]{1,200})")
_SENTENCE = lazy_re(
    r'"(?:message|error|detail|msg)"\s*:\s*"([^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*)'
)
_TAG = lazy_re(r"<[!/?a-zA-Z][^>]*>")
_TRACE_LINE = lazy_re(r'(?m)^[ \t]*File "[^"\n]*", line \d+')
"""A line of a Python stack trace."""


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """The parts of an error response."""

    message: str | None = None
    code: str | None = None
    type: str | None = None
    fields: JsonMapping = field(default_factory=dict)
    """The object with the message: servers put numbers beside it."""
    is_html: bool = False
    is_json: bool = False
    is_cut: bool = False
    """Whether the message is incomplete."""
    is_trace: bool = False
    """Whether the message is the exception at the end of a stack trace."""


def read_error_body(body: bytes) -> ErrorBody:
    """Read an error response of any format; its content type is not trusted."""
    text = body.decode("utf-8-sig", errors="replace").strip()
    if not text:
        return ErrorBody()
    for candidate in (text, *_framed(body)):
        try:
            return read_error_value(parse_json(candidate))
        except BadJson:
            continue
    if is_markup(text):
        title = _TITLE.search(text)
        return ErrorBody(title[1].strip() if title else None, is_html=True)
    if text[0] in "{[":
        return ErrorBody(_incomplete_message(text), is_cut=True)
    return read_error_text(text)


def read_error_text(text: str) -> ErrorBody:
    """Read an error in plain text."""
    return ErrorBody(_limited(_raised(text)), is_trace=_is_trace(text))


def read_error_value(value: JsonValue) -> ErrorBody:
    """Read an error from parsed JSON; of a list the first element counts."""
    if isinstance(value, list):
        value = value[0] if value else None
    outer = as_object(value)
    inner = _innermost(outer)
    message = next((text for key in _MESSAGES if (text := _message(outer.get(key)))), None)
    return ErrorBody(
        _limited(_raised(_without_tags(message))) if message else None,
        _named(inner, _CODES) or _named(outer, _CODES),
        _named(inner, _TYPES) or _named(outer, _TYPES),
        {**outer, **inner} | _refused_field(outer),
        is_json=True,
        is_trace=message is not None and _is_trace(message),
    )


def find_failure(value: JsonObject, event: str = "message") -> JsonObject | None:
    """Return the failure that an object of a stream reports, or None if it reports none.

    An object with a piece of an answer may report a failure beside it; one without may be the
    report itself.
    """
    if value.get("error") or event in _FAILED or value.get("event") == "error":
        return value
    for key in ("type", "object"):
        kind = value.get(key)
        if isinstance(kind, str) and kind in _FAILED:
            return value
    choices = value.get("choices")
    reports = [as_object(value[key]).get("error") for key in value if key.startswith("x_")]
    reports += [choice.get("error") for choice in objects(choices)[:1]]
    if report := next((report for report in reports if report), None):
        return {"error": report}
    if "base_resp" in value:  # MiniMax sends it with every piece
        state = as_object(value.get("base_resp"))
        code = _text(state.get("status_code"))
        return {**state, "code": code} if code not in (None, "0") else None
    is_bare = not choices and not _MARKS.isdisjoint(value)
    return value if is_bare and _is_report(value) else None


def _is_report(value: JsonObject) -> bool:
    if any(value.get(key) for key in ("errors", "error_msg", "error_message", "errorMessage")):
        return True
    if value.get("success") is False or _text(value.get("status")) in _FAILED:
        return True
    code = _named(value, _CODES)
    if code is not None and code.lower() in _FINE:
        return False
    return any(isinstance(value.get(key), str) and value.get(key) for key in ("message", "detail"))


def _innermost(outer: JsonObject) -> JsonObject:
    listed = objects(outer.get("errors"))
    return (
        as_object(outer.get("error"))
        or as_object(outer.get("detail"))
        or (listed[0] if listed else outer)
    )


def _named(data: JsonObject, keys: tuple[str, ...]) -> str | None:
    return next((text for key in keys if (text := _text(data.get(key)))), None)


def _refused_field(outer: JsonObject) -> JsonObject:
    """Find the fields that a validator names: `param` is the first, `refused` the unknown."""
    message = outer.get("message")
    if isinstance(message, str) and message.startswith('{"'):
        try:
            message = parse_json(message)
        except BadJson:
            return {}
    for holder in (as_object(message), outer):
        named = [
            (".".join(str(step) for step in loc), string(item, "type"))
            for item in objects(holder.get("detail"))[:MAX_FIELDS]
            if isinstance(loc := item.get("loc"), list)
        ]
        if named:
            refused: list[JsonValue] = [path for path, kind in named if kind in _NOT_KNOWN]
            return {"param": named[0][0], "refused": refused}
    return {}


def is_markup(text: str) -> bool:
    """Whether text is a web page or another marked-up document."""
    return text.lstrip()[:200].lower().startswith(("<!doctype", "<html", "<head", "<?xml", "<body"))


def _incomplete_message(text: str) -> str | None:
    match = _SENTENCE.search(text)
    if match is None:
        return None
    message = match[1][: 2 * MAX_MESSAGE_CHARS]
    for shorter in range(6):  # the end may be inside an escape
        try:
            whole = parse_json(f'"{message[: len(message) - shorter]}"')
        except BadJson:
            continue
        return _limited(whole.strip()) or None if isinstance(whole, str) else None
    return None


def _framed(body: bytes) -> list[str]:
    decoder = SSEDecoder()
    try:
        events = [*decoder.feed(body), *decoder.finish()]
    except ValueError:
        return []
    return [event.data for event in events]


def _message(value: JsonValue, room: int = MAX_DEPTH) -> str | None:
    match value:
        case str():
            return _unwrapped(value, room)
        case [first, *_] if room:
            return _message(first, room - 1)
        case dict() if room:
            keys = ("message", "msg", "detail", "error")
            return next(
                (text for key in keys if (text := _message(value.get(key), room - 1))), None
            )
        case _:
            return None


def _unwrapped(text: str, room: int) -> str | None:
    """Return the message; some gateways put a whole JSON error into it."""
    text = text.strip()
    if text.startswith('{"') and room:
        try:
            return _message(parse_json(text), room - 1) or text
        except BadJson:
            return text
    return text or None


def _text(value: JsonValue) -> str | None:
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) or None if is_text else None


def _without_tags(text: str) -> str:
    return _TAG.sub(" ", text).strip() if is_markup(text) else text


def _is_trace(text: str) -> bool:
    return _TRACE_LINE.search(text) is not None


def _raised(text: str) -> str:
    """Return the exception at the end of a stack trace, or `text` if it has none."""
    below = _TRACE_LINE.split(text)[-1]
    lines = dropwhile(lambda line: not line or line[0] in " \t", below.splitlines()[1:])
    return "\n".join(lines).strip() or text if _is_trace(text) else text


def _limited(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE_CHARS else text[:MAX_MESSAGE_CHARS] + " …"
