"""Find the labels of ReAct text at the start of a line: ``Thought:``, ``Action Input:``, ...

A label may be a heading, bold or underlined, and its colon a full-width one. The first word has a
capital: ``action: ...`` in prose is no label.
"""

import re
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Literal

from ollm_tui.decode.beginnings import Beginnings, Run, Words


class Label(Enum):
    """What a label says about the text after it."""

    THOUGHT = "Thought"
    ACTION = "Action"
    INPUT = "Action Input"
    OBSERVATION = "Observation"
    FINAL = "Final Answer"
    ANSWER = "Answer"


_SPELLINGS = MappingProxyType(
    {label.value: label for label in Label}
    | {"Action input": Label.INPUT, "Action_Input": Label.INPUT, "Final answer": Label.FINAL}
)
_WORDS = Words(tuple(_SPELLINGS))
_STARS = Run("*_", 3)
_FORM = Beginnings(
    [(Run("#", 6), Run(r" \t", 2), _STARS, _WORDS, _STARS, Run(r" \t", 4), Words((":", "\uff1a")))]
)
_LABEL = re.compile(
    r"#{0,6}[ \t]{0,2}(?P<stars>[*_]{0,3})(?P<word>[A-Z][a-z]+(?:[ _][A-Za-z]+)?)"
    r"(?P<close>[*_]{0,3})[ \t]{0,4}[:\uff1a]"
)


@dataclass(frozen=True, slots=True)
class FoundLabel:
    """A label, and where it ends together with its stars."""

    label: Label
    end: int


def find_label(text: str, at: int, *, final: bool) -> FoundLabel | Literal["wait"] | None:
    """Return the label that stands here, None if none does; wait while one may still come."""
    begins = _FORM.test(text, at, final=final)
    found = _LABEL.match(text, at) if begins else None
    if found is None:
        return "wait" if begins is None else None
    end = found.end()
    stars = "" if found["close"] else found["stars"]
    rest = text[end : end + len(stars)]
    if rest != stars and stars.startswith(rest) and not final:
        return "wait"
    return FoundLabel(_SPELLINGS[found["word"]], end + len(stars) * (rest == stars))
