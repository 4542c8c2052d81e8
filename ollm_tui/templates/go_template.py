"""Reads which fields one of Ollama's Go templates uses; it renders nothing. Pure.

Ollama decides in the same way what a model supports: a template that mentions `.Tools` takes tools.
Templates come from strangers: no character is read more than a few times.
"""

import re
from collections.abc import Iterator
from typing import Final

_OPENED: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+|`[^`]*+|\'(?:[^\'\\\n]|\\.)*+')
"""A text in quotes up to where its second quote should be."""
_MARK: Final = re.compile("[\"`']|}}")
_FIELD: Final = re.compile(r"(?<![\w.)\]])(?:\$\w*)?((?:\.[A-Za-z_]\w*)+)")
READ_LIMIT: Final = 64 * 1024
"""How many characters of a template are read."""


def fields_of(template: str) -> frozenset[str]:
    """Return the fields that a template uses, in lower case: `tools`, `system`, `toolcalls`."""
    return frozenset(
        name.lower()
        for _, unquoted in _actions(template)
        for match in _FIELD.finditer(unquoted)
        for name in match[1].split(".")
        if name
    )


def actions_of(template: str) -> Iterator[str]:
    """Yield what stands between `{{` and `}}`, without comments; a text in quotes hides both."""
    return (action for action, _ in _actions(template))


def _actions(template: str) -> Iterator[tuple[str, str]]:
    """Yield each action, and the same without its texts in quotes."""
    text, at = template[:READ_LIMIT], 0
    unclosed: dict[str, int] = {}
    while (start := text.find("{{", at)) >= 0:
        pieces, read = [], start + 2
        for piece in _unquoted(text, start + 2, unclosed):
            pieces.append(text[piece])
            read = piece.stop
        if not text.startswith("}}", read):
            return
        action = text[start + 2 : read].strip("- \t\r\n")
        if not action.startswith("/*"):
            yield action, " ".join(pieces)
        at = read + 2


def _unquoted(text: str, start: int, unclosed: dict[str, int]) -> Iterator[slice]:
    """Yield what is outside of quotes, up to `}}` or the end of the text."""
    at = start
    while (mark := _MARK.search(text, at)) is not None and mark[0] != "}}":
        end = _end_of_quoted(text, mark.start(), unclosed)
        at = mark.end() if end is None else end
        if end is not None:
            yield slice(start, mark.start())
            start = end
    yield slice(start, len(text) if mark is None else mark.start())


def _end_of_quoted(text: str, start: int, unclosed: dict[str, int]) -> int | None:
    """Return where a text in quotes ends; None for a quote that is never closed.

    What ends without its second quote holds others of the kind only after a backslash, and those
    are not closed either: `unclosed` keeps its end by the kind, so that it is not read again.
    """
    quote = text[start]
    if start < unclosed.get(quote, 0):
        return None
    opened = _OPENED.match(text, start)
    assert opened is not None
    if text.startswith(quote, opened.end()):
        return opened.end() + 1
    unclosed[quote] = opened.end()
    return None
