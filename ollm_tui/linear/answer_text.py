"""From an answer in Markdown, as it is streamed, to lines that a screen reader reads in order.

What sighted people see is written in words: headings with their level, code between "Code" and "End
of code", tables row by row with the names of the columns. Nothing is left out but the marks. The
lines are the same however the answer is cut into pieces.
"""

from collections.abc import Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ollm_tui.decode.bare_links import bare_links
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.sentences import WIDE_ENDS, is_end
from ollm_tui.lazy import lazy_re

_FENCE: Final = lazy_re(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)\Z")
_HEADING: Final = lazy_re(r" {0,3}(?P<marks>#{1,6})(?:\s+(?P<text>.*?))?(?:\s+#+)?\s*\Z")
_WHOLE: Final = lazy_re(r"\s{0,3}#{1,6}(?:\s|\Z)")
"""The beginning of a heading, which is given as one line."""
_RULE: Final = lazy_re(r"\s*([-*_])(?:\s*\1){2,}\s*\Z")
_ITEM: Final = lazy_re(r"(?P<indent>\s*)(?:[-*+]|(?P<number>\d{1,9}[.)]))\s+(?P<text>.*)\Z")
_TASK: Final = lazy_re(r"\[(?P<mark>[ xX])\]\s+")
_QUOTE: Final = lazy_re(r"\s{0,3}(?:>\s?)+(?P<text>.*)\Z")
_COLUMNS_LINE: Final = lazy_re(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*\Z")
_CELL_END: Final = lazy_re(r"(?<!\\)\|")
_PAUSE: Final = lazy_re(rf"\s+|(?<=[{WIDE_ENDS}])")
"""Where a sentence may end."""
_NUMBER: Final = lazy_re(r"\s*\d{1,9}\.\Z")
"""The number of an item."""
_SPACE: Final = lazy_re(r"\s+(?=\S)")
MAX_LENGTH: Final = 240
"""Characters from which on a sentence is divided at a space."""
_MAX_MARKED_LENGTH: Final = 1_000
"""The same within marks."""
_MARKS_IN_PAIRS: Final = ("**", "__", "`", "~~")
_INDENT_OF_A_LEVEL: Final = 2


class LinearText:
    """Takes an answer in pieces and gives the lines that are complete."""

    def __init__(self) -> None:
        self._inline = MarkdownIt("commonmark").enable("strikethrough")
        self._rest = ""
        """The line that is not complete; what was given of it already is gone."""
        self._is_begun = False
        """Whether the beginning of that line was given."""
        self._fence = ""
        self._table: list[str] | None = None
        """The names of the columns of the open table."""
        self._above = ""
        """A line that may be the head of a table."""
        self._rows = 0

    def feed(self, text: str) -> list[str]:
        """Return the lines, or sentences, that end in a further piece."""
        lines: list[str] = []
        *whole, self._rest = (self._rest + text.replace("\r\n", "\n")).split("\n")
        for line in whole:
            lines += self._end_line(line)
        return lines + self._sentences()

    def finish(self) -> list[str]:
        """Return what is left, at the end of an answer."""
        rest, self._rest = self._rest, ""
        lines = self._end_line(rest) if rest or self._is_begun else []
        lines += self._end_table()
        if self._fence:
            self._fence = ""
            lines.append("End of code.")
        return lines

    def _sentences(self) -> list[str]:
        """Return the whole sentences of a long line that is still coming."""
        lines: list[str] = []
        while self._is_prose() and (end := _first_end(self._rest)):
            head, self._above = self._above, ""  # the line above is no head of a table
            lines += self._prose(head) if head else []
            lines += self._prose(self._rest[:end])
            self._rest, self._is_begun = self._rest[end:], True
        return lines

    def _is_prose(self) -> bool:
        """Whether sentences of the line can be given before its end."""
        is_whole = self._fence or self._table is not None or _WHOLE.match(self._rest)
        return not is_whole and "|" not in self._rest

    # Whole lines

    def _end_line(self, line: str) -> list[str]:
        is_begun, self._is_begun = self._is_begun, False
        if self._fence:
            return self._in_code(line)
        if is_begun:
            return self._split(line)
        if self._table is not None:
            return self._in_table(line)
        head, self._above = self._above, ""
        if head and _COLUMNS_LINE.match(line) and "-" in line:
            return self._begin_table(head)
        given = self._prose(head) if head else []
        is_head = "|" in line and not _FENCE.match(line)
        if is_head and not _first_end(line[: line.index("|")]):
            self._above = line
            return given
        return given + self._block(line)

    def _block(self, line: str) -> list[str]:
        if (fence := _FENCE.match(line)) is not None:
            self._fence = fence["marks"]
            language = fence["info"].strip().partition(" ")[0]
            return [f"Code, {language}:" if language else "Code:"]
        if not line.strip() or _RULE.match(line):
            return []
        return self._prose(line)

    def _in_code(self, line: str) -> list[str]:
        text = line.strip()
        if text.startswith(self._fence) and not text.strip(self._fence[0]):
            self._fence = ""
            return ["End of code."]
        return [line]

    # Prose

    def _prose(self, line: str) -> list[str]:
        """Return a line, or its first sentence, with what marks it written in words."""
        if (heading := _HEADING.match(line)) is not None:
            words = self._words(heading["text"] or "")
            return [f"Heading {len(heading['marks'])}: {words}"] if words else []
        if (quote := _QUOTE.match(line)) is not None:
            first, *others = self._split(quote["text"]) or [""]
            return [f"Quote: {first}", *others] if first else []
        if (item := _ITEM.match(line)) is None:
            return self._split(line)
        level = len(item["indent"].expandtabs(4)) // _INDENT_OF_A_LEVEL + 1
        text, word = item["text"], "Item"
        if (task := _TASK.match(text)) is not None:
            text, word = text[task.end() :], "To do" if task["mark"] == " " else "Done"
        deep = f", level {level}" if level > 1 else ""
        lead = f"{item['number']}{deep}" if item["number"] else f"{word}{deep}:"
        first, *others = self._split(text) or [""]
        return [f"{lead} {first}".rstrip(), *others]

    def _split(self, text: str) -> list[str]:
        """Return the sentences of a text, without marks."""
        lines = []
        while end := _first_end(text):
            lines.append(self._words(text[:end]))
            text = text[end:]
        lines.append(self._words(text))
        return [line for line in lines if line]

    def _words(self, text: str) -> str:
        blocks = self._inline.parseInline(text.strip())
        return " ".join(" ".join(_plain(block.children or []) for block in blocks).split())

    # Tables

    def _begin_table(self, head: str) -> list[str]:
        self._table, self._rows = [self._words(cell) for cell in _cells(head)], 0
        count = len(self._table)
        names = ", ".join(name or "without a name" for name in self._table)
        return [f"Table with {count} {'column' if count == 1 else 'columns'}: {names}."]

    def _in_table(self, line: str) -> list[str]:
        if "|" not in line:
            return [*self._end_table(), *self._block(line)]
        self._rows += 1
        names = self._table or []
        cells = [self._words(cell) for cell in _cells(line)]
        parts = [
            f"{names[at]}: {cell or 'empty'}" if at < len(names) and names[at] else cell or "empty"
            for at, cell in enumerate(cells)
        ]
        return [f"Row {self._rows}. {'; '.join(parts)}."]

    def _end_table(self) -> list[str]:
        head, self._above = self._above, ""
        given = self._prose(head) if head else []
        if self._table is None:
            return given
        self._table = None
        return [*given, "End of table."]


def _first_end(text: str) -> int:
    """Return where the first sentence ends; 0 if that is not known, or inside a mark."""
    for pause in _PAUSE.finditer(text, 0, MAX_LENGTH):
        sentence = text[: pause.start()]
        ends = sentence[-1:] in WIDE_ENDS or (bool(pause[0]) and is_end(sentence))
        if sentence and ends and not _NUMBER.fullmatch(sentence) and _is_closed(sentence):
            return pause.end()
    for space in _SPACE.finditer(text, MAX_LENGTH):
        if _is_closed(text[: space.end()]) or space.end() > _MAX_MARKED_LENGTH:
            return space.end()
    return 0


def _is_closed(sentence: str) -> bool:
    """Whether no mark begins in a sentence that does not end there."""
    return sentence.count("[") <= sentence.count("]") and all(
        sentence.count(mark) % 2 == 0 for mark in _MARKS_IN_PAIRS
    )


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(inner)]


def _plain(tokens: Sequence[Token]) -> str:
    """Return the text of inline tokens; the address of a link follows its text."""
    parts: list[str] = []
    addresses: list[tuple[int, str]] = []
    for token in tokens:
        match token.type:
            case "link_open":
                addresses.append((len(parts), str(token.attrs.get("href", ""))))
            case "link_close":
                start, address = addresses.pop()
                if address and "".join(parts[start:]) not in {address, address[7:], address[8:]}:
                    parts.append(f" ({address})")
            case "image":
                alt = _plain(token.children or [])
                parts.append(f"Picture: {alt} ({token.attrs.get('src', '')})")
            case "softbreak" | "hardbreak":
                parts.append(" ")
            case _:
                parts.append(token.content)
    return "".join(parts)


def words_of(text: str) -> str:
    """Return a piece of Markdown as one line without marks, such as a match of a search."""
    blocks = MarkdownIt("commonmark").enable("strikethrough").parseInline(text.strip())
    words = " ".join(_plain(block.children or []) for block in blocks)
    return clean_line(" ".join(words.split()))


def links_of(text: str) -> list[tuple[str, str]]:
    """Return the links of a text in Markdown: what they are called, and where they lead."""
    links: dict[str, str] = {}
    for block in MarkdownIt("commonmark").parse(text):
        children = block.children or []
        for at, token in enumerate(children):
            if token.type == "link_open":
                address = str(token.attrs.get("href", ""))
                name = _plain(children[at + 1 : at + 2])
                links.setdefault(address, name)
        if block.type == "inline":
            for start, end in bare_links(block.content):
                links.setdefault(block.content[start:end], "")
    return [(name, address) for address, name in links.items()]
