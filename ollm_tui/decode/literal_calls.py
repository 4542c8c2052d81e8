"""Write calls in Python's syntax and in the bare one as JSON, token by token.

The JSON parser then judges nesting, repeated keys and the rest; nothing is evaluated here.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from ollm_tui.decode.json_guard import BadJson
from ollm_tui.lazy import lazy_re

_TOKEN: Final = lazy_re(
    r"""
    \s*(?:
      (?P<text>'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")
    | (?P<number>[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])
    | (?P<key>[^\W\d]\w*)\s*=(?!=)
    | (?P<name>[^\W\d][\w.-]*)
    | (?P<mark>[\[\](){},:;])
    )\s*
    """,
    re.VERBOSE | re.DOTALL,
)
_CONSTANTS: Final = {
    "True": "true",
    "False": "false",
    "None": "null",
    "true": "true",
    "false": "false",
    "null": "null",
    "none": "null",
}
_NUMBER: Final = lazy_re(r"([-+]?)0*(\d*)(\.\d*)?((?:[eE][-+]?\d+)?)")
_WHOLE_NUMBER: Final = lazy_re(r"[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_ESCAPE: Final = lazy_re(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(\n)|(.))", re.DOTALL
)
_ESCAPED: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "a": "\a",
    "0": "\0",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "/": "/",
}
_CLOSES: Final = {")": "(", "]": "[", "}": "{"}
_MAX_LEVELS: Final = 100
_MAX_CODE_POINT: Final = 0x10FFFF


def python_calls_as_json(text: str) -> str:
    """Return `[f(a=1), g()]`, or one call a line, as JSON: `[{"name": "f", "arguments": …}, …]`.

    Raises:
        BadJson: it is anything but calls with literal arguments by name.
    """
    body = text.strip()
    if body.startswith("[") and body.endswith("]"):
        body = body[1:-1]
    calls = _PythonCalls()
    for kind, token in _tokens(body):
        calls.add(kind, token)
    return calls.as_json()


class _PythonCalls:
    """Takes the tokens of calls, and writes them as JSON."""

    def __init__(self) -> None:
        self._written: list[str] = []
        self._open: list[str] = []
        """The brackets that are open; the first is that of the call."""
        self._is_named = False
        """Whether a name waits for its arguments."""

    def add(self, kind: str, token: str) -> None:
        """Take the next token.

        Raises:
            BadJson: it cannot stand here in a call with literal arguments.
        """
        if not self._open:
            self._add_between(kind, token)
        elif kind == "mark" and token in _CLOSES:
            self._close(token)
        elif kind == "mark":
            self._add_mark(token)
        elif kind == "key":
            if len(self._open) != 1:
                raise BadJson("a name inside of a value")
            self._written.append(f"{_quoted(token)}:")
        else:
            self._written.append(_value(kind, token))

    def as_json(self) -> str:
        """Return the calls.

        Raises:
            BadJson: there is none, or the last one does not end.
        """
        if self._open or self._is_named or not self._written:
            raise BadJson("not a whole call")
        return "[" + " ".join(self._written) + "]"  # so that `1 1` is not 11

    def _add_between(self, kind: str, token: str) -> None:
        """Take a token outside of the arguments."""
        if kind == "name" and not self._is_named:
            comma = "," if self._written else ""
            self._written.append(comma + f'{{"name":{_quoted(token)},"arguments":{{')
            self._is_named = True
        elif token == "(" and self._is_named:
            self._open.append(token)
            self._is_named = False
        elif kind != "mark" or token not in ",;" or self._is_named or not self._written:
            raise BadJson("not a call")

    def _close(self, token: str) -> None:
        if self._written[-1] == ",":  # Python allows one before a closing bracket
            self._written.pop()
        if self._open.pop() != _CLOSES[token]:
            raise BadJson("unbalanced brackets")
        self._written.append(("]" if token == ")" else token) if self._open else "}}")

    def _add_mark(self, token: str) -> None:
        if token == ";" or len(self._open) > _MAX_LEVELS:
            raise BadJson("no literal, or nested too deeply")
        if token in "([{":
            self._open.append(token)
        self._written.append("[" if token == "(" else token)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            raise BadJson("not a literal")
        yield token.lastgroup, token[token.lastgroup]
        at = token.end()


def _value(kind: str, token: str) -> str:
    if kind == "text":
        return _quoted(_ESCAPE.sub(_unescaped, token[1:-1]))
    if kind == "number":
        return _number(token)
    if token in _CONSTANTS:
        return _CONSTANTS[token]
    raise BadJson("not a literal")


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code is not None:
        number = int(code, 16)
        if number > _MAX_CODE_POINT:
            raise BadJson("no character has this number")
        return chr(number)
    return "" if escape[4] else _ESCAPED.get(escape[5], escape[0])


def _number(token: str) -> str:
    parts = _NUMBER.fullmatch(token.replace("_", ""))
    if parts is None:
        raise BadJson("not a number")
    sign, whole, fraction, exponent = parts.groups()
    decimals = "" if fraction is None else f".{fraction[1:] or 0}"
    return f"{'-' if sign == '-' else ''}{whole or 0}{decimals}{exponent}"


def _quoted(text: str) -> str:
    """Return JSON; half surrogate pairs stay escapes, which its parser replaces."""
    return json.dumps(text)


_BARE: Final = r"[^,:{}\[\]<>\s](?:[^,:{}\[\]<>]*[^,:{}\[\]<>\s])?"


def bare_calls_as_json(text: str, call_start: str, quote: str) -> str:
    """Return `call:f{city:<|"|>Paris<|"|>,days:2}` as JSON; `quote` stands around texts.

    Raises:
        BadJson: it is anything else, or calls that do not end.
    """
    token = re.compile(
        rf"\s*(?:{re.escape(quote)}(?P<text>.*?){re.escape(quote)}"
        rf"|(?P<mark>[,:{{}}\[\]])|(?P<bare>{_BARE}))\s*",
        re.DOTALL,
    )
    head = re.compile(rf"\s*{re.escape(call_start)}\s*(?P<name>[\w.-]+)\s*(?=\{{)")
    written: list[str] = []
    at = 0
    while at < len(text):
        call = head.match(text, at)
        if call is None:
            raise BadJson("not a call")
        arguments, at = _bare_object(text, call.end(), token)
        written.append(f'{{"name":{_quoted(call["name"])},"arguments":{arguments}}}')
    return f"[{','.join(written)}]"


def _bare_object(text: str, at: int, token: re.Pattern[str]) -> tuple[str, int]:
    """Return the object that begins here as JSON, and where it ends."""
    written: list[str] = []
    level = 0
    while (match := token.match(text, at)) is not None:
        at = match.end()
        if (mark := match["mark"]) is None:
            is_key = text.startswith(":", at)
            bare = match["bare"]
            is_text = is_key or bare is None
            written.append(_quoted(bare or match["text"] or "") if is_text else _bare_value(bare))
            continue
        level += 1 if mark in "{[" else -1 if mark in "}]" else 0
        if level > _MAX_LEVELS:
            raise BadJson("nested too deeply")
        written.append(mark)
        if level == 0:
            return " ".join(written), at
    raise BadJson("not a whole object")


def _bare_value(token: str) -> str:
    """Return a number or constant; any other word is a text."""
    if token in _CONSTANTS:
        return _CONSTANTS[token]
    return _number(token) if _WHOLE_NUMBER.fullmatch(token) else _quoted(token)
