"""Google-style docstrings, as far as a tool's description needs them."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass

_SECTION = re.compile(r"(Args|Arguments|Returns|Raises|Yields|Examples?|Notes?):")
_ARGUMENT = re.compile(r"\*{0,2}(\w+)(?: *\([^)]*\))?: *(.*)")


@dataclass(frozen=True, slots=True)
class Description:
    """What a docstring says of a function and its arguments."""

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
    """Read `name: text` entries; what is indented deeper goes on with the entry above."""
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
    """Undo the wrapping of each paragraph."""
    paragraphs = "\n".join(lines).strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip())
