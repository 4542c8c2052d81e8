"""Long pastes, folded to one token each in the draft and whole again in what is sent."""

import re
from typing import Final

from ollm_tui.decode.counted import counted
from ollm_tui.lazy import lazy_re
from ollm_tui.tui.widgets.stand_ins import has_reserved_characters

FOLD_OVER_LINES: Final = 20
FOLD_OVER_CHARACTERS: Final = 8000
"""Where a text of few but long lines is folded as well."""
_SHOWN_BEGINNING: Final = 50
_TOKEN: Final = lazy_re(r"\[Pasted text #(?P<number>[1-9][0-9]{0,5}) · [0-9,]+ [a-z]+\]")


class PasteStore:
    """The folded pastes of one program run, by number; none is forgotten while it runs."""

    def __init__(self) -> None:
        self._pastes: dict[int, str] = {}

    def fold(self, text: str, *, always: bool = False) -> str:
        """Give a long text's token, a short text as it is; `always` asks for the token."""
        if not always and not needs_folding(text):
            return text
        number = len(self._pastes) + 1
        self._pastes[number] = text
        return f"[Pasted text #{number} · {_size(text)}]"

    def unfold(self, draft: str) -> str:
        """Put the pastes back into a draft; a token inside a paste is plain text."""
        return _TOKEN.sub(lambda match: self._content(match), draft)

    def refold(self, text: str, draft: str) -> str:
        """Fold a text that was edited elsewhere: unchanged pastes of its draft get their tokens.

        What only looks like a token, as it may stand within a paste, stays text.
        """
        pieces: list[str] = []
        for match in _TOKEN.finditer(draft):
            content = self._content(match)
            before, same, after = text.partition(content or match[0])
            if same and content != match[0]:
                pieces += [self._as_text(before), match[0]]
                text = after
        return "".join([*pieces, self._as_text(text)])

    def _as_text(self, text: str) -> str:
        is_long = len(text) > FOLD_OVER_CHARACTERS or has_reserved_characters(text)
        return self.fold(text, always=True) if is_long or self.unfold(text) != text else text

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Say where in a line tokens stand that have a text."""
        return [match.span() for match in _TOKEN.finditer(line) if self._content(match) != match[0]]

    def _content(self, match: re.Match[str]) -> str:
        text = self._pastes.get(int(match["number"]))
        # Such a token may be typed by hand: only the exact one stands for its text.
        same = text is not None and match[0].endswith(f"· {_size(text)}]")
        return text if same and text is not None else match[0]


def needs_folding(text: str) -> bool:
    """Whether a text is too long to stand in the input, or cannot be held there."""
    lines = text.count("\n") + (not text.endswith("\n"))
    return (
        lines > FOLD_OVER_LINES or len(text) > FOLD_OVER_CHARACTERS or has_reserved_characters(text)
    )


def long_summary(text: str) -> str:
    """Say how a long text begins and how long it is, for the line that it is folded to."""
    first = text.lstrip()[:_SHOWN_BEGINNING].partition("\n")[0].rstrip()
    return f"{first}… · {_size(text)}"


def _size(text: str) -> str:
    lines = text.count("\n") + (not text.endswith("\n"))
    return counted(lines, "line") if lines > 1 else counted(len(text), "character")
