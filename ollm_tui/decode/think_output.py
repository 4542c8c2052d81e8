"""Collect the pieces of a divided text, and decide on white space and unclosed blocks.

White space around a leading block is dropped; of the white space on both sides of a block between
two texts one run stays. White space inside a block is kept aside until a word follows it.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """A piece of the reasoning."""

    text: str


ThinkPiece: TypeAlias = TextPiece | ThinkingPiece


class ThinkOutput:
    """What a splitter writes to; ``closed_blocks_only`` holds each block back until its end."""

    def __init__(self, *, thinking_joint: str, text_joint: str, closed_blocks_only: bool) -> None:
        self._thinking_joint = thinking_joint
        self._text_joint = text_joint
        self._closed_blocks_only = closed_blocks_only
        self._pieces: list[tuple[type[ThinkPiece], list[str]]] = []
        self._blanks: list[str] = []
        self._opening = ""
        self._body: list[str] = []
        self._after_block = self._word_in_block = False
        self._text_came = self._text_ends_blank = self._thinking_came = False

    def take(self) -> list[ThinkPiece]:
        """Return the pieces since the last call, neighbours of one kind joined."""
        pieces, self._pieces = self._pieces, []
        return [kind("".join(parts)) for kind, parts in pieces]

    def keep_blanks(self, blanks: str) -> None:
        """Keep white space aside until it is known what follows."""
        self._blanks.append(blanks)

    def text(self, text: str) -> None:
        """Add to the answer."""
        if not text:
            return
        self._add(TextPiece, self._before_text() + text)
        self._blanks.clear()
        self._after_block = False
        self._text_came = True
        self._text_ends_blank = text[-1].isspace()

    def open_block(self, tag: str) -> None:
        """Begin a block of reasoning that this tag opened."""
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

    def finish(self, *, in_block: bool) -> None:
        """Give out what was kept aside at the end of the stream."""
        blanks = "".join(self._blanks)
        self._blanks.clear()
        if in_block and self._closed_blocks_only:
            self.text(self._opening + "".join(self._body))
            self._body.clear()
        elif in_block and self._word_in_block:
            self._add(ThinkingPiece, blanks)
        elif not in_block and not self._after_block:
            self._add(TextPiece, blanks)

    def _before_text(self) -> str:
        if not self._after_block:
            return "".join(self._blanks)
        if not self._text_came:
            return ""
        if self._text_joint or self._text_ends_blank:
            return self._text_joint
        return "".join(self._blanks)

    def _add_thinking(self, text: str) -> None:
        words = text.rstrip()
        blanks = text[len(words) :]
        if words and self._word_in_block:
            self._add(ThinkingPiece, "".join(self._blanks) + words)
        elif words:
            joint = self._thinking_joint if self._thinking_came else ""
            self._add(ThinkingPiece, joint + words.lstrip())
            self._word_in_block = self._thinking_came = True
        if words:
            self._blanks.clear()
        if blanks:
            self._blanks.append(blanks)

    def _add(self, kind: type[ThinkPiece], text: str) -> None:
        if not text:
            return
        if self._pieces and self._pieces[-1][0] is kind:
            self._pieces[-1][1].append(text)
        else:
            self._pieces.append((kind, [text]))
