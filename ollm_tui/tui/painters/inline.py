"""Marks inside a line of Markdown: emphasis, code, links, images; a text of any length in steps.

A parser that cannot be interrupted gets pieces. A piece ends after white space, where all code
spans, brackets and emphasis before it are closed, if that is not too far away.
"""

import re
from collections.abc import Generator, Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from rich.style import Style

from ollm_tui.decode.clean import clean_line
from ollm_tui.tui.painters.formulas import add_rules, in_line, load_steps
from ollm_tui.tui.painters.links import linked, with_links
from ollm_tui.tui.painters.rows import BOLD, ITALIC, STRIKE, Canvas, Span, source_style

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_NESTING = 60
MAX_LENGTH = 100_000
MAX_BRACKETS = 500
"""Brackets of a short text; a long one may have one in twenty characters more."""
_MARKS = re.compile(r"[\\`*_~\[!<&$]")
_NEWLINE = re.compile(r" *\n *")
PIECE = 2000
PIECE_COST = 40_000
"""Most characters times opening brackets in a piece: each one may look through all of it."""
OPEN_COST = 80_000
"""The same for a text that is formatted again for every frame."""
_CANDIDATES = 100
_REACH = 4  # the most pieces' length of a piece whose marks or last word do not end earlier
_SPACE = re.compile(r"\s+(?=\S)")


@cache
def parser(*, maths: bool = False) -> "MarkdownIt":
    """CommonMark with tables and strikethrough; raw HTML and link definitions stay text."""
    # Imported on the first formatted line: it costs 25 ms that the first screen should not pay.
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    markdown.enable(["table", "strikethrough"]).disable("reference")
    if maths:
        add_rules(markdown)
    return markdown


def too_costly(text: str) -> bool:
    """Whether parsing this text would take seconds, so that it is shown as it is."""
    return len(text) > MAX_LENGTH or text.count("[") > MAX_BRACKETS + len(text) // 20


def inline_spans(text: str, base: Style, canvas: Canvas) -> list[list[Span]]:
    """The lines of one inline text: a hard break begins another."""
    if (_MARKS.search(text) is None and "  \n" not in text) or too_costly(text):
        return [with_links(_NEWLINE.sub(" ", text), base, canvas.palette)]
    lines: list[list[Span]] = []
    for token in parser(maths=canvas.maths).parseInline(text):
        walk = _Walk(base, canvas)
        for child in token.children or ():
            walk.take(child)
        lines += walk.lines
    return lines


def _shown(text: str) -> str:
    """Clean decoded text once more: an entity such as `&#13;` can be any character."""
    return clean_line(text).replace("\t", " ")


class _Walk:
    def __init__(self, base: Style, canvas: Canvas) -> None:
        self.lines: list[list[Span]] = [[]]
        self._styles = [base]
        self._palette = canvas.palette
        self._links: list[tuple[str, int]] = []

    def take(self, token: "Token") -> None:
        match token.type:
            case "text":
                self._text(token.content)
            case "softbreak":
                self._put(" ")
            case "hardbreak":
                self.lines.append([])
            case "code_inline":
                self._put(token.content, self._styles[-1] + self._palette.code)
            case "maths":
                self._formula(token)
            case "image":
                self._image(token)
            case "link_open" | "link_close":
                self._link(token)
            case "strong_open" | "em_open" | "s_open":
                mark = {"strong_open": BOLD, "em_open": ITALIC, "s_open": STRIKE}[token.type]
                self._styles.append(self._styles[-1] + mark)
            case "strong_close" | "em_close" | "s_close":
                self._styles.pop()
            case _:
                self._put(token.content)

    def _put(self, text: str, style: Style | None = None) -> None:
        if text:
            self.lines[-1].append((_shown(text), style or self._styles[-1]))

    def _text(self, text: str) -> None:
        if self._links:
            self._put(text)
        else:
            self.lines[-1] += with_links(_shown(text), self._styles[-1], self._palette)

    def _formula(self, token: "Token") -> None:
        text = in_line(token.content)
        if text is None:
            self._put(_NEWLINE.sub(" ", token.markup))
        else:
            source, style = _NEWLINE.sub(" ", token.markup), self._styles[-1] + self._palette.code
            self._put(text, source_style(style, source, _shown(text)))

    def _image(self, token: "Token") -> None:
        style = self._styles[-1] + self._palette.dim
        address = str(token.attrs.get("src", ""))
        # a picture that is the text of a link leads where the link does
        style = style if self._links or not address else linked(style, address)
        self._put(f"[image: {token.content}]", style)

    def _link(self, token: "Token") -> None:
        if token.nesting > 0:
            address = str(token.attrs.get("href", ""))
            self._links.append((address, len(self.lines[-1])))
            style = self._styles[-1] + self._palette.link
            self._styles.append(linked(style, address) if address else style)
            return
        self._styles.pop()
        address, start = self._links.pop()
        shown = "".join(text for text, _style in self.lines[-1][start:])
        if address and address.removeprefix("mailto:") != shown:
            # The address is always seen: a link's text may say anything.
            self._put(f" ({address})", linked(self._styles[-1] + self._palette.dim, address))


def formatted(text: str, base: Style, canvas: Canvas) -> Generator[None, None, list[list[Span]]]:
    """The lines of one inline text (a hard break begins another), after as many steps as needed."""
    lines: list[list[Span]] = [[]]
    for piece in pieces(text):
        yield from load_steps(piece, canvas)
        first, *others = inline_spans(piece, base, canvas)
        lines[-1] += first
        lines += others
        yield
    return lines


def formatted_at_once(text: str, base: Style, canvas: Canvas) -> list[list[Span]]:
    """The same in one step, for a text that is not longer than a piece."""
    return [spans for piece in pieces(text) for spans in inline_spans(piece, base, canvas)]


def costs_too_much_open(text: str) -> bool:
    """Whether formatting this for every frame would hold up the screen."""
    return len(text) * text.count("[") > OPEN_COST


def pieces(text: str) -> Iterator[str]:
    """Cut a text so that each piece can be parsed by itself at once."""
    start = 0
    while start < len(text):
        end = _limit(text, start)
        if end < len(text):
            end = _good_end(text, start, end)
        yield text[start:end]
        start = end


def _limit(text: str, start: int) -> int:
    end = min(start + PIECE, len(text))
    bracket = text.find("[", start, end)
    count = 0
    while bracket >= 0:
        count += 1
        end = min(end, start + max(PIECE_COST // count, 1))
        bracket = text.find("[", bracket + 1, end)
    return end


def _good_end(text: str, start: int, end: int) -> int:
    """The last place up to `end` to cut at, or the first one after it."""
    middle = start + (end - start) // 2
    ends = [space.end() for space in _SPACE.finditer(text, middle, end)][-_CANDIDATES:]
    closed = (each for each in reversed(ends) if _all_closed(text, start, each))
    best = next(closed, None) or _later_end(text, start, end)
    return best or (ends[-1] if ends else end)


def _later_end(text: str, start: int, end: int) -> int | None:
    """Where marks open at `end` are closed; None if that is too far away or costs too much."""
    last = min(start + _REACH * PIECE, len(text))
    if (last - start) * text.count("[", start, last) > PIECE_COST:
        return None
    later = islice(_SPACE.finditer(text, end, last), _CANDIDATES)
    ends = [*(space.end() for space in later), *([last] if last == len(text) else [])]
    return next((each for each in ends if _all_closed(text, start, each)), None)


def _all_closed(text: str, start: int, end: int) -> bool:
    def count(mark: str) -> int:
        return text.count(mark, start, end)

    return (
        count("[") == count("]")
        and count("(") == count(")")
        and not any(count(mark) % 2 for mark in ("`", "*", "**", "~~", "$"))
    )
