"""The pieces of an answer that is divided: text, thinking, and what is taken back.

White space is held back until it is known whether it stands beside a tag, and then dropped.
"""

from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from ollm_tui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """A piece of the thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class WithdrawnPiece:
    """All pieces before it are taken back: their text follows, as the other kind."""


WordPiece: TypeAlias = TextPiece | ThinkingPiece
ThinkPiece: TypeAlias = WordPiece | WithdrawnPiece
P = TypeVar("P")


class PieceList(Generic[P]):
    """Pieces of a text in their order, neighbours of one kind joined."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Callable[[str], P], list[str]]] = []

    def add(self, kind: Callable[[str], P], text: str) -> None:
        """Add a piece; a no-op if it is empty."""
        if self._pieces and self._pieces[-1][0] is kind:
            self._pieces[-1][1].append(text)
        elif text:
            self._pieces.append((kind, [text]))

    def put(self, piece: P) -> None:
        """Add a piece that stays by itself."""
        self._pieces.append((lambda _text: piece, []))

    def take(self) -> list[P]:
        """Return the pieces since the last call."""
        pieces, self._pieces = self._pieces, []
        return [kind("".join(parts)) for kind, parts in pieces]


class ThinkOutput:
    """The output of a splitter; ``closed_blocks_only`` holds each block back until its end.

    White space around a leading block is dropped; of the white space on both sides of a block
    between two texts one run stays.
    """

    def __init__(
        self, *, thinking_separator: str, text_separator: str, closed_blocks_only: bool
    ) -> None:
        self._thinking_separator = thinking_separator
        self._text_separator = text_separator
        self._closed_blocks_only = closed_blocks_only
        self.emitted: PieceList[ThinkPiece] = PieceList()
        self._blanks: list[str] = []
        self._opening = ""
        self._body: list[str] = []
        self._after_block = self._word_in_block = False
        self._lone_tag = ""
        self._text_came = self._text_ends_blank = self._thinking_came = False

    def keep_blanks(self, blanks: str) -> None:
        """Hold white space back until it is known what follows."""
        self._blanks.append(blanks)

    def text(self, text: str) -> None:
        """Add to the answer."""
        if not text:
            return
        self.emitted.add(TextPiece, self._before_text() + text)
        self._blanks.clear()
        self._after_block = False
        self._text_came = True
        self._text_ends_blank = text[-1].isspace()

    def open_block(self, tag: str) -> None:
        """Begin a block of thinking that this tag opened."""
        self._opening = "".join(self._blanks) + tag
        self._blanks.clear()
        self._word_in_block = False

    def thinking(self, text: str) -> None:
        """Add to the open block."""
        if self._closed_blocks_only:
            self._body.append(text)
        else:
            self._add_thinking(text)

    def close_block(self) -> None:
        """End the open block; white space before its end tag is dropped."""
        self._add_thinking("".join(self._body))
        self._body.clear()
        self._blanks.clear()
        self._after_block = True

    def withdraw_thinking(self, text: str) -> None:
        """Take all thinking back: it was the answer."""
        self.emitted.put(WithdrawnPiece())
        self.emitted.add(TextPiece, text)

    def withdraw_text(self, thinking: str, end_tag: str) -> None:
        """Take all text back: it was thinking, whose block ends here.

        Without any text, the tag stays one if nothing comes after it either.
        """
        if thinking:
            self.emitted.put(WithdrawnPiece())
        else:
            self._lone_tag = end_tag
        self._text_came = False
        self.open_block("")
        self.thinking(thinking)
        self.close_block()

    def finish(self, *, in_block: bool) -> None:
        """Emit what was held back, at the end of the stream."""
        blanks = "".join(self._blanks)
        self._blanks.clear()
        if in_block and self._closed_blocks_only:
            self.text(self._opening + "".join(self._body))
            self._body.clear()
        elif in_block and self._word_in_block:
            self.emitted.add(ThinkingPiece, blanks)
        elif self._lone_tag and not self._text_came:
            self.emitted.add(TextPiece, self._lone_tag)
        elif not in_block and not self._after_block:
            self.emitted.add(TextPiece, blanks)

    def _before_text(self) -> str:
        if not self._after_block:
            return "".join(self._blanks)
        if not self._text_came:
            return ""
        if self._text_separator or self._text_ends_blank:
            return self._text_separator
        return "".join(self._blanks)

    def _add_thinking(self, text: str) -> None:
        words = text.rstrip()
        blanks = text[len(words) :]
        if words and self._word_in_block:
            self.emitted.add(ThinkingPiece, "".join(self._blanks) + words)
        elif words:
            joint = self._thinking_separator if self._thinking_came else ""
            self.emitted.add(ThinkingPiece, joint + words.lstrip())
            self._word_in_block = self._thinking_came = True
        if words:
            self._blanks.clear()
        if blanks:
            self._blanks.append(blanks)
