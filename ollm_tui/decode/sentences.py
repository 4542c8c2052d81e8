"""Where a sentence of an answer ends, for what reads it out while it still comes."""

from typing import Final

from ollm_tui.lazy import lazy_re

_END: Final = lazy_re(r"[.!?…][\"'\u201d\u2019»)\]*_`]*\Z")
_NO_END: Final = lazy_re(
    r"(?:\b(?:[A-Za-z]|e\.g|i\.e|z\.B|u\.a|d\.h|cf|vs|etc|approx|ca|Dr|Mr|Mrs|Ms|Prof|St|No|Nr|Fig)"
    r"|(?:^|\s)\d{1,3})\.[\"'\u201d\u2019»)\]*_`]*\Z"
)
"""Abbreviations, initials and ordinal numbers."""
WIDE_ENDS: Final = "\u3002\uff01\uff1f"
"""What ends a sentence without a space behind it."""


def is_end(text: str) -> bool:
    """Return whether a sentence ends with a text, after which there is a space."""
    return bool(_END.search(text)) and not _NO_END.search(text)
