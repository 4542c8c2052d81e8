"""Spell out a tag that is given as a pattern: the texts it stands for, which must be few."""

from itertools import product
from typing import Final

MAX_SPELLINGS: Final = 64
MAX_PATTERN_LENGTH: Final = 120
_ESCAPES: Final = (("n", "\n"), ("t", "\t"), ("r", "\r"))
_CLASSES: Final = (("d", "0123456789"), ("s", " \t\n\r"))


class BadPattern(ValueError):
    """The pattern does not stand for a small number of texts."""


def spell_out(pattern: str) -> tuple[str, ...]:
    """Return every text that the pattern matches.

    It may hold escaped characters, classes, groups, ``|``, ``?``, ``{n}`` and ``{n,m}``.

    Raises:
        BadPattern: with a sentence about the part that is not supported.
    """
    reader = _Reader(pattern)
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise reader.bad(f"it is longer than {MAX_PATTERN_LENGTH} characters")
    texts = reader.read_choices()
    if not reader.at_end:
        raise reader.bad("there is a closing bracket too many")
    if any(not text.strip() for text in texts):
        raise reader.bad("it matches a text without any visible character")
    return tuple(sorted(texts))


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._pattern)

    def bad(self, why: str) -> BadPattern:
        return BadPattern(f"The tag pattern {self._pattern!r} cannot be used: {why}.")

    def read_choices(self) -> set[str]:
        texts = self._read_row()
        while self._skip("|"):
            texts = self._few(texts | self._read_row())
        return texts

    def _read_row(self) -> set[str]:
        texts = {""}
        while not (self.at_end or self._here("|") or self._here(")")):
            texts = self._joined(texts, self._repeated(self._read_one()))
        return texts

    def _read_one(self) -> set[str]:
        character = self._next()
        match character:
            case "\\":
                return self._read_escape()
            case "[":
                return self._read_class()
            case "(":
                return self._read_group()
            case "." | "^" | "$" | "*" | "+" | "?" | "{":
                raise self.bad(f"{character!r} has no fixed text; write \\{character} for itself")
            case _:
                return {character}

    def _read_escape(self) -> set[str]:
        character = self._next()
        if character in dict(_CLASSES):
            return set(dict(_CLASSES)[character])
        if character.isalnum() and character not in dict(_ESCAPES):
            raise self.bad(f"'\\{character}' is not understood")
        return {dict(_ESCAPES).get(character, character)}

    def _read_class(self) -> set[str]:
        texts: set[str] = set()
        if self._skip("^"):
            raise self.bad("a class may not exclude characters")
        while not self._skip("]") or not texts:
            first = self._read_in_class()
            if len(first) == 1 and not self._here("-]") and self._skip("-"):
                first = self._range(first, self._read_in_class())
            texts = self._few(texts | first)
        return texts

    def _read_in_class(self) -> set[str]:
        character = self._next()
        return self._read_escape() if character == "\\" else {character}

    def _range(self, first: set[str], last: set[str]) -> set[str]:
        start, end = ord(min(first)), ord(max(last))
        if len(last) != 1 or not start <= end < start + MAX_SPELLINGS:
            raise self.bad("a class has a range that is empty or too wide")
        return {chr(code) for code in range(start, end + 1)}

    def _read_group(self) -> set[str]:
        if self._here("?<=") or self._here("?<!"):
            raise self.bad("a group may not look behind")
        if self._skip("?P<") or self._skip("?<"):
            self._at = self._pattern.find(">", self._at) + 1 or len(self._pattern)
        elif not self._skip("?:") and self._here("?"):
            raise self.bad("a group may not look around, refer back or set flags")
        texts = self.read_choices()
        if not self._skip(")"):
            raise self.bad("a group is not closed")
        return texts

    def _repeated(self, one: set[str]) -> set[str]:
        fewest, most = self._read_count()
        texts: set[str] = set()
        row = {""}
        for times in range(most + 1):
            if times >= fewest:
                texts = self._few(texts | row)
            if times < most:
                row = self._joined(row, one)
        return texts

    def _read_count(self) -> tuple[int, int]:
        if self._skip("?"):
            return 0, 1
        if self._here("*") or self._here("+"):
            raise self.bad("it may repeat without end")
        if not self._skip("{"):
            return 1, 1
        inside, closed, _ = self._pattern[self._at :].partition("}")
        first, comma, last = inside.partition(",")
        last = last if comma else first
        if not closed or not first.isdecimal() or not last.isdecimal() or int(last) < int(first):
            raise self.bad(f"the count {{{inside}}} needs an end that is not before its start")
        if int(last) > MAX_SPELLINGS:
            raise self.bad("it repeats too often")
        self._at += len(inside) + 1
        return int(first), int(last)

    def _joined(self, starts: set[str], ends: set[str]) -> set[str]:
        return self._few({start + end for start, end in product(starts, ends)})

    def _few(self, texts: set[str]) -> set[str]:
        if len(texts) > MAX_SPELLINGS:
            raise self.bad(f"it stands for more than {MAX_SPELLINGS} texts")
        return texts

    def _here(self, text: str) -> bool:
        return self._pattern.startswith(text, self._at)

    def _skip(self, text: str) -> bool:
        if self._here(text):
            self._at += len(text)
            return True
        return False

    def _next(self) -> str:
        if self.at_end:
            raise self.bad("it ends too early")
        self._at += 1
        return self._pattern[self._at - 1]
