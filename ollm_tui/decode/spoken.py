"""From an answer in Markdown, as it is streamed, to sentences that can be read aloud.

What nobody would read aloud is left out: code blocks, tables, rules, pictures without a text and
the addresses of links. The sentences are the same however the answer is cut into pieces.
"""

import html
import unicodedata
from typing import Final

from ollm_tui.decode.sentences import WIDE_ENDS, is_end
from ollm_tui.lazy import lazy_re

MAX_LENGTH: Final = 400
"""Characters from which on a sentence is divided at a space or a comma."""
_MAX_WORD_LENGTH: Final = 2_000
_START: Final = 12
"""Characters of a line that tell what kind of line it is."""
_FENCE: Final = lazy_re(r"(`{3,}|~{3,}|\$\$)")
_RULE: Final = lazy_re(r"([-*_=])(?:\s*\1){2,}\s*\Z")
_MARKER: Final = lazy_re(r"(?:(?:>|#{1,6}(?=\s)|[-*+](?=\s)|\d{1,9}[.)](?=\s))\s*)+")
_TASK: Final = lazy_re(r"\[[ xX]\]\s+")
_WIDE_ENDS: Final = frozenset(WIDE_ENDS)
_WIDE_PAUSES: Final = frozenset("\u3001\uff0c\uff1b")

_PICTURE: Final = lazy_re(r"!\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_LINK: Final = lazy_re(r"\[([^\[\]]*)\]\([^()\s]*(?:\([^()\s]*\))?(?:\s+\"[^\"]*\")?\)")
_REFERENCE: Final = lazy_re(r"\[\^[^\[\]\s]*\]|(?<=\])\[[^\[\]]*\]")
_ADDRESS: Final = lazy_re(r"<?\b(?:https?|ftp)://(?:www\.)?([^\s/?#<>()\"']+)[^\s<>]*>?")
_TAG: Final = lazy_re(r"</?[A-Za-z][^<>]*>")
_MARKS: Final = lazy_re(r"[*`~|]+|(?<!\w)_+|_+(?!\w)|[\[\]](?=\W|\Z)|(?<!\w)[\[\]]")
_SPACES: Final = lazy_re(r"\s+")


class SpokenText:
    """Takes an answer in pieces and gives the sentences that are complete."""

    def __init__(self) -> None:
        self._line: str | None = ""
        """The beginning of a line whose kind is not known yet; None within a line."""
        self._fence = ""
        """What ends the open code block."""
        self._is_skipped = self._is_heading = False
        self._sentence: list[str] = []
        self._length = 0
        self._sentences: list[str] = []

    def feed(self, text: str) -> list[str]:
        """Return the sentences that end in a further piece."""
        for character in text:
            if character == "\n":
                self._end_line()
            elif self._line is None:
                if not self._is_skipped:
                    self._add(character)
            else:
                self._line += character
                if len(self._line.lstrip()) >= _START or len(self._line) > 80:
                    self._begin_line(self._line)
        return self._taken()

    def finish(self) -> list[str]:
        """Return what is left, at the end of a block or of the answer."""
        self._end_line()
        self._end_sentence()
        self._fence = ""
        return self._taken()

    def _taken(self) -> list[str]:
        sentences, self._sentences = self._sentences, []
        return sentences

    # Lines

    def _end_line(self) -> None:
        if self._line is not None:
            if not self._line.strip():
                self._end_sentence()
            self._begin_line(self._line)
        if self._is_heading:
            self._end_sentence()
        self._line, self._is_skipped, self._is_heading = "", False, False
        self._add(" ")

    def _begin_line(self, line: str) -> None:
        """Divide a line from what marks it, and skip what is not read."""
        self._line, text = None, line.strip()
        if self._fence:
            self._is_skipped = True
            if text.startswith(self._fence) and not text.strip(self._fence[0]):
                self._fence = ""
        elif opening := _FENCE.match(text):
            self._end_sentence()
            self._fence, self._is_skipped = opening[0], True
            if opening[0] == "$$" and text.count("$$") > 1:
                self._fence = ""
        elif text.startswith("|") or _RULE.match(text):
            self._end_sentence()
            self._is_skipped = True
        else:
            self._read_line(line.lstrip())

    def _read_line(self, text: str) -> None:
        if marker := _MARKER.match(text):
            self._end_sentence()
            text = _TASK.sub("", text[marker.end() :])
            self._is_heading = marker[0].startswith("#")
        for character in text:
            self._add(character)

    # Sentences

    def _add(self, character: str) -> None:
        if not character.isspace():
            self._sentence.append(character)
            self._length += 1
            is_pause = self._length >= MAX_LENGTH and character in _WIDE_PAUSES
            if character in _WIDE_ENDS or is_pause or self._length >= _MAX_WORD_LENGTH:
                self._end_sentence()
        elif self._sentence:
            tail = "".join(self._sentence[-_START:])
            if is_end(tail) or self._length >= MAX_LENGTH:
                self._end_sentence()
            elif self._sentence[-1] != " ":
                self._sentence.append(" ")
                self._length += 1

    def _end_sentence(self) -> None:
        text, self._length = "".join(self._sentence), 0
        self._sentence.clear()
        if text and (words := spoken_words(text)):
            self._sentences.append(words)


def spoken_words(text: str) -> str:
    """Return a piece of Markdown within a line as it is read; empty if nothing is."""
    text = _PICTURE.sub(r"\1", text)
    text = _LINK.sub(r"\1", text)
    text = _REFERENCE.sub("", text)
    text = _ADDRESS.sub(r"\1", text)
    text = _MARKS.sub("", html.unescape(_TAG.sub("", text)))
    text = "".join(one for one in text if unicodedata.category(one) not in {"So", "Cc", "Cf", "Cs"})
    text = _SPACES.sub(" ", text).strip()
    return text if any(map(str.isalnum, text)) else ""
