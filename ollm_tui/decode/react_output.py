"""Collect the thoughts and the answer of ReAct text, without the white space around them.

Text before any label may turn out to be a thought or the answer. It is kept aside until a label
says so, a second paragraph begins, or it is longer than ``UNDECIDED_LIMIT``: then it is an answer
in plain words and streams like any other.
"""

from typing import Final

from ollm_tui.decode.think_output import TextPiece, ThinkingPiece, ThinkPiece

UNDECIDED_LIMIT: Final = 240
_JOINT: Final = "\n\n"


class ReActOutput:
    """What the parser writes to; ``kind`` is None while it is not known what the text is."""

    def __init__(self) -> None:
        self.kind: type[ThinkPiece] | None = None
        self.came: set[type[ThinkPiece]] = set()
        self._pieces: list[tuple[type[ThinkPiece], list[str]]] = []
        self._undecided: list[str] = []
        self._length = 0
        self._blanks: list[str] = []
        self._begun = False

    def take(self) -> list[ThinkPiece]:
        """Return the pieces since the last call, neighbours of one kind joined."""
        pieces, self._pieces = self._pieces, []
        return [kind("".join(parts)) for kind, parts in pieces]

    def open(self, kind: type[ThinkPiece]) -> None:
        """Begin a section; undecided text before it was a thought."""
        self.decide(ThinkingPiece)
        self.kind = kind
        self._begun = False
        self._blanks.clear()

    def decide(self, kind: type[ThinkPiece]) -> None:
        """Say what the undecided text is, if there is any."""
        if self.kind is None and self._undecided:
            self.kind = kind
            self._put("".join(self._undecided))
            self._undecided.clear()

    def write(self, text: str) -> None:
        """Add to the open section; white space waits until a word follows it."""
        words = text.rstrip()
        blanks = text[len(words) :]
        if words:
            self._write_words(words)
        if blanks:
            self._blanks.append(blanks)

    def _write_words(self, words: str) -> None:
        gap = "".join(self._blanks)
        if not self._begun:
            words = words.lstrip()
            gap = _JOINT if self.kind in self.came else ""
        self._blanks.clear()
        self._begun = True
        if self.kind is not None:
            self._put(gap + words)
            return
        self._undecided.append(gap + words)
        self._length += len(gap) + len(words)
        if self._length > UNDECIDED_LIMIT or gap.count("\n") > 1:
            self.decide(TextPiece)

    def _put(self, text: str) -> None:
        kind = self.kind or TextPiece
        self.came.add(kind)
        if self._pieces and self._pieces[-1][0] is kind:
            self._pieces[-1][1].append(text)
        else:
            self._pieces.append((kind, [text]))
