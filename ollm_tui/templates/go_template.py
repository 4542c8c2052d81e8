"""Reads which fields one of Ollama's Go templates uses; it renders nothing. Pure.

Ollama decides in the same way what a model supports: a template that mentions `.Tools` takes tools.
"""

import re
from collections.abc import Iterator
from typing import Final

_TEXTS: Final = re.compile(r'"(?:[^"\\\n]|\\.)*+"|`[^`]*+`|\'(?:[^\'\\\n]|\\.)*+\'')
_FIELD: Final = re.compile(r"(?<![\w.)\]])(?:\$\w*)?((?:\.[A-Za-z_]\w*)+)")
TEMPLATE_LIMIT: Final = 1024 * 1024


def fields_of(template: str) -> frozenset[str]:
    """Return the fields that a template uses, in lower case: `tools`, `system`, `toolcalls`."""
    return frozenset(
        name.lower()
        for action in actions_of(template)
        for match in _FIELD.finditer(_TEXTS.sub(" ", action))
        for name in match[1].split(".")
        if name
    )


def actions_of(template: str) -> Iterator[str]:
    """Yield what stands between `{{` and `}}`, without comments; a text in quotes hides both."""
    at = 0
    text = template[:TEMPLATE_LIMIT]
    while (start := text.find("{{", at)) >= 0:
        inner = start + 2
        while (end := text.find("}}", inner)) >= 0:
            quoted = _open_quote(text, start + 2, end)
            if quoted is None:
                break
            inner = quoted
        if end < 0:
            return
        action = text[start + 2 : end].strip("- \t\r\n")
        if not action.startswith("/*"):
            yield action
        at = end + 2


def _open_quote(text: str, start: int, end: int) -> int | None:
    """Return where a text in quotes ends that is still open at `end`; None if none is."""
    at = start
    while at < end:
        match = _QUOTE.search(text, at, end)
        if match is None:
            return None
        whole = _TEXTS.match(text, match.start())
        if whole is None:
            return None
        if whole.end() > end:
            return whole.end()
        at = whole.end()
    return None


_QUOTE: Final = re.compile("[\"`']")
