"""Reads which fields one of Ollama's Go templates uses; it renders nothing. Pure.

Ollama decides in the same way what a model supports: a template that mentions `.Tools` takes tools,
and one that has `.Thinking` between two tags thinks. Templates come from strangers: no character is
read more than a few times.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re

_OPENED: Final = lazy_re(r'"(?:[^"\\\n]|\\.)*+|`[^`]*+|\'(?:[^\'\\\n]|\\.)*+')
"""A text in quotes up to where its second quote should be."""
_MARK: Final = lazy_re("[\"`']|}}")
_COMMENT: Final = lazy_re(r"(?:-\s)?\s*/\*")
_FIELD: Final = lazy_re(r"(?<![\w.)\]])(?:\$\w*)?((?:\.[A-Za-z_]\w*)+)")
_OWN_FIELD: Final = lazy_re(r"(?<![\w.)\]$])\.([A-Za-z_]\w*)")
"""A field of what a block is about, and not of a variable."""
_KEYWORD: Final = lazy_re(r"(?:if|range|with|block|define|else|end)\b")
_OPENING: Final = frozenset({"if", "range", "with", "block", "define"})
READ_LIMIT: Final = 64 * 1024
"""How many characters of a template are read."""


def fields_of(template: str) -> frozenset[str]:
    """Return the fields that a template uses, in lower case: `tools`, `system`, `toolcalls`."""
    return frozenset(
        name.lower()
        for part in _parts(template)
        for match in _FIELD.finditer(part.unquoted)
        for name in match[1].split(".")
        if name
    )


def actions_of(template: str) -> Iterator[str]:
    """Yield what stands between `{{` and `}}`, without comments; a text in quotes hides both."""
    return (part.action for part in _parts(template) if part.action is not None)


def thinking_tags(template: str) -> tuple[str, str]:
    """Return the texts around `.Thinking` in the loop over the messages; "" for one not found.

    They are the first and the last text of the innermost block with it, as Ollama reads them.
    """
    opening = closing = ""
    for block in _blocks_with_thinking(template):
        opening = opening if block.first is None else block.first.strip()
        closing = closing if block.last is None else block.last.strip()
    return opening, closing


@dataclass(frozen=True, slots=True)
class _Part:
    """An action with the text in front of it; None for a comment, and at the end."""

    text: str
    action: str | None = None
    unquoted: str = ""
    """The action without its texts in quotes."""


@dataclass(slots=True)
class _Block:
    """A part of a template with what it begins and ends with: a text, or None for an action."""

    is_of_messages: bool = False
    """Whether the innermost loop around it is one over the messages."""
    is_defined: bool = False
    """Whether it is in a template of its own."""
    is_empty: bool = True
    first: str | None = None
    last: str | None = None

    def add(self, text: str | None) -> None:
        if text != "":
            self.first = text if self.is_empty else self.first
            self.last, self.is_empty = text, False

    def inner(self, word: str = "", *, is_of_messages: bool) -> "_Block":
        """Return the block that a keyword opens in this one."""
        is_defined = self.is_defined or word == "define"
        return _Block(is_of_messages=is_of_messages, is_defined=is_defined)


def _blocks_with_thinking(template: str) -> list[_Block]:
    """Return the blocks of a loop over the messages that use `.Thinking`."""
    with_thinking: list[_Block] = []
    blocks = [_Block()]
    for part in _parts(template):
        block = blocks[-1]
        block.add(part.text)
        if part.action is None:
            continue
        keyword = _KEYWORD.match(part.action)
        word = keyword[0] if keyword else ""
        if word == "end":
            blocks[1:] = blocks[1:-1]
        elif word == "else":
            blocks[-1] = replace(block, is_empty=True, first=None, last=None)
        else:
            _read_action(part, word, blocks, with_thinking)
    return with_thinking


def _read_action(part: _Part, word: str, blocks: list[_Block], with_thinking: list[_Block]) -> None:
    """Read an action that stands in the last block, and may open another one."""
    block, names = blocks[-1], set(_OWN_FIELD.findall(part.unquoted))
    is_of_messages = "Messages" in names if word == "range" else block.is_of_messages
    if word != "define":
        block.add(None)
    if "Thinking" in names and is_of_messages and not block.is_defined:
        with_thinking.append(block)
    if word in _OPENING:
        blocks.append(block.inner(word, is_of_messages=is_of_messages))


def _parts(template: str) -> Iterator[_Part]:
    """Yield a template in parts, up to an action that does not end."""
    text, at, is_trimmed = template[:READ_LIMIT], 0, False
    unclosed: dict[str, int] = {}
    while (start := text.find("{{", at)) >= 0:
        before = text[at:start]
        before = before.lstrip() if is_trimmed else before
        before = before.rstrip() if re.match(r"-\s", text[start + 2 : start + 4]) else before
        pieces = [] if _COMMENT.match(text, start + 2) else [*_unquoted(text, start + 2, unclosed)]
        end = pieces[-1].stop if pieces else _end_of_comment(text, start + 2)
        if not text.startswith("}}", end):
            return
        action = text[start + 2 : end]
        is_trimmed, at = re.search(r"\s-\Z", action[-2:]) is not None, end + 2
        unquoted = " ".join(text[piece] for piece in pieces)
        yield _Part(before, action.strip("- \t\r\n") if pieces else None, unquoted)
    yield _Part(text[at:].lstrip() if is_trimmed else text[at:])


def _end_of_comment(text: str, start: int) -> int:
    """Return where the action of a comment ends; quotes mean nothing in a comment."""
    end = text.find("*/", start)
    end = text.find("}}", end) if end >= 0 else end
    return end if end >= 0 else len(text)


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
