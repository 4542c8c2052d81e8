"""How the calls that models print as text begin and end; `call_bodies.py` reads what is between."""

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.stream_search import Part, PrefixMatcher, Run, Words

NAME_END: Final = "[ARGS]"
CALL_ID: Final = "[CALL_ID]"
"""What some of Mistral's models write between a name and `[ARGS]`, with an id behind it."""
CallSyntax: TypeAlias = Literal["json", "python", "bare"]
"""How arguments are written: `{"city": "Paris"}`, `f(city="Paris")`, `f{city:<|"|>Paris<|"|>}`."""


@dataclass(frozen=True, slots=True)
class ToolTag:
    """A tag before calls, and the tags after them; the end of the answer ends a call too."""

    start: str
    ends: tuple[str, ...] = ()
    in_call: bool = False
    """Whether the tags are part of the call's own text."""
    call_start: str = ""
    """What stands before each call inside the tags, if the form has such a mark."""
    call_end: str = ""
    """What stands after each call inside the tags."""
    name_end: str = NAME_END
    """What stands between the name of a tool and its arguments, if the name is not in the JSON."""
    key_tags: tuple[str, str] = ("", "")
    value_tags: tuple[str, str] = ("", "")
    """What stands around each argument's name and value, in forms without JSON."""
    syntax: CallSyntax = "json"
    quote: str = '"'
    """What stands around texts in the bare syntax."""
    element_prefix: str = ""
    """What stands before the name of each element, as `x:` in `<x:invoke name="f">`."""
    text_name: str = ""
    """What stands in the place of a tool's name before text for the user."""

    @property
    def text_mark(self) -> str:
        """What stands before text for the user; the prompt may have its `start` already."""
        return f"{self.text_name}{self.name_end}" if self.text_name else ""

    @property
    def is_whole_answer(self) -> bool:
        """Whether a list of calls without tags is an answer: `[f(a=1)]`."""
        return self.syntax == "python" and self.start == "["


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
"""The forms that models of many families borrow from each other: read in the answers of every
model, with a bare JSON call. Forms of one family alone are in its file, below `toolCalls`."""
USUAL_STARTS: Final = frozenset(tag.start for tag in TOOL_TAGS)
_BLANKS: Final = Run(r"\s", 40)
_COLON: Final = (_BLANKS, Words((":",)), _BLANKS)
_ANY_NAME: Final = Run(r"\w.-", 64)


def answer_beginnings(names: Iterable[str], tags: Iterable[ToolTag] = ()) -> PrefixMatcher:
    """Return how an answer begins that is only calls of these tools: JSON, or a Python list."""
    listed, tags = tuple(names), tuple(tags)
    fence = (Words(("", FENCE, "```json", "```tool_call", "```xml")), _BLANKS)
    forms = [(*fence, *form) for form in _json_forms(Words(listed))]
    if any(tag.is_whole_answer for tag in tags):
        forms.append((Words(("[",)), _BLANKS, Words(listed), _BLANKS, Words(("(",))))
    for tag in tags:
        if tag.text_name:
            forms.append((Words((tag.text_mark,)),))
            forms.append((Words(listed), Words((tag.name_end,)), _BLANKS, Words(("{",))))
    return PrefixMatcher(forms)


def body_beginnings(names: Iterable[str] | None, tags: Iterable[ToolTag]) -> PrefixMatcher:
    """Return how a call begins inside one of these tags: of one of these tools, or of any."""
    used = tuple(tags)
    name = _ANY_NAME if names is None else Words(tuple(names))
    prefixes = tuple({"", *(tag.element_prefix for tag in used)})
    named = (
        Words(("", *(tag.call_start for tag in used))),
        *(_BLANKS, Words(("", NAMESPACE)), name, Run(r":\d", 6)),
        Words((CALL_ID, NAME_END, *(tag.name_end for tag in used))),
    )
    forms: list[tuple[Part, ...]] = [
        (Words(tuple(f"<{prefix}function=" for prefix in prefixes)), name, Words((">",))),
        (Words(tuple(f'<{prefix}invoke name="' for prefix in prefixes)), name, Words(('">',))),
        named,
        *((name, _BLANKS, Words((tag.key_tags[0], *tag.ends))) for tag in used if tag.key_tags[0]),
        *_json_forms(name),
    ]
    if any(tag.syntax == "python" for tag in used):
        forms.append((Words(("", "[")), _BLANKS, name, _BLANKS, Words(("(",))))
    forms += [
        (Words((tag.call_start,)), _BLANKS, name, _BLANKS, Words(("{",)))
        for tag in used
        if tag.syntax == "bare"
    ]
    forms += [(Words((tag.start + tag.text_mark,)),) for tag in used if tag.text_name]
    return PrefixMatcher((_BLANKS, *form) for form in forms)


def _json_forms(name: Part) -> list[tuple[Part, ...]]:
    quoted = (Words(('"',)), name, Words(('"',)))
    start = (Words(("", "[")), _BLANKS, Words(("{",)), _BLANKS)
    name_first = (_keys(NAME_KEYS), *_COLON, *quoted)
    others = (_keys((*ARGUMENT_KEYS, *ID_KEYS)), *_COLON)
    typed = (_keys(("type",)), *_COLON, Words(('"function"',)))
    wrapped = (_keys(("function",)), *_COLON, Words(("{",)))
    return [(*start, *rest) for rest in (name_first, others, typed, wrapped)]


def _keys(keys: tuple[str, ...]) -> Words:
    return Words(tuple(f'"{key}"' for key in keys))


NAME_KEYS: Final = ("name", "tool", "tool_name", "function_name", "function")
ARGUMENT_KEYS: Final = ("arguments", "parameters", "args")
ID_KEYS: Final = ("id", "tool_call_id")
NAMESPACE: Final = "functions."
"""What some models write before the name of a tool."""
