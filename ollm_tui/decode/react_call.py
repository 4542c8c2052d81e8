"""Read the one tool call that ReAct text asks for: a name, and an input, which is JSON.

Unambiguous mistakes in it are mended; a missing quote, comma or bracket, or a bare word is not.
"""

import json
import re
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_guard import BadJson, dump_json, parse_json
from ollm_tui.decode.json_span import first_value
from ollm_tui.decode.tool_calls import parse_arguments
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonObject

_FENCE = lazy_re(r"(?:```|~~~)\w*\s*")
_FENCE_END = lazy_re(r"(?:```|~~~)\Z")
_STARS = lazy_re(r"[*_]+(?=[\s{`~])\s*")
_NAME = lazy_re(r"[^\s()\[\]{}<>,:;`'\"*]+")
_NO_TOOL: Final = frozenset({"none", "null", "n/a", "na", "nothing", "no", "-"})
_BLOB: Final = frozenset({"action", "action_input"})

ReActProblem: TypeAlias = Literal[
    "empty", "missing_action", "missing_input", "bad_input", "no_answer"
]
"""The mistake to correct: an empty turn, an input without an action, an action without an
input, an input that is not a JSON object, or neither an action nor a final answer."""


@dataclass(frozen=True, slots=True)
class ReActCall:
    """The one call of a turn."""

    name: str
    raw_input: str
    """The text after the label, without a fence around it; only the JSON if there is one."""
    args: JsonObject | None
    """None if the input is not a JSON object: such a call is never run."""


class CallDraft:
    """Collects the text of the first action and its input."""

    def __init__(self) -> None:
        self._action: list[str] | None = None
        self._input: list[str] | None = None
        self._lonely_input = False

    @property
    def has_action(self) -> bool:
        """Whether an action was named."""
        return self._action is not None

    @property
    def has_input(self) -> bool:
        """Whether the action has its input, so that no other action counts."""
        return self._input is not None

    def open_action(self) -> None:
        """Begin an action, in place of one without an input."""
        self._action = []

    def open_input(self) -> bool:
        """Begin the input; False if it belongs to no action or is a second one."""
        if self._action is None or self._input is not None:
            self._lonely_input = self._lonely_input or self._action is None
            return False
        self._input = []
        return True

    def write(self, text: str) -> None:
        """Add to what began last."""
        if self._input is not None:
            self._input.append(text)
        elif self._action is not None:
            self._action.append(text)

    def drop_action(self) -> str:
        """Drop an action without an input, and return its text."""
        text = "".join(self._action or ())
        self._action = None
        return text

    def read(self) -> ReActCall | ReActProblem | None:
        """Return the call or what is wrong with it, or None if no tool was called."""
        if self._action is None:
            return "missing_action" if self._lonely_input else None
        action = _unfenced("".join(self._action))
        if action.startswith("{"):
            return _read_blob(action)
        match = _NAME.search(action.split("\n", 1)[0])
        name = match[0].rstrip(".!") if match else ""
        if name.lower() in _NO_TOOL:
            return "no_answer"
        if not name:
            return "missing_action"
        if self._input is None:
            return "missing_input"
        return ReActCall(name, *_read_input("".join(self._input)))


def _read_input(text: str) -> tuple[str, JsonObject | None]:
    body = _unfenced(text)
    written = first_value(body) if body.startswith("{") else None
    if written is not None and (args := parse_arguments(written)) is not None:
        return written, args
    written = first_loose_object(body)
    if written is not None and (args := loose_object(written)) is not None:
        return written, args
    return body, {} if body == "None" else parse_arguments(body)


def _read_blob(text: str) -> ReActCall | ReActProblem:
    """Read the dialect that writes name and input as one JSON object after ``Action``."""
    try:
        value = parse_json(first_value(text) or text, unique_keys=True)
    except BadJson:
        return "missing_action"
    if not isinstance(value, dict) or value.keys() != _BLOB:
        return "missing_action"
    match value["action"], value["action_input"]:
        case str() as name, dict() as args if name:
            return ReActCall(name, dump_json(args), args)
        case str() as name, str() as raw if name:
            return ReActCall(name, raw, parse_arguments(raw))
        case _:
            return "missing_action"


def _unfenced(text: str) -> str:
    """Return the text without white space, stars before a value, and a fence around it."""
    body = text.strip()
    if stars := _STARS.match(body):
        body = body[stars.end() :]
    if fence := _FENCE.match(body):
        body = _FENCE_END.sub("", body[fence.end() :])
    return body.strip()


_BOTH_QUOTES = "\"'"
_TOKEN = lazy_re(
    r"""(?P<string>"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')"""
    r"|(?P<word>[A-Za-z_]\w*)|[{\[]\s*,|(?P<last>,)(?=\s*[}\]])",
    re.DOTALL,
)
_IN_STRING = lazy_re(r"\\.|[\"\x00-\x1f]", re.DOTALL)
_WORDS = (("True", "true"), ("False", "false"), ("None", "null"))


def loose_object(text: str) -> JsonObject | None:
    """Return the object that is the whole text, or None if its meaning is not certain."""
    if first_value(text, _BOTH_QUOTES) != text:
        return None
    try:
        value = parse_json(_TOKEN.sub(_mended, text), unique_keys=True)
    except BadJson:
        return None
    return value if isinstance(value, dict) else None


def first_loose_object(text: str) -> str | None:
    """Return the object at the start of a text, in either quotes, or None if it never ends."""
    return first_value(text, _BOTH_QUOTES) if text.startswith("{") else None


def _mended(token: re.Match[str]) -> str:
    if token["string"]:
        return '"' + _IN_STRING.sub(_in_string, token["string"][1:-1]) + '"'
    if token["word"]:
        return dict(_WORDS).get(token["word"], token["word"])
    return "" if token["last"] else token[0]


def _in_string(match: re.Match[str]) -> str:
    character = match[0]
    if character == r"\'":
        return "'"
    return character if character.startswith("\\") else json.dumps(character)[1:-1]
