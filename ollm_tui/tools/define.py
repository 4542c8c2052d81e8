"""`@tool` makes a tool of a function: its signature and docstring become the schema."""

import inspect
import math
import typing
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TypeAlias

from anyio import to_thread

from ollm_tui.config.foreign import Misuse
from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import ToolEffect, ToolOutput, ToolSchema
from ollm_tui.tools.json_type import JsonType, json_type_of, to_json


class ToolFailure(Exception):
    """An expected failure of a tool; the model reads the message."""


_SECTION = lazy_re(r"(Args|Arguments|Returns|Raises|Yields|Examples?|Notes?):")
_ARGUMENT = lazy_re(r"\*{0,2}(\w+)(?: *\([^)]*\))?: *(.*)")


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a function and its arguments in its docstring."""

    text: str
    """Everything before the first section."""
    arguments: Mapping[str, str]


def read_docstring(text: str) -> Description:
    """Split a docstring into what the function does and what its arguments are."""
    sections: dict[str, list[str]] = {"": []}
    current = ""
    for line in inspect.cleandoc(text).splitlines():
        match = _SECTION.fullmatch(line.rstrip())
        if match:
            current = "Args" if match[1] == "Arguments" else match[1]
            sections.setdefault(current, [])
        else:
            sections[current].append(line)
    return Description(_join(sections[""]), _read_arguments(sections.get("Args", [])))


def _read_arguments(lines: list[str]) -> dict[str, str]:
    """Read `name: text` entries; deeper indented lines continue the entry above."""
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    entry_indent = min(indents, default=0)
    entries: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        is_entry = len(line) - len(line.lstrip()) == entry_indent
        match = _ARGUMENT.fullmatch(line.strip()) if is_entry else None
        if match:
            name = match[1]
            entries[name] = [match[2]]
        elif line.strip() and name:
            entries[name].append(line.strip())
    return {name: " ".join(parts).strip() for name, parts in entries.items()}


def _join(lines: list[str]) -> str:
    paragraphs = "\n".join(lines).strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip())


ToolReturn: TypeAlias = str | ToolOutput
ToolFunction: TypeAlias = Callable[..., ToolReturn] | Callable[..., Awaitable[ToolReturn]]

_NAME = lazy_re(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
EVERY_TOOL = "all"
"""Stands for every tool in the settings, so no tool can have this name."""
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A tool that is one function; a synchronous one runs in a thread.

    A thread cannot be stopped. If the call is cancelled or times out, a thread that only reads is
    abandoned, which harms nothing; any other is waited for, so that nothing continues after a call
    that is reported as ended.
    """

    schema: ToolSchema
    effect: ToolEffect
    timeout_s: float
    function: Callable[..., Awaitable[ToolReturn]]
    parameter_types: Mapping[str, JsonType]

    async def run(self, args: JsonObject) -> ToolOutput:
        """Call the function with arguments that fit the schema."""
        values = {name: self.parameter_types[name].convert(value) for name, value in args.items()}
        answer: object = await self.function(**values)
        match answer:
            case str():
                return ToolOutput(answer)
            case ToolOutput():
                return answer
            case _:
                raise TypeError(f"{self.schema.name} gave {type(answer).__name__}, not text")


def tool(
    *, effect: ToolEffect, timeout_s: float = 30.0, name: str | None = None
) -> Callable[[ToolFunction], FunctionTool]:
    """Make a tool of the decorated function.

    The name is the function's; the description is the docstring up to its first section, and those
    of the parameters are its `Args:`. It returns text or a `ToolOutput`.

    Raises:
        TypeError: the signature or the docstring has something that a schema cannot express.
    """
    if effect not in typing.get_args(ToolEffect):
        raise Misuse(f"{effect!r} is not an effect; use one of {typing.get_args(ToolEffect)}")
    if not (math.isfinite(timeout_s) and timeout_s > 0):
        raise Misuse("timeout_s must be a number of seconds above zero")

    def decorate(function: ToolFunction) -> FunctionTool:
        tool_name = name or str(getattr(function, "__name__", ""))
        try:
            return _define(function, tool_name, effect, timeout_s)
        except TypeError as error:
            raise Misuse(f"tool {tool_name}: {error}") from None

    return decorate


def is_tool_name(name: str) -> bool:
    """Return whether every backend accepts this as a tool's name."""
    return _NAME.fullmatch(name) is not None


def _define(
    function: ToolFunction, name: str, effect: ToolEffect, timeout_s: float
) -> FunctionTool:
    if name.casefold() == EVERY_TOOL:
        raise TypeError(f"the name {EVERY_TOOL} stands for every tool")
    if not is_tool_name(name):
        raise TypeError("a name has 1 to 64 letters, digits, _ and -, and begins with no digit")
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise TypeError("a generator gives no single answer")
    hints = _hints(function)
    if hints.get("return") not in (str, ToolOutput, ToolReturn):
        raise TypeError("declare that it returns str or ToolOutput")
    signature = inspect.signature(function)
    parameter_types = {
        parameter.name: _parameter_type(parameter, hints)
        for parameter in signature.parameters.values()
    }
    description, parameters = _describe(function, signature, parameter_types)
    schema = ToolSchema(name=name, description=description, parameters=parameters)
    return FunctionTool(schema, effect, timeout_s, _awaitable(function, effect), parameter_types)


def _awaitable(function: ToolFunction, effect: ToolEffect) -> Callable[..., Awaitable[ToolReturn]]:
    if inspect.iscoroutinefunction(function):
        return function

    async def in_thread(**values: object) -> ToolReturn:
        bound = typing.cast("Callable[[], ToolReturn]", partial(function, **values))
        return await to_thread.run_sync(bound, abandon_on_cancel=effect == "read")

    return in_thread


def _hints(function: ToolFunction) -> dict[str, object]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(f"an annotation cannot be read here: {error}") from None


def _parameter_type(parameter: inspect.Parameter, hints: Mapping[str, object]) -> JsonType:
    name = parameter.name
    if parameter.kind not in _BY_NAME:
        raise TypeError(f"parameter {name} cannot be given by name")
    if name not in hints:
        raise TypeError(f"parameter {name} has no type")
    try:
        json_type = json_type_of(hints[name])
        if parameter.default is parameter.empty or json_type.accepts(to_json(parameter.default)):
            return json_type
    except TypeError as error:
        raise TypeError(f"parameter {name}: {error}") from None
    raise TypeError(f"parameter {name}: its default {parameter.default!r} is not of its type")


def _describe(
    function: ToolFunction, signature: inspect.Signature, parameter_types: Mapping[str, JsonType]
) -> tuple[str, JsonObject | None]:
    description = read_docstring(inspect.getdoc(function) or "")
    if not description.text:
        raise TypeError("it needs a docstring: its first lines tell the model what it does")
    unknown = [name for name in description.arguments if name not in parameter_types]
    if unknown:
        raise TypeError(f"the docstring describes {', '.join(unknown)}, which it does not take")
    properties: JsonObject = {}
    for name, parameter_type in parameter_types.items():
        entry = dict(parameter_type.schema)
        if text := description.arguments.get(name):
            entry["description"] = text
        default = signature.parameters[name].default
        if default is not inspect.Parameter.empty:
            entry["default"] = to_json(default)
        properties[name] = entry
    if not properties:
        return description.text, None
    parameters: JsonObject = {"type": "object", "properties": properties}
    parameters["required"] = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.default is parameter.empty
    ]
    parameters["additionalProperties"] = False
    return description.text, parameters
