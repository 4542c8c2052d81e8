"""What one line shows of a tool call: its main argument, how it ended, and tools that are gone."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import CANCELLED, STOPPED, ToolCall, ToolOutcome, group_of

_NOT_ALLOWED: Final = "Not run: it was not allowed."  # beginning of the result of a refused call
_MAIN: Final = (
    *("path", "file_path", "file", "filename", "directory", "folder", "url", "uri"),
    *("command", "cmd", "expression", "query", "pattern", "name", "city", "text"),
)
"""Arguments that tell most about a call, the most telling first."""
_MAX_LENGTH: Final = 400
_MAX_NAME_LENGTH: Final = 64
_MAX_MISSING: Final = 5


class _Tool(Protocol):
    @property
    def name(self) -> str: ...


def main_argument(args: JsonObject | None, raw_args: str = "") -> str:
    """Return the argument that tells most: a path, an address, a command, else the first text.

    Without any of these it is the first argument, by its name: `limit: 3`.
    """
    if args is None:
        return raw_args[:_MAX_LENGTH]
    named = [args[key] for key in _MAIN if _is_telling(args.get(key))]
    texts = [value for value in args.values() if isinstance(value, str) and value]
    code = args.get("code")
    if isinstance(code, str) and code.strip():
        first, *more = code.strip().split("\n")
        return f"{first} …"[:_MAX_LENGTH] if more else first[:_MAX_LENGTH]
    if telling := [*named, *texts]:
        return _written(telling[0])
    others = [(name, value) for name, value in args.items() if value != ""]
    return "".join(f"{name}: {_written(value)}"[:_MAX_LENGTH] for name, value in others[:1])


def words_of(call: ToolCall) -> str:
    """Return the tool of a call with its main argument, cleaned."""
    argument = clean_line(main_argument(call.args, call.raw_args)).strip()
    return f"{clean_name(call.name)}{f', {argument}' if argument else ''}"


def _is_telling(value: JsonValue) -> bool:
    return (isinstance(value, str) and bool(value)) or isinstance(value, int | float)


def _written(value: JsonValue) -> str:
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)[:_MAX_LENGTH]
    return value[:_MAX_LENGTH].removeprefix("https://")


def saved_output(result: Message) -> str:
    """Return what is shown of a saved result: its own text for people, else what the model read."""
    shown = result.metadata.get("display")
    return shown if isinstance(shown, str) else result.text


def saved_outcome(result: Message) -> ToolOutcome:
    """Return how the call of a saved result ended; older results tell it by their text."""
    match result.metadata.get("outcome"):
        case "done" | "failed" | "denied" | "stopped" as outcome:
            return outcome
    if result.text.startswith(_NOT_ALLOWED):
        return "denied"
    if result.text in {STOPPED, CANCELLED}:
        return "stopped"
    return "failed" if result.metadata.get("is_error") else "done"


def missing_tools(on: Sequence[str], offered: Callable[[], Iterable[_Tool]]) -> str | None:
    """Return a sentence about tools of a saved chat that no longer exist, or None."""
    if not on:
        return None  # the tools need not be made
    known = {tool.name for tool in offered()}
    # A server may still be starting.
    gone = [name for name in on if name not in known and group_of(name) is None]
    missing = [clean_name(name[:_MAX_NAME_LENGTH]) for name in gone]
    if not missing:
        return None
    more = "" if len(missing) <= _MAX_MISSING else f" and {len(missing) - _MAX_MISSING} more"
    listed = ", ".join(missing[:_MAX_MISSING]) + more
    return f"This chat had tools that are no longer available: {listed}."
