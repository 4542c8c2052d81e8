"""How the calls that models print as text begin and end."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ollm_tui.decode.beginnings import Beginnings, Part, Run, Words
from ollm_tui.decode.leaked_read import ARGUMENT_KEYS, MISTRAL_MARK, NAME_KEYS


@dataclass(frozen=True, slots=True)
class ToolTag:
    """A mark before a call, and the marks after it; the end of the answer ends a call too."""

    start: str
    ends: tuple[str, ...]
    in_call: bool = False
    """Whether the marks are part of the call's own text."""


FENCE: Final = "```"
TOOL_TAGS: Final = (
    ToolTag("<tool_call>", ("</tool_call>",)),
    ToolTag("<tools>", ("</tools>",)),
    ToolTag("<function_call>", ("</function_call>",)),
    ToolTag("<function_calls>", ("</function_calls>",)),
    ToolTag("<|tool_call|>", ("</|tool_call|>", "<|/tool_call|>")),
    ToolTag("<|python_tag|>", ("<|eom_id|>", "<|eot_id|>")),
    ToolTag("[TOOL_REQUEST]", ("[END_TOOL_REQUEST]",)),
    ToolTag("[TOOL_CALLS]", ("[/TOOL_CALLS]", "</s>")),
    ToolTag("<function=", ("</function>",), in_call=True),
    ToolTag('<invoke name="', ("</invoke>",), in_call=True),
)
_BLANKS: Final = Run(r"\s", 40)
_COLON: Final = (_BLANKS, Words((":",)), _BLANKS)


def json_beginnings(names: Iterable[str]) -> Beginnings:
    """Return how an answer begins that is nothing but a JSON call of one of these tools."""
    fence = (Words(("", FENCE, "```json", "```tool_call", "```xml")), _BLANKS)
    return Beginnings((*fence, *form) for form in _json_forms(tuple(names)))


def body_beginnings(names: Iterable[str]) -> Beginnings:
    """Return how a call of one of these tools begins inside a tool tag."""
    listed = tuple(names)
    elements = Words(
        tuple(f"<function={name}>" for name in listed)
        + tuple(f'<invoke name="{name}">' for name in listed)
        + tuple(name + MISTRAL_MARK for name in listed)
    )
    return Beginnings([(_BLANKS, elements), *((_BLANKS, *form) for form in _json_forms(listed))])


def _json_forms(names: tuple[str, ...]) -> list[tuple[Part, ...]]:
    quoted = Words(tuple(f'"{name}"' for name in names))
    start = (Words(("", "[")), _BLANKS, Words(("{",)), _BLANKS)
    name_first = (_keys(NAME_KEYS), *_COLON, quoted)
    others = (_keys((*ARGUMENT_KEYS, "id")), *_COLON)
    typed = (_keys(("type",)), *_COLON, Words(('"function"',)))
    wrapped = (_keys(("function",)), *_COLON, Words(("{",)))
    return [(*start, *rest) for rest in (name_first, others, typed, wrapped)]


def _keys(keys: tuple[str, ...]) -> Words:
    return Words(tuple(f'"{key}"' for key in keys))
