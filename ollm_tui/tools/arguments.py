"""Check arguments against a tool's schema; each fault is a sentence that a model can act on."""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import ToolSchema
from ollm_tui.tools.json_schema import BadSchema, SchemaChecker

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

MAX_FAULTS = 3
_MAX_VALUE_LENGTH = 80
_NO_ARGUMENTS: JsonObject = {"type": "object", "additionalProperties": False}


def find_faults(schema: ToolSchema, args: JsonObject) -> list[str]:
    """Return what is wrong with the arguments, as sentences; empty if nothing is.

    Raises:
        BadSchema: it is not a JSON Schema, or has a reference that leads out of it.
    """
    parameters = _NO_ARGUMENTS if schema.parameters is None else schema.parameters
    try:
        faults = _checker(json.dumps(parameters)).faults(args)
    except BadSchema as error:
        raise BadSchema(f"the schema of {schema.name} cannot be used: {error}") from error
    return sentences(faults, "The arguments object")


@lru_cache(maxsize=64)
def _checker(schema: str) -> SchemaChecker:
    """Check a schema once for all its calls: that takes a hundred times as long as a call."""
    return SchemaChecker(json.loads(schema))


def sentences(faults: "Iterable[ValidationError]", whole: str) -> list[str]:
    """Return the first faults, each once, and how many more there are; `whole` names the value."""
    listed = list(dict.fromkeys(_sentence(fault, whole) for fault in faults))
    rest = len(listed) - MAX_FAULTS
    more = [f"And {rest} more of the kind."] if rest > 0 else []
    return [*listed[:MAX_FAULTS], *more]


def _sentence(fault: "ValidationError", whole: str) -> str:
    where = _path(list(fault.absolute_path)) or whole
    value, expected = fault.instance, fault.validator_value
    match fault.validator:
        case "required":
            return f"{where} lacks {_missing(fault)}."
        case "additionalProperties" if expected is False and isinstance(value, dict):
            return f"{where} may not hold {_unknown(fault)}."
        case "type":
            kinds = " or ".join(expected) if isinstance(expected, list) else expected
            return f"{where} must be {kinds}, not {_shown(value)}."
        case "enum" | "format" as keyword:
            wanted = "be one of" if keyword == "enum" else "have the format"
            return f"{where} must {wanted} {_shown(expected, 400)}, not {_shown(value)}."
        case "anyOf" | "oneOf":
            return f"{where} cannot be {_shown(value)}."
        case keyword:
            return f"{where} breaks the rule {keyword}: {_shown(expected)}; it is {_shown(value)}."


def _missing(fault: "ValidationError") -> str:
    # The library reports one missing name at a time, and only in its message.
    names = fault.validator_value if isinstance(fault.validator_value, list) else []
    value = fault.instance if isinstance(fault.instance, dict) else {}
    return ", ".join(_shown(name) for name in names if name not in value)


def _unknown(fault: "ValidationError") -> str:
    schema = fault.schema if isinstance(fault.schema, dict) else {}
    known = schema.get("properties", {})
    value = fault.instance if isinstance(fault.instance, dict) else {}
    unknown = [_shown(name) for name in value if name not in known]
    named = ", ".join(unknown[:MAX_FAULTS]) + (", ..." if len(unknown) > MAX_FAULTS else "")
    return f"{named}; it takes {', '.join(known) or 'nothing'}"


def _shown(value: object, longest: int = _MAX_VALUE_LENGTH) -> str:
    return _shorten(json.dumps(value, ensure_ascii=False, default=str), longest)


def _path(parts: Sequence[str | int]) -> str:
    """Return the path of a value in the usual notation: `edits[0].line`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return _shorten(text.removeprefix("."))


def _shorten(text: str, longest: int = _MAX_VALUE_LENGTH) -> str:
    return text if len(text) <= longest else f"{text[:longest]}..."
