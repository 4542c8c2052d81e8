"""What a line says of a tool call: its main argument, and how it ended."""

import json
from typing import Final

from ollm_tui.chat.prompt import STOPPED
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.tui.widgets.painters.tool_call import ToolOutcome

NOT_ALLOWED: Final = "Not run: it was not allowed."
"""How the result of a call begins that was refused."""
_MAIN: Final = (
    *("path", "file_path", "file", "filename", "directory", "folder", "url", "uri"),
    *("command", "cmd", "expression", "query", "pattern", "name", "city"),
)
"""Arguments that say most of a call, the most telling first."""
_LONGEST: Final = 400


def main_argument(args: JsonObject | None, raw_args: str = "") -> str:
    """Choose what says most about a call: a path, an address, a command, else the first text.

    Without any of these it is the first argument, by its name: `limit: 3`.
    """
    if args is None:
        return raw_args[:_LONGEST]
    named = [args[key] for key in _MAIN if _is_telling(args.get(key))]
    texts = [value for value in args.values() if isinstance(value, str) and value]
    if telling := [*named, *texts]:
        return _written(telling[0])
    others = [(name, value) for name, value in args.items() if value != ""]
    return "".join(f"{name}: {_written(value)}"[:_LONGEST] for name, value in others[:1])


def _is_telling(value: JsonValue) -> bool:
    return (isinstance(value, str) and bool(value)) or isinstance(value, int | float)


def _written(value: JsonValue) -> str:
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)[:_LONGEST]
    return value[:_LONGEST].removeprefix("https://")


def outcome(content: str, *, is_error: bool) -> ToolOutcome:
    """Tell from a result how the call ended; refused is not failed."""
    if content.startswith(NOT_ALLOWED):
        return "denied"
    if content == STOPPED:
        return "stopped"
    return "failed" if is_error else "done"
