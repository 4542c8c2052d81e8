"""What is searched for: how it is compared with painted text, and where it cannot be at all.

Upper and lower case are one unless the needle has an upper case letter. Comparing keeps every code
point in its place, so what is found in the folded text is a span of the text itself.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

_MARKS = "*_~\\[]!<>"
"""Markdown marks that may stand inside a word of the source and are not painted."""
_LINK_TARGET = re.compile(r"\]\([^()\s]{0,2000}\)")
_ENTITY = re.compile(r"&#?\w{1,31};")
_NUMBERED = re.compile(r"^[ >*+-]*\d{1,9}[.)]", re.MULTILINE)
"""A list that is counted anew when it is painted."""
_WORD = re.compile(r"[^\W_]+")
_LABEL = "copy"
"""Stands above code that is painted, in a list on the row of its number, and in no source."""
_COMBINING = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_SPELLED_OUT = "⟦"
"""Begins what stands for a character that is not shown; the source has the character itself."""


def folded(text: str) -> str:
    """The text without the difference of upper and lower case, as many code points as before."""
    whole = text.casefold()
    if len(whole) == len(text):
        return whole
    return "".join([_folded_one(character) for character in text])


def _folded_one(character: str) -> str:
    for form in (character.casefold(), character.lower()):
        if len(form) == 1:
            return form
    return character


@dataclass(frozen=True)
class Needle:
    """A text to look for; a blank one is found nowhere."""

    text: str

    def __bool__(self) -> bool:
        return bool(self.text.strip())

    @cached_property
    def is_exact(self) -> bool:
        """Does upper and lower case matter?"""
        return any(character.isupper() for character in self.text)

    def comparable(self, text: str) -> str:
        """A painted text as `pattern` wants it, as many code points as before."""
        return text if self.is_exact else folded(text)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds it in comparable text, written with composed letters or with combining marks.

        What goes on with a combining mark is another letter.
        """
        forms = sorted(self._forms, key=len, reverse=True)
        return re.compile(f"(?:{'|'.join(map(re.escape, forms))})(?![{_COMBINING}])")

    @cached_property
    def reach(self) -> int:
        """Code points from the start of a match that decide whether it is one."""
        return max(map(len, self._forms)) + 1

    @cached_property
    def _forms(self) -> set[str]:
        text = self.comparable(self.text)
        return {text, *(unicodedata.normalize(form, text) for form in ("NFC", "NFD"))}

    def may_be_in(self, source: str) -> bool:
        """False only where painting the source would show no match.

        All words of the needle must be there, wherever; marks inside a word do not count.
        """
        if _SPELLED_OUT in self.text or "u+" in self.text.casefold():
            return True
        plain = source.casefold()
        missing = [[word for word in words if word not in plain] for words in self._words]
        if not all(missing) or ("&" in plain and _ENTITY.search(plain)):
            return True
        bare = _bare(plain)
        return any(
            all(
                word in bare or (word.isdecimal() and _NUMBERED.search(plain) is not None)
                for word in words
            )
            for words in missing
        )

    @cached_property
    def _words(self) -> list[list[str]]:
        words = [_WORD.findall(form.casefold()) for form in self._forms]
        return [[word for word in each if word not in _LABEL] for each in words]


def _bare(source: str) -> str:
    """Without what may not be painted, so that what it divides is one word again."""
    if "](" in source:
        source = _LINK_TARGET.sub("", source)
    for mark in _MARKS:
        source = source.replace(mark, "")
    if "`" in source:
        for tick in (" `", "` ", "\n`", "`\n"):
            source = source.replace(tick, "`")
        source = source.replace("`", "")
    return source
